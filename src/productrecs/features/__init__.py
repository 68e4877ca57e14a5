"""What a merchant buys: independent slices, each with its rules. Slices are strangers."""
