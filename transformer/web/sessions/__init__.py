"""Visitors' own models and the queue of their trainings."""
