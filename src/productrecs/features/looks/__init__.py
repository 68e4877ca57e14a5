"""Shop the look: a picture of several products, each with its place in it.

Looks are made and published here, and found by the product whose page they stand on.
"""
