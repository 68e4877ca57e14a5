"""Shop the look: pictures of several products, with each product's place in the picture.

Looks are edited and published here; the API serves a look on its anchor product's page.
"""
