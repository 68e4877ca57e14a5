"""Erasures: digests of erased shoppers' ids, and facts refused because of them.

Every new fact is checked here before it is stored. Erasing itself is a feature.
"""
