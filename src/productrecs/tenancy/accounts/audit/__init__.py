"""Audit log: who changed what in the dashboard, and when."""
