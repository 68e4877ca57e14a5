"""Training: fits models to a store's data, and decides which model serves.

Training does not answer shoppers; features read the models that are trained here.
"""
