"""The network: ids in, logits and attention weights out (§3). Knows nothing of words or text."""
