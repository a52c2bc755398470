"""Ways to carry whole messages to an app-server and back."""
