"""Routes, one package for each audience: widget, server, integration, public."""
