"""The page: lays out, handles clicks. No arithmetic on tensors."""
