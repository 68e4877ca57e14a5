"""Records: what a store sends - catalog, events, orders - with its rules and SQL.

Facts only: nothing here learns from them or answers shoppers.
"""
