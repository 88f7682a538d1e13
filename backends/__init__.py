"""Rooms that can serve a turn. Each ends at the port Backend and knows no other."""
