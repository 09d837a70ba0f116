"""tjcore: a dynamic tensor compiler with fusion and planned memory.

Describe a computation on tensors whose sizes are not known yet (`Dim`, `input`, operators), differentiate it (`grad`), compile it
once for every size (`CompiledGraph`), and call it with NumPy arrays.
"""

__version__ = "0.1.0"

from . import errors, functions, nn
from .autodiff import grad, value_and_grad, vjp
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
)
from .functions import *  # noqa: F403 - their names are listed in functions.__all__
from .graph import Expr, constant, input, matmul
from .memory import Allocation, Temporary, plan_memory, verify_plan
from .options import configure, setting, settings
from .pools import release_memory
from .prepared import PreparedCall
from .program import Kernel, Plan, compile_plan
from .questions import MemoryFormulas, MemoryReport
from .reference import evaluate_graph
from .runtime import CallMemory, CompiledGraph
from .text import read_graph, show_graph

__all__ = [  # noqa: PLE0604 - strings, from another module
    *functions.__all__,
    "Allocation",
    "BudgetError",
    "CacheError",
    "CallError",
    "CallMemory",
    "CompileError",
    "CompiledGraph",
    "DType",
    "Dim",
    "DtypeError",
    "Expr",
    "GraphError",
    "InternalError",
    "Kernel",
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
    "bool_",
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
    "matmul",
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
