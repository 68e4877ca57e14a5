"""File imports: order histories and product exports that a merchant sends in the dashboard.

A file is checked first (a dry run), then started by the merchant; a worker does both.
"""
