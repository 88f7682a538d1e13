"""One file a measure: the cells a round visits, and the figures they add up to. A new one adds its line to bench/run.py."""
