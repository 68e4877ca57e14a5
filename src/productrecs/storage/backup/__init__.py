"""Backup: all data of an installation to one archive, and back."""
