"""`message`: the tool by which an agent speaks in chats besides answering."""
