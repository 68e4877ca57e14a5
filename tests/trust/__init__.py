"""Trust tests: guarantees under failure, each with a control that breaks them."""
