"""Reports for merchants: sales after recommendations, customers, and tracking health.

Each report has its SQL in the repository beside it; search, forecasts and tests make their
own. `report_registry` lists them all.
"""
