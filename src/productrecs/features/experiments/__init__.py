"""Results of tests: what each arm's visitors did, compared by always-valid intervals."""
