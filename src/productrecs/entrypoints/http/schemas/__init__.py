"""The border: what a body must look like, what is wrong with one, and how it is told.

Pydantic lives here and nowhere below; each module hands inner types on. Never stores.
"""
