"""The payloads of the app-server protocol that this package uses."""
