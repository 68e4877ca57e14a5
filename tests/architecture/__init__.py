"""Does the house still stand as drawn? Each rule here is shown a breach it must catch."""
