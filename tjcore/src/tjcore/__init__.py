"""tjcore: a dynamic tensor compiler with fusion and planned memory.

Describe a computation on tensors whose sizes are not known yet (`Dim`, `input`, operators), differentiate it (`grad`), compile it
once for every size (`CompiledGraph`), and call it with NumPy arrays.
"""

__version__ = "0.1.0"
__array_api_version__ = "2024.12"

from typing import TYPE_CHECKING

from .interpreter import require_main

require_main()

from . import errors, functions, nn
from .dims import Dim, SizeExpr
from .dtypes import DType, bool_, float16, float32, float64, int32, int64, uint8
from .errors import (
    BudgetError,
    CacheError,
    CallError,
    CompileError,
    DtypeError,
    GraphError,
    InternalError,
    PlanError,
    PluginError,
    TensorJitError,
    ToolchainError,
    ToolchainUnavailable,
    TraceError,
)
from .functions import *  # noqa: F403 - their names are listed in functions.__all__
from .graph import Expr, constant, input
from .memory import Allocation, Temporary, plan_memory, verify_plan
from .options import configure, setting, settings
from .pools import release_memory
from .prepared import PreparedCall
from .program import Kernel, Plan, compile_plan
from .questions import CallMemory, MemoryFormulas, MemoryReport
from .reference import evaluate_graph
from .runtime import CompiledGraph
from .text import read_graph, show_graph
from .trace import ArraySpec, CacheInfo, Compiled, Jitted, Lowered, compile, grad, jit, value_and_grad, vjp

bool = bool_  # the array API standard's name

if TYPE_CHECKING:  # which follows no `__all__` that is put together
    from .functions.contractions import *  # noqa: F403
    from .functions.creation import *  # noqa: F403
    from .functions.elementwise import *  # noqa: F403
    from .functions.indexing import *  # noqa: F403
    from .functions.inspection import *  # noqa: F403
    from .functions.manipulation import *  # noqa: F403
    from .functions.products import *  # noqa: F403
    from .functions.statistics import *  # noqa: F403

__all__ = [  # noqa: PLE0604 - strings, from another module
    *functions.__all__,
    "Allocation",
    "ArraySpec",
    "BudgetError",
    "CacheError",
    "CacheInfo",
    "CallError",
    "CallMemory",
    "CompileError",
    "Compiled",
    "CompiledGraph",
    "DType",
    "Dim",
    "DtypeError",
    "Expr",
    "GraphError",
    "InternalError",
    "Jitted",
    "Kernel",
    "Lowered",
    "MemoryFormulas",
    "MemoryReport",
    "Plan",
    "PlanError",
    "PluginError",
    "PreparedCall",
    "SizeExpr",
    "Temporary",
    "TensorJitError",
    "ToolchainError",
    "ToolchainUnavailable",
    "TraceError",
    "bool",
    "bool_",
    "compile",
    "compile_plan",
    "configure",
    "constant",
    "errors",
    "evaluate_graph",
    "float16",
    "float32",
    "float64",
    "grad",
    "input",
    "int32",
    "int64",
    "jit",
    "nn",
    "plan_memory",
    "read_graph",
    "release_memory",
    "setting",
    "settings",
    "show_graph",
    "uint8",
    "value_and_grad",
    "verify_plan",
    "vjp",
]
