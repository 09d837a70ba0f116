"""What a traced program is told when it wants what only a call has, and what it can write instead."""

from __future__ import annotations


def number(what: str, value: object) -> str:
    return (
        f"{what} needs the number in {value!r}, which is known in a call only. Keep it an array: numpy.exp instead of math.exp, x.astype(float) "
        "instead of float(x). An argument that is to be one of Python's numbers is named in static_argnames"
    )


def truth(value: object) -> str:
    return (
        f"`if`, `while`, `and`, `or`, `not` and `assert` need the truth of {value!r}, which is known in a call only. Write "
        "numpy.where(condition, a, b) for `a if condition else b`; `&`, `|`, `~` for `and`, `or`, `not`; numpy.minimum and numpy.maximum for min() and "
        "max(); a fixed number of turns for `while`. An argument that is to decide what is computed is named in static_argnames"
    )


def array(value: object) -> str:
    return (
        f"numpy.asarray or numpy.array of {value!r}: its numbers are known in a call only. Use it as it is; numpy.stack([...]) joins traced values, "
        "x.astype(dtype) changes the type, and what must be NumPy's belongs in front of or behind the traced function"
    )


def assignment(value: object) -> str:
    return (
        f"x[...] = value and x[...] += value change an array in place, and {value!r} does not change. Write a new one: "
        "x = numpy.where(mask, value, x), x = numpy.concatenate([...]), numpy.pad(x[1:-1], 1) for a border, or x = x.at[...].set(value), "
        "x = x.at[...].add(value)"
    )


def length(value: object, size: object) -> str:
    return f"len() of {value!r} needs one number, and axis 0 has the size {size}, of which each call may have another; write x.shape[0]"


def loop(value: object, size: object) -> str:
    return (
        f"a loop over {value!r}: axis 0 has the size {size}, of which each call may have another, so there is no one number of turns; write the loop as "
        "array expressions, or fix the size of the axis: @tj.jit(dims={'x': (3, None)})"
    )


def whole(what: str, size: object) -> str:
    return (
        f"{what} needs one number, and {size} is a size of which each call may have another. For loops write array expressions; for new arrays "
        "tj.zeros, tj.ones, tj.full, tj.arange, tj.linspace, tj.eye or numpy.zeros_like(x); for square roots numpy.sqrt. Or fix the size of the axis: "
        "@tj.jit(dims={'x': (3, None)})"
    )


MASK = (
    "x[mask] has as many elements as the mask has True, which is known in a call only. Write numpy.where(mask, x, 0) and reduce over it, or "
    "x = numpy.where(mask, value, x) for x[mask] = value"
)
NONZERO = (
    "numpy.where(condition) and numpy.nonzero: how many elements they give depends on the values; write numpy.where(condition, x, y), or sum over "
    "the mask"
)
OUT = "out= writes into an array, and arrays here do not change; write x = {what}(...), or x = x + ... for x += ..."
AT = ".at writes into its operand, and arrays here do not change; write a new array with numpy.where or tj.one_hot, or x.at[...].add(value)"
ORDER = "reshape with order={order!r} has no counterpart here; write x.T.reshape(...).T"
