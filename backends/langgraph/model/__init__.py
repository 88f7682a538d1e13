"""The language model behind an OpenAI-compatible API."""
