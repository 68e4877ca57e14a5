"""What a merchant's developer reads: guides, their index, their pages, and search in them.

It holds words only. What exists as data (settings, routes, codes) comes in from outside as
`facts`, and HTTP never comes in.
"""
