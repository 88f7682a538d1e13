"""One file a kind of difference; KINDS is the registry."""
