"""What does a picture look like, and which look like it? Colour, texture and shape.

Pixels in, vectors and item numbers out. No file, no decoder and no weights of others: what
is learned is learned on the store's own pictures.
"""

from productrecs.engines.visual.embedding_space import EmbeddingSpace, fit_embedding_space
from productrecs.engines.visual.image_descriptor import describe
from productrecs.engines.visual.model import VisualModel

__all__ = ["EmbeddingSpace", "VisualModel", "describe", "fit_embedding_space"]
