"""What may a store use, what has it used, and what follows? Plans, meters, standings.

Knows stores by their id only; who they are is `accounts`' business.
"""
