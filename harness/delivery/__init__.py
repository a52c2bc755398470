"""From the end of a turn to its chat, once: outbox, courier, and what a start makes up for."""
