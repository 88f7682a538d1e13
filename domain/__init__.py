"""What we talk about: values, rules and tables of the accident service. Standard library only; no I/O, no clock, no framework."""
