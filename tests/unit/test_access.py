"""Index maps: the element that each element of a chain of views reads is the one NumPy's own views have there."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tjcore import Dim, InternalError, constant, input
from tjcore.access import ZERO, Affine, along, flat, identity, show_affine, source_index, strides
from tjcore.dims import evaluate

N, M = Dim("N", 1, 64), Dim("M", 1, 64)
SIZES = {"N": 3, "M": 2}


def number(size):
    return size if isinstance(size, int) else evaluate(size, SIZES)


def places(node):
    """For each element of a chain of views the offset that it reads of the tensor at its end."""
    base, at = node, identity(node.rank)
    while base.sources:
        at = source_index(base, 0, at, -1)
        (base,) = base.sources
    offset = flat(at, base.shape)
    shape = [number(size) for size in node.shape]
    result = np.empty(shape, np.int64)
    for index in itertools.product(*map(range, shape)):
        result[index] = number(offset.offset) + sum(number(c) * index[var] for var, c in offset.terms)
    return base, result


def numpy_of(node, base):
    chain = []
    while node is not base:
        chain.append(node)
        (node,) = node.sources
    a = np.arange(np.prod([number(s) for s in base.shape]), dtype=np.int64).reshape([number(s) for s in base.shape])
    for view in reversed(chain):
        match view.op:
            case "expand_dims":
                a = np.expand_dims(a, view.arg)
            case "squeeze":
                a = np.squeeze(a, view.arg)
            case "transpose":
                a = a.transpose(view.arg)
            case "broadcast_to":
                a = np.broadcast_to(a, [number(s) for s in view.arg])
    return a


@st.composite
def chains_of_views(draw):
    node = input("x", draw(st.sampled_from([(), (N,), (N, M), (1, N), (N, 1, 4), (5, N, M)])))
    for _ in range(draw(st.integers(0, 8))):
        kind = draw(st.sampled_from(["expand_dims", "squeeze", "transpose", "broadcast_to"]))
        ones = [axis for axis, size in enumerate(node.shape) if size == 1]
        if kind == "expand_dims" and node.rank < 5:
            node = node.expand_dims(draw(st.integers(0, node.rank)))
        elif kind == "squeeze" and ones:
            node = node.squeeze(draw(st.sampled_from(ones)))
        elif kind == "transpose":
            node = node.permute(draw(st.permutations(range(node.rank))))
        elif kind == "broadcast_to" and node.rank < 5:
            wide = tuple(draw(st.sampled_from([1, 2, M])) if axis in ones else size for axis, size in enumerate(node.shape))
            node = node.broadcast_to((*draw(st.sampled_from([(), (2,), (N,)])), *wide))
    return node


@given(chains_of_views())
@settings(max_examples=150, derandomize=True, database=None)
def test_views_read_what_numpys_views_read(node):
    base, got = places(node)
    np.testing.assert_array_equal(got, numpy_of(node, base))


def test_reductions_and_products_read_along_their_own_variable():
    x, a, b = input("x", (N, 4, M)), input("a", (N, M)), input("b", (M, 5))
    assert source_index(x.sum(1), 0, identity(2), 7) == (along(0), along(7), along(1))
    assert source_index(x.max(0), 0, identity(2), 2) == (along(2), along(0), along(1))
    assert source_index(a @ b, 0, identity(2), 2) == (along(0), along(2))
    assert source_index(a @ b, 1, identity(2), 2) == (along(2), along(1))


def test_a_leaf_has_no_source():
    with pytest.raises((InternalError, IndexError)):
        source_index(constant(1), 0, (), 0)


def test_affine_arithmetic_is_canonical():
    i, j = along(0), along(1)
    assert i + j == j + i and (i + i).coefficient(0) == 2 and (i + i.scale(-1)) == ZERO
    assert i.scale(N).coefficient(0) == N and i.scale(N).scale(2).coefficient(0) == 2 * N
    assert (i.scale(3) + Affine((), 2)).substitute({0: j.scale(N) + Affine((), 1)}) == Affine(((1, 3 * N),), 5)
    assert i.substitute({0: ZERO}) == ZERO and i.substitute({1: ZERO}) == i


def test_strides_are_those_of_a_contiguous_array():
    assert strides((N, 4, M)) == (4 * M, M, 1) and strides(()) == ()
    a = np.empty((3, 4, 2), np.uint8)
    assert tuple(number(s) for s in strides((N, 4, M))) == a.strides


def test_an_index_is_shown_as_a_person_writes_it():
    assert show_affine(along(0).scale(N * 3) + along(1) + Affine((), 2)) == "i0*(3*N) + i1 + 2"
    assert show_affine(ZERO) == "0" and show_affine(along(4).scale(M)) == "i4*M"
