"""Overview: home, the search over everything, and what forms suggest."""
