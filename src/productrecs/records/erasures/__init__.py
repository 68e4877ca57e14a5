"""Erasures: digests of erased shoppers' ids, and rejection of facts that name them.

Every new fact is checked here before it is stored. The erasure itself is a feature.
"""
