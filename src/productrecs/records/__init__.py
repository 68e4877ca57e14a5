"""What the store told us: catalog, events, orders, each with its rules and its SQL.

Facts only: nothing here learns from them or answers a shopper.
"""
