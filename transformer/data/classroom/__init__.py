"""German that a grammar generates, with its English translation and the gold alignment of their words."""
