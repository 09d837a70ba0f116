"""The guards of a call: what passes, what it binds, and that fast and slow ways agree. The texts of refusals stand in tests/errors."""

import numpy as np
import pytest

from tjcore import CallError, CompiledGraph, Dim, DtypeError, input, int32
from tjcore.guards import Guards
from tjcore.traversal import toposort

N, M = Dim("N", 1, 8), Dim("M", 0, 8)
X, Y, Z = input("x", (N, 3)), input("y", (M, N), int32), input("z", (2 * N + 1,))
GUARDS = Guards((X, Y, Z), (M, N))


def arrays(n=2, m=4, **changes):
    made = {"x": np.ones((n, 3), np.float32), "y": np.ones((m, n), np.int32), "z": np.ones(2 * n + 1, np.float32)}
    return made | changes


def test_good_arrays_pass_and_bind_the_symbols_in_plan_order():
    given = arrays(n=3, m=0)
    passed, sizes = GUARDS.check({}, given)
    assert passed == (given["x"], given["y"], given["z"]) or all(a is given[k] for a, k in zip(passed, "xyz", strict=True))
    assert sizes == (0, 3)
    assert GUARDS.check({"N": 3, "M": np.int64(0)}, given)[1] == (0, 3)


def test_the_order_of_keywords_does_not_matter():
    given = dict(reversed(arrays().items()))
    assert [a is given[k] for a, k in zip(GUARDS.check({}, given)[0], "xyz", strict=True)] == [True] * 3


class Odd(np.ndarray):
    pass


REFUSED = {
    "too few": {},
    "too many": arrays(w=np.ones(1)),
    "another name": {"x": 0, "y": 0, "w": 0},
    "a list": arrays(x=[[1.0] * 3] * 2),
    "a scalar": arrays(z=np.float32(1)),
    "None": arrays(x=None),
    "subclass": arrays(x=np.ones((2, 3), np.float32).view(Odd)),
    "masked": arrays(x=np.ma.ones((2, 3), np.float32)),
    "dtype": arrays(x=np.ones((2, 3))),
    "int for float": arrays(x=np.ones((2, 3), np.int32)),
    "foreign bytes": arrays(x=np.ones((2, 3), ">f4")),
    "rank": arrays(x=np.ones((2, 3, 1), np.float32)),
    "Fortran order": arrays(x=np.asfortranarray(np.ones((2, 3), np.float32))),
    "every second": arrays(z=np.ones(10, np.float32)[::2]),
    "backwards": arrays(z=np.ones(5, np.float32)[::-1]),
    "repeated": arrays(x=np.broadcast_to(np.float32(1), (2, 3))),
    "unaligned": arrays(z=np.zeros(21, np.uint8)[1:].view(np.float32)),
    "static size": arrays(x=np.ones((2, 4), np.float32)),
    "above the bound": arrays(n=9),
    "below the bound": arrays(n=0),
    "one symbol, two sizes": arrays(x=np.ones((3, 3), np.float32)),
    "a derived size": arrays(z=np.ones(6, np.float32)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_arrays_are_refused(name):
    with pytest.raises(CallError):
        GUARDS.check({}, REFUSED[name])


@pytest.fixture(scope="module", name="direct")
def direct_():
    """The direct way of a graph with these inputs, once it knows the sizes of `arrays()`."""
    graph = CompiledGraph([X.sum(0), Y.sum(0), Z * 2.0])
    graph(**arrays())
    assert graph._call is not None and graph._call(**arrays()) is not None
    return graph._call


@pytest.mark.toolchain
@pytest.mark.parametrize("name", REFUSED)
def test_the_direct_way_lets_none_through_that_the_guards_refuse(name, direct):
    assert direct(**REFUSED[name]) is None


def test_a_wrong_dtype_is_a_type_error_too():
    with pytest.raises(TypeError):
        GUARDS.check({}, REFUSED["dtype"])
    assert issubclass(DtypeError, ValueError)


def test_arrays_of_one_element_or_none_are_contiguous_however_they_were_made():
    guards = Guards((input("a", (M, M)),), (M,))
    for size in (0, 1):
        guards.check({}, {"a": np.asfortranarray(np.ones((size, size), np.float32))})


def test_read_only_arrays_and_memory_maps_pass(tmp_path):
    frozen = np.ones((2, 3), np.float32)
    frozen.flags.writeable = False
    GUARDS.check({}, arrays(x=frozen))
    mapped = np.memmap(tmp_path / "x", np.float32, "w+", shape=(2, 3))
    GUARDS.check({}, arrays(x=mapped))
    mapped._mmap.close()


@pytest.mark.parametrize("size", [True, np.bool_(True), 2.0, "2", None, 0, 9, 2**40])
def test_bindings_are_ints_within_bounds(size):
    with pytest.raises(CallError, match="binding 'N'"):
        GUARDS.check({"N": size}, arrays())


def test_extremes_of_nothing_are_refused_before_the_call():
    x = input("x", (N, M))
    guards = Guards((x,), (M, N), toposort([x.max(1)]))
    with pytest.raises(CallError, match="max: the axis of size M is empty"):
        guards.check({}, {"x": np.ones((2, 0), np.float32)})
    Guards((x,), (M, N), toposort([x.sum(1)])).check({}, {"x": np.ones((2, 0), np.float32)})
