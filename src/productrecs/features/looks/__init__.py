"""Shop the look: pictures of several products, each product with its place in the picture.

Looks are edited and published here, and served by the product on whose page they stand.
"""
