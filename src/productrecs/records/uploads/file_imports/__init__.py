"""File imports, of the dashboard and of scheduled feeds."""
