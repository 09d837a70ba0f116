"""Tracing: Python functions of arrays become graphs.

In: functions written for NumPy, or for the array API. Out: functions that run compiled code, one build for every size. A function is run once on values
that stand for arrays (`tracer.py`); what it does with them is its graph.
"""

from . import numpy_products, numpy_shapes  # noqa: F401 - they register what they have
from .arguments import ArraySpec
from .derivatives import grad, value_and_grad, vjp
from .jitted import CacheInfo, Jitted, compile, jit
from .stages import Compiled, Lowered

__all__ = ["ArraySpec", "CacheInfo", "Compiled", "Jitted", "Lowered", "compile", "grad", "jit", "value_and_grad", "vjp"]
