"""What did recommendations bring? Read from the sums that attribution keeps."""
