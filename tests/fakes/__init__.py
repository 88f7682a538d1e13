"""Stand-ins that speak a port: what they do is written where they are used."""
