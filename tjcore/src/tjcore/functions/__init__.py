"""Functions of expressions under the names of the array API standard: `tjcore.exp(x)`, `tjcore.sum(x, axis=0)`.

Each is an op of the table or a composition of ops, so that it fuses, differentiates and gives the same bits everywhere.
"""

from __future__ import annotations

from ..lifting import lifted
from . import contractions, creation, elementwise, indexing, inspection, manipulation, products, statistics
from .contractions import *  # noqa: F403 - each module lists its names
from .creation import *  # noqa: F403 - each module lists its names
from .elementwise import *  # noqa: F403 - each module lists its names
from .indexing import *  # noqa: F403 - each module lists its names
from .inspection import *  # noqa: F403 - each module lists its names
from .manipulation import *  # noqa: F403 - each module lists its names
from .products import *  # noqa: F403 - each module lists its names
from .statistics import *  # noqa: F403 - each module lists its names

__all__ = [  # noqa: PLE0604 - strings, from those modules
    *contractions.__all__,
    *creation.__all__,
    *elementwise.__all__,
    *indexing.__all__,
    *inspection.__all__,
    *manipulation.__all__,
    *products.__all__,
    *statistics.__all__,
]

# Each also for the values of a program that is being traced.
globals().update({name: lifted(f, numbers=name in elementwise.__all__) for name in __all__ if callable(f := globals()[name])})
