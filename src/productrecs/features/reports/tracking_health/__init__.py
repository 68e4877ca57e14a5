"""Tracking health: events per hour, and records that name unknown products."""
