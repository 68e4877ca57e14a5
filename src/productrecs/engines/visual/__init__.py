"""What does a picture look like, and which look like it? Colour, texture and shape.

Pixels in, vectors and item numbers out. No file, no decoder and no weights of others: what
is learned is learned on the store's own pictures.
"""

from productrecs.engines.visual.descriptor import describe
from productrecs.engines.visual.model import VisualModel
from productrecs.engines.visual.space import Space, fit_space

__all__ = ["Space", "VisualModel", "describe", "fit_space"]
