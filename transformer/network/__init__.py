"""Ids in, logits and attention maps out (§3). Knows nothing of words or text."""
