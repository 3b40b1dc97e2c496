"""The functions that the page and API clients call, one file a topic."""
