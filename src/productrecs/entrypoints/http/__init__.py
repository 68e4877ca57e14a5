"""The API: who is asking, what was sent, and how the answer is written.

Routes by audience, nothing of a store's rules: those live below, in features and records.
"""
