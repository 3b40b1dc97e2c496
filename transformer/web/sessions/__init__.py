"""Which models there are, visitors' own and real ones too; the queue of trainings, and classes."""
