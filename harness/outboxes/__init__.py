"""Outboxes of channels, but for the HTTP client: a gateway gives that (`calls.Caller`), and they say what to call."""
