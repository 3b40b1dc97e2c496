"""The page, its API and its server."""
