"""What clicks and programs may ask, one file a topic."""
