"""Engine tests: each against a reference implementation of its formula."""
