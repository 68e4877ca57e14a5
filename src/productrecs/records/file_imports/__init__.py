"""File imports: order histories and product exports uploaded in the dashboard.

A worker checks a file first (a dry run). It imports the file after the merchant starts it.
"""
