"""Raw payloads of the channels become inbound messages."""

from harness.channels import telegram

__all__ = ["telegram"]
