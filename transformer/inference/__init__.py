"""Decoding, interventions, and a translator that returns its attention maps."""
