"""Mail subscriptions: which e-mails about a store its users asked for."""
