"""An emulator of a FastGPT server: real HTTP, real bytes, its own workflow file."""
