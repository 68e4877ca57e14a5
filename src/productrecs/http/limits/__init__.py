"""Limits: connections, request rates, overload and plan usage."""
