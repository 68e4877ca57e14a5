"""How do sales become a forecast? Read by day, forecast, replace the last one whole.

Loaded only by who forecasts: it brings scipy, and the engine brings its boosted trees.
"""
