"""Who was erased? Their names' digests, and what of theirs is still turned away.

Facts ask here before they are stored; erasing itself is a feature. Never knows a name.
"""
