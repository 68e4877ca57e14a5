"""Key misuse: leaked keys, foreign pages and programs."""
