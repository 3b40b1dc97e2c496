"""Request queue, request limits, routes, access log, MCP, and all that touches Gradio's internals."""
