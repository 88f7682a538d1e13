"""Stand-ins for the outside world, started as processes; nothing here imports the house."""
