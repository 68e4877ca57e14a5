"""Schemas: what a body, or a row of a file, may say; strict JSON, fields and refusals.

Each module returns inner types. Nothing is stored, and nothing here knows HTTP.
"""
