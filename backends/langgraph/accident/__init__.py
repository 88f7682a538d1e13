"""The accident agent: graph, state, nodes, prompts."""
