"""The crash-point harness: a real proxy stopped at every step of a turn, and what must hold afterwards (docs/chaos.md)."""
