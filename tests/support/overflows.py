"""How a conversation that is too long is told."""

from typing import Final

OVERFLOWS: Final = (
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130001 tokens.",
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "prompt is too long: 201234 tokens > 200000 maximum",
    "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
    "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
    "the request exceeds the available context size, try increasing it",
    '{"error":{"code":400,"message":"too big","type":"exceed_context_size_error"}}',
    "input length exceeds the context length",
    "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length"
    " of only 4096 tokens",
    "Please reduce the length of the messages or completion.",
    "Input is too long for requested model.",
    "too many tokens: the total number of tokens in the prompt exceeds the limit of 8192",
    '{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}',
    "Context overflow: prompt too large for the model.",
)
"""K6: the words of providers and local servers."""
