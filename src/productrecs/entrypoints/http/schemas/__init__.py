"""Schemas: request bodies and their validation, and the JSON of products.

Pydantic is used here and nowhere below; each module returns inner types. Nothing is stored.
"""
