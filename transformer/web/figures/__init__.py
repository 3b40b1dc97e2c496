"""Data in, plotly figures out. No torch, no gradio."""
