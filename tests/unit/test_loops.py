"""Loop IR: the verifier refuses each kind of broken kernel, the printed form is readable, and the grammar names the classes that there are."""

import re
from dataclasses import replace

import pytest

import tjcore.loops
from tjcore import Dim, InternalError, float32, float64
from tjcore.access import Affine, along
from tjcore.loops import (
    Axis,
    Const,
    Contract,
    Fold,
    Kernel,
    Let,
    Load,
    Loop,
    Operand,
    Param,
    SizeOf,
    Store,
    map_index,
    show_kernel,
    verify_kernel,
    walk,
)

N, M = Dim("N", 1, 64), Dim("M", 1, 64)
X, Y = Param("x0", float32, (N, 4), False), Param("y0", float32, (N, 4), True)
at = along(0).scale(4) + along(1)
LOAD, TWO, TWICE, STORE = Load(0, float32, 0, at), Const(1, float32, 2.0), Let(2, float32, "mul", (0, 1)), Store(1, at, 2)


def kernel(*body, params=(X, Y)):
    return Kernel("k0", "mul", params, body)


def nest(*body, share=True, lanes=False):
    return Loop(Axis(0, N), (Loop(Axis(1, 4), body, lanes=lanes),), share=share)


def folded(**changes):
    fold = Fold(3, float32, "add", Axis(1, 4), (LOAD,), 0)
    return kernel(Loop(Axis(0, N), (replace(fold, **changes), Store(1, along(0), 3))), params=(X, Param("y0", float32, (N,), True)))


def contracted(**changes):
    a, b, c = (Param(name, float32, (N, N), name == "c") for name in "abc")
    ik, kj, ij = along(0).scale(N) + along(2), along(2).scale(N) + along(1), along(0).scale(N) + along(1)
    stmt = Contract(0, float32, Axis(0, N), Axis(1, N), Axis(2, N), Operand(0, ik), Operand(1, kj), (Store(2, ij, 0),))
    return kernel(replace(stmt, **changes), params=(a, b, c))


GOOD = {
    "elementwise": kernel(nest(LOAD, TWO, TWICE, STORE)),
    "lanes": kernel(nest(LOAD, TWO, TWICE, STORE, lanes=True)),
    "hoisted": kernel(TWO, nest(LOAD, TWICE, STORE)),
    "a size": kernel(nest(SizeOf(2, float32, N * 2), STORE)),
    "fold": folded(),
    "fold of an outer register": kernel(
        Loop(Axis(0, N), (TWO, Fold(3, float32, "max", Axis(1, 4), (), 1), Store(1, along(0).scale(4), 3))),
    ),
    "contract": contracted(),
}
BROKEN = {
    "a param that is not there": (kernel(nest(replace(LOAD, param=7))), "no param 7"),
    "another dtype": (kernel(nest(replace(LOAD, dtype=float64))), "x0 holds float32, not float64"),
    "a variable out of scope": (kernel(nest(replace(LOAD, at=along(5)))), "i5 is not in scope"),
    "an index past the end": (kernel(nest(replace(LOAD, at=at + Affine((), 1)))), "past the 4*N elements of x0"),
    "a stride too long": (kernel(nest(replace(LOAD, at=along(0).scale(8)))), "past the 4*N elements"),
    "a register assigned twice": (kernel(nest(LOAD, replace(TWO, reg=0))), "r0 is assigned twice"),
    "a register assigned in two bodies": (kernel(nest(LOAD), Loop(Axis(2, N), (Const(0, float32, 1.0),))), "r0 is assigned twice"),
    "a register out of scope": (kernel(nest(LOAD, TWICE)), "an argument is not in scope"),
    "a register of an inner loop": (kernel(Loop(Axis(0, N), (Loop(Axis(1, 4), (LOAD,)), Store(1, along(0), 0)))), "r0 is not in scope"),
    "an op of no name": (kernel(nest(LOAD, TWO, replace(TWICE, op="dance"))), "no scalar op dance of 2 arguments"),
    "an op of too few arguments": (kernel(nest(LOAD, TWO, replace(TWICE, args=(0,)))), "no scalar op mul of 1 arguments"),
    "a view as a scalar op": (kernel(nest(LOAD, Let(2, float32, "transpose", (0,)))), "no scalar op transpose"),
    "a store of nothing": (kernel(nest(LOAD, replace(STORE, value=9))), "r9 is not in scope"),
    "a store to what is read only": (kernel(nest(LOAD, Store(0, at, 0))), "x0 is not to be written"),
    "a store of another dtype": (kernel(nest(Const(2, float64, 1.0), STORE)), "y0 holds float32, not float64"),
    "a store past the end": (kernel(nest(LOAD, Store(1, at.scale(2), 0))), "past the 4*N elements of y0"),
    "a variable used twice": (kernel(Loop(Axis(0, N), (Loop(Axis(0, 4), ()),))), "i0 is already a loop variable"),
    "an inner loop that is shared": (kernel(Loop(Axis(0, N), (Loop(Axis(1, 4), (), share=True),))), "only an outermost loop can be shared"),
    "a loop within lanes": (kernel(Loop(Axis(0, N), (Loop(Axis(1, 4), ()),), lanes=True)), "no loop may lie inside a lanes loop"),
    "a fold of no name": (folded(op="mean"), "no fold mean"),
    "a fold of nothing": (folded(value=9), "r9 is not in scope"),
    "a fold over a variable that is in use": (folded(axis=Axis(0, 4)), "i0 is already a loop variable"),
    "a fold past the end": (folded(axis=Axis(1, 5)), "past the 4*N elements"),
    "a product out of scope": (contracted(a=Operand(0, along(1))), "i1 is not in scope"),
    "a product past the end": (contracted(b=Operand(1, along(2).scale(2 * N))), "past the N**2 elements"),
    "a product of another dtype": (contracted(dtype=float64), "a holds float32, not float64"),
    "a product of a param that is not there": (contracted(b=Operand(9, along(2))), "no param 9"),
}


@pytest.mark.parametrize("name", GOOD)
def test_good_kernels_pass(name):
    verify_kernel(GOOD[name])


@pytest.mark.parametrize("name", BROKEN)
def test_broken_kernels_are_refused_with_the_statement_and_the_kernel(name):
    broken, why = BROKEN[name]
    with pytest.raises(InternalError, match="kernel k0: ") as refusal:
        verify_kernel(broken)
    text = str(refusal.value)
    assert why in text.splitlines()[0], text.splitlines()[0]
    assert "\n  in: " in text and text.endswith(show_kernel(broken))


def test_the_printed_form():
    assert show_kernel(kernel(TWO, nest(LOAD, TWICE, STORE, lanes=True))).splitlines() == [
        "kernel k0(x0: float32 (N, 4), y0: float32 (N, 4) out)  # mul",
        "  r1 = 2.0 float32",
        "  for i0 < N share",
        "    for i1 < 4 lanes",
        "      r0 = load x0[i0*4 + i1]",
        "      r2 = mul r0 r1",
        "      store y0[i0*4 + i1] = r2",
    ]
    assert "r3 = fold add r0 over i1 < 4" in show_kernel(folded())
    assert "r0 = contract a[i0*N + i2] * b[i1 + i2*N] for i0 < N, i1 < N over i2 < N" in show_kernel(contracted())


def test_zeros_of_both_signs_are_two_constants():
    assert Const(0, float32, 0.0) != Const(0, float32, -0.0) and len({Const(0, float32, 0.0), Const(0, float32, -0.0)}) == 2
    assert Const(0, float32, 0.0) == Const(0, float32, 0.0)


def test_walking_meets_each_statement_once_and_outside_first():
    found = list(walk(GOOD["elementwise"].body))
    assert [type(s) for s in found] == [Loop, Loop, Load, Const, Let, Store]


@pytest.mark.parametrize("name", GOOD)
def test_indices_are_changed_everywhere_or_nowhere(name):
    body = GOOD[name].body
    assert map_index(body, lambda _, index: index) == body
    seen = []
    map_index(body, lambda param, index: seen.append(param) or index)
    accesses = sum(1 if isinstance(s, (Load, Store)) else 2 if isinstance(s, Contract) else 0 for s in walk(body))
    assert len(seen) == accesses


def test_the_grammar_names_the_classes_and_their_fields():
    text = tjcore.loops.__doc__
    for cls in (Load, Const, SizeOf, Let, Store, Loop, Fold, Contract):
        fields = re.search(rf"\b{cls.__name__}\(([^)]*)\)", text)
        assert fields, f"{cls.__name__} is not in the grammar"
        assert [f.strip() for f in fields[1].split(",")] == list(cls.__dataclass_fields__), cls.__name__
