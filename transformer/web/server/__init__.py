"""Request queue, request limits, routes, MCP, and all that touches Gradio's internals."""
