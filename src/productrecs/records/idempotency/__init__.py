"""Which calls came under a name of their caller's, so that a retry does nothing?"""
