"""Connections of stores to their shop systems."""
