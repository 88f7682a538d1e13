"""The LangGraph backend: the accident dialogue as a graph, one turn a task."""

import os

# Checkpoints may name classes to load; only plain values are let in. LangGraph reads this once, when it is imported.
os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"
