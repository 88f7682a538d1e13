"""The composition root: settings to open resources to services."""
