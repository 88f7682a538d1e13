"""Serve a turn from a FastGPT app: bytes in client.py, meaning in translate.py, joined in backend.py."""
