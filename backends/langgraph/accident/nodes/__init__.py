"""One node a file; nodes read, call the domain, write."""
