"""Image similarity engine: colour, texture and shape of pictures, and their neighbours.

Pixels in, vectors and item numbers out. It reads and decodes no files and uses no
pretrained weights: it is trained on the store's own pictures.
"""

from productrecs.engines.visual.descriptor_projection import (
    DescriptorProjection,
    fit_descriptor_projection,
)
from productrecs.engines.visual.image_descriptor import describe
from productrecs.engines.visual.visual_similarity import VisualModel

__all__ = ["DescriptorProjection", "VisualModel", "describe", "fit_descriptor_projection"]
