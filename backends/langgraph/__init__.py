"""Serve a turn from our own graph: engine.py runs it, backend.py offers it, model/ talks to the language model."""
