"""Ratios of our own turn against bare peers and the upstream itself, measured side by side in one interleaved run."""
