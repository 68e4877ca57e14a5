"""Training: turns records into models, and decides which model serves.

Never answers shoppers; features read the models that are trained here.
"""
