"""Functions of expressions under the names of the array API standard: `tjcore.exp(x)`, `tjcore.sum(x, axis=0)`.

Each is an op of the table or a composition of ops, so that it fuses, differentiates and gives the same bits everywhere.
"""

from __future__ import annotations

from . import creation, elementwise, products, statistics
from .creation import *  # noqa: F403 - each module lists its names
from .elementwise import *  # noqa: F403 - each module lists its names
from .products import *  # noqa: F403 - each module lists its names
from .statistics import *  # noqa: F403 - each module lists its names

__all__ = [*creation.__all__, *elementwise.__all__, *products.__all__, *statistics.__all__]  # noqa: PLE0604 - strings, from those modules
