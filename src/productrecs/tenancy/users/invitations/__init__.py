"""Invitations to a store's team."""
