"""What products compute while they pack: scaled, converted, taken and constant operands, on either side, with the bits of stored ones."""

import numpy as np
import pytest

import tjcore as tj

N, K = tj.Dim("N", 1, 4096), 96
x, w, turned = tj.input("x", (N, K)), tj.input("w", (K, 130)), tj.input("turned", (130, K))
gains, scales = tj.input("gains", (K,)), tj.input("scales", (N,))
whole, small = tj.input("whole", (K, 130), tj.int32), tj.input("small", (K, 130), tj.uint8)
table, picked = tj.input("table", (50, K)), tj.input("picked", (N,), tj.int32)
heads = tj.input("heads", (3, N, 8))
by_row = x * scales.expand_dims(1)
PRODUCTS = {
    "a scaled left operand": (x * gains) @ w,
    "a scaled right operand": x @ (w * 2),
    "a converted right operand": x @ whole.astype(tj.float32),
    "a right operand of bytes": x @ ((small.astype(tj.float32) - 128.0) * 0.5),
    "both, one of them turned": (x * 2) @ (turned * 3).T,
    "in front and behind": (by_row @ w + 1).relu(),
    "both from one tensor": (x.T * 2) @ by_row,
    "a constant": tj.constant(1.5).broadcast_to((7, K)) @ w,
    "a scaled matrix times a column": (x * 2) @ gains,
    "a matrix times a scaled column": x @ (gains * 2),
    "a row times a scaled matrix": gains @ (w * 2),
    "rows of a table": tj.take(table, picked, axis=0) @ w,
    "a batch": (heads * 2) @ (heads + 1).permute((0, 2, 1)),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_one_kernel(name):
    plan = tj.compile_plan([PRODUCTS[name]])
    assert len(plan.kernels) == 1, [k.reason for k in plan.kernels]


def given(n, seed=0):
    rng = np.random.default_rng(seed)
    floats = {"x": (n, K), "w": (K, 130), "turned": (130, K), "gains": (K,), "scales": (n,), "table": (50, K), "heads": (3, n, 8)}
    arrays = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in floats.items()}
    whole, small = rng.integers(-9, 9, (K, 130)).astype(np.int32), rng.integers(0, 255, (K, 130)).astype(np.uint8)
    return arrays | {"whole": whole, "small": small, "picked": rng.integers(0, 50, n).astype(np.int32)}


@pytest.mark.toolchain
def test_the_bits_are_those_of_stored_operands(backend):
    outputs = list(PRODUCTS.values())
    stored = tj.CompiledGraph(outputs, fuse=False, backend=backend)
    packed = [tj.CompiledGraph(outputs, backend=backend, threads=threads) for threads in (1, 2)]
    for n in (1, 5, 70, 300):
        arrays = given(n)
        want = stored(**arrays)
        for f in packed:
            for name, a, b in zip(PRODUCTS, want, f(**arrays), strict=True):
                assert a.tobytes() == b.tobytes(), (name, n)


@pytest.mark.toolchain
def test_the_reference_has_the_same_bits():
    outputs = list(PRODUCTS.values())
    arrays = given(5)
    for a, b in zip(tj.CompiledGraph(outputs, backend="gcc")(**arrays), tj.evaluate_graph(outputs, arrays, {"N": 5}), strict=True):
        np.testing.assert_array_equal(a, b)


def test_what_is_dear_or_reads_much_or_ends_a_kernel_is_stored():
    for operand, reason in (
        (x.exp(), "a product packs it, maybe more than once, and it takes"),
        (((x * gains + 1).relu() * 2 - 3).relu(), "it takes 6 operations"),
        (x * table.slice_axis(0, 0, 1).broadcast_to((N, K)) + tj.input("y", (N, K)), "would read 2 tensors"),
        ((x @ tj.input("v", (K, K))).relu(), "costs nothing behind the product"),
    ):
        plan = tj.compile_plan([operand @ w])
        assert any(reason in k.reason for k in plan.kernels), [k.reason for k in plan.kernels]
