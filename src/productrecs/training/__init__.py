"""From records to models: what is learned, when, and which model serves.

Never answers a shopper; features read the models that this floor trained.
"""
