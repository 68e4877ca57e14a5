"""Settings: the store, its keys and plan, its team, security and the audit log."""
