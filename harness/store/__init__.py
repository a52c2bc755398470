"""What is kept over restarts."""
