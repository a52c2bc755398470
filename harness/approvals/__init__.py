"""How people are asked for leave and for answers, in their chats: rules, handles, cards, and who may answer."""
