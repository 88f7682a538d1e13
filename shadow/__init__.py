"""Replay each turn unseen on the other backend, compare, account for it."""
