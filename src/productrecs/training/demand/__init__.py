"""Demand training: reads sales by day, forecasts, and replaces the last forecast.

Imported only by the forecasting process: the engine loads its boosted
trees.
"""
