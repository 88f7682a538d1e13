"""A scripted language model behind an OpenAI-compatible API; it reads its prompt and knows no scenario."""
