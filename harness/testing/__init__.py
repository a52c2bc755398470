"""What gateways can test with: a sample workspace and update, as package data in `sample/`."""
