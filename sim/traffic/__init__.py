"""Plays conversations as partner teams would, over HTTP."""
