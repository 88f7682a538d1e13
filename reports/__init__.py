"""One file a report: rows in, a table out; render.py draws it."""
