"""The memory planner: buffers and lifetimes in, offsets in one arena out, for given sizes or for all sizes at once.

`problem` holds the question and the answer, `solver` finds a plan for known sizes, `symbolic` one plan for all sizes, and `verify`
judges both without using either.
"""

from tjcore.memory.problem import ALIGNMENT, Allocation, Temporary, align_up
from tjcore.memory.solver import DEFAULT_EFFORT, plan_memory
from tjcore.memory.symbolic import Sample, Size, SymbolicBuffer, SymbolicPlan, plan_symbolic, sample_points
from tjcore.memory.verify import verify_plan, verify_symbolic

__all__ = [
    "ALIGNMENT",
    "DEFAULT_EFFORT",
    "Allocation",
    "Sample",
    "Size",
    "SymbolicBuffer",
    "SymbolicPlan",
    "Temporary",
    "align_up",
    "plan_memory",
    "plan_symbolic",
    "sample_points",
    "verify_plan",
    "verify_symbolic",
]
