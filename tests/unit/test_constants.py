"""Constants in tables: programs of very many kernels that differ in their constants alone."""

import numpy as np
import pytest

import tjcore as tj
from tjcore.c_constants import MAX_WRITTEN_KERNELS, lift_constants
from tjcore.loops import verify_kernel

N = tj.Dim("N", 0, 4096)


def ladder(steps: int, dtype: tj.DType = tj.float32) -> tuple[tj.Expr, list[float]]:
    """Each step adds a constant of its own and is summed up over all kernels' limits."""
    value, constants = tj.input("x", (N,), dtype), []
    for i in range(steps):
        constants.append(0.125 * ((i * 7919) % 1001) - 30.0)
        value = value * -0.5 + tj.constant(constants[-1], dtype)
    return value, constants


def test_few_kernels_keep_their_constants() -> None:
    program = tj.compile_plan([ladder(40)[0]]).program
    assert lift_constants(program).program is program


def test_kernels_that_differ_in_constants_become_one() -> None:
    program = tj.compile_plan([ladder(8000)[0]]).program
    assert len(program.kernels) > MAX_WRITTEN_KERNELS
    lifted = lift_constants(program)
    assert len(lifted.program.kernels) < len(program.kernels) // 10 and len(lifted.program.calls) == len(program.calls)
    for kernel in lifted.program.kernels:
        verify_kernel(kernel)
    held = [len(values) for _, values in lifted.values]
    for call in lifted.program.calls:
        kernel = lifted.program.kernels[call.kernel]
        for buffer, param in zip(call.buffers, kernel.params, strict=True):
            assert buffer < lifted.brought or param.shape == (held[buffer - lifted.brought],)


@pytest.mark.toolchain
@pytest.mark.parametrize("dtype", [tj.float32, tj.float64], ids=str)
def test_each_call_has_its_own(backend: str, dtype: tj.DType) -> None:
    output, constants = ladder(6000, dtype)
    x = np.linspace(-3, 3, 37).astype(dtype.numpy)
    (got,) = tj.CompiledGraph([output], backend=backend)(x=x)
    for constant in constants:
        x = x * dtype.numpy.type(-0.5) + dtype.numpy.type(constant)
    assert got.tobytes() == x.tobytes()
