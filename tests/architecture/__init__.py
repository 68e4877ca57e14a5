"""Architecture rules: each is shown a violation that it must catch."""
