"""Who is held out of seeing recommendations, so that their worth can be measured?

A shopper stands in one arm of a test wherever they are met. What was decided is noted in
memory and stored in the background; no reply waits for it.
"""
