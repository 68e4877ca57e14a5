"""Billing: plans, metered calls, and notices when a quota is nearly used.

It knows stores only by id; `accounts` has their data.
"""
