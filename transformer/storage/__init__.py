"""Checkpoint folders, portable model files, and Marian models of the Hugging Face Hub."""
