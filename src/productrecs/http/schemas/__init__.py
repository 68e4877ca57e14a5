"""Schemas: request bodies and their validation, and the JSON of products.

Only the HTTP layer uses pydantic; each module returns inner types. Nothing is stored.
"""
