"""What any agent gateway and any agent backend agree on. Knows no Codex."""
