"""One file a measure: the parts a round visits, and the figures they add up to. A new one adds its line to bench/run.py."""
