"""The handwritten digits that the demo learns: 1,797 real images, shipped with tjcore.

In: nothing. Out: two fresh arrays, images `uint8 (1797, 64)` with values 0..16 (an 8x8 image row by row) and labels
`uint8 (1797,)` with values 0..9. The order is the publisher's, so image i has label i. `digits.LICENSE.txt` beside the
data names its authors, its licence and what was changed.
"""

from importlib.resources import files

import numpy as np
import numpy.typing as npt

__all__ = ["load_digits"]


def load_digits() -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """The images and their labels. Read anew on each call: the caller may write to what it gets."""
    # Through importlib.resources, not a path beside __file__: that also works from a zipped package.
    with files(__name__).joinpath("digits.npz").open("rb") as file, np.load(file, allow_pickle=False) as archive:
        return archive["images"], archive["labels"]
