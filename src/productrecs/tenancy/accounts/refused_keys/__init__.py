"""Refused keys: calls with a key that no store has."""
