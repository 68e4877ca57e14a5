"""What are recommendations worth? The holdout test's result, valid at every look."""
