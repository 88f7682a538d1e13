"""Alembic: the schemas `app` and `shadow`, and nothing of LangGraph's."""
