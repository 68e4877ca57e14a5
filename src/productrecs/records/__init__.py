"""Records: a store's data - catalog, events, orders - with its rules and SQL.

Facts only: nothing here trains models or answers shoppers.
"""
