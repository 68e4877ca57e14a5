"""Webhooks: signed messages to addresses of the merchant about what happens in a store."""
