"""Jobs: the durable queue of background jobs, recurring ones, and leases."""
