"""Checkpoint folders, portable model files and the state of a training. Never a pickle."""
