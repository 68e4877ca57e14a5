"""Array types of pictures and descriptors."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Pixels: TypeAlias = npt.NDArray[np.uint8]
"""[h, w, 3], red, green and blue, upright."""

Floats: TypeAlias = npt.NDArray[np.floating[Any]]
Plane: TypeAlias = npt.NDArray[np.floating[Any]]
"""[h, w]."""

Descriptor: TypeAlias = npt.NDArray[np.uint8]
"""[DESCRIPTOR_LENGTH], what was read off one picture; see `image_descriptor.py`."""
