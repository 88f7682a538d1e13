"""One file for each kind of value: how it is normalised and when it is refused."""
