"""What a turn costs our process, next to a client that does nothing else and to OpenAI's own SDK."""
