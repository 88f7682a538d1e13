"""The invariants' checks: pure functions from Evidence to what is wrong with it, in words."""
