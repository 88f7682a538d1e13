"""The contract as a partner sees it, as checks over plain HTTP. Knows nothing of who answers."""
