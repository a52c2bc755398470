"""The clients that are compared, each run in a process of its own."""
