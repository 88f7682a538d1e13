"""How things look on the wire, and what a part must offer: wire bodies, sans-io parsers, ports."""
