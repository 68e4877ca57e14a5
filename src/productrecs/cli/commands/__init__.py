"""Commands of the command line: one module for each command, or for a group of them."""
