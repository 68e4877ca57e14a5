"""Billing: plans, metering of calls, and notices when a quota is nearly used.

Knows stores by their id only; `accounts` knows who they are.
"""
