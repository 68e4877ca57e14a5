"""HTTP API: routes by audience, and what carries, admits and answers their requests.

A store's rules are not here: they are in features and records.
"""
