"""Who is served by which backend, and how that changes."""
