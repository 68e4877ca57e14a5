"""Which products fit here? Recommendations and trending, from models and live facts.

Engines give ids and scores; the catalog view has the last word on what is shown.
"""
