"""Widget routes: called by a shop's pages, with the publishable key, without preflight."""
