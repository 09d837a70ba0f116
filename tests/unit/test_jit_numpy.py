"""NumPy's operators, methods and functions on traced arrays: NumPy's values, shapes and element types."""

import warnings

import numpy as np
import pytest

import tjcore as tj

RNG = np.random.default_rng(7)
A = RNG.standard_normal((3, 4))
B = RNG.standard_normal((3, 4)) + 0.5
V = RNG.standard_normal(4)
SQUARE = RNG.standard_normal((4, 4))
CUBE = RNG.standard_normal((2, 3, 4))
INTS = RNG.integers(-5, 6, (3, 4))
BITS = RNG.random((3, 4)) < 0.5
IDX = np.array([2, 0, -1])


def compare(program, *arguments, rtol=1e-12, atol=1e-12):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = program(*arguments)
    result = tj.jit(program, backend="reference")(*arguments)
    _compare(result, expected, rtol, atol)


def _compare(result, expected, rtol, atol):
    if isinstance(expected, (tuple, list)):
        assert len(result) == len(expected)
        for one, other in zip(result, expected, strict=True):
            _compare(one, other, rtol, atol)
        return
    assert np.shape(result) == np.shape(expected)
    if hasattr(expected, "dtype"):
        assert result.dtype == expected.dtype
    np.testing.assert_allclose(result, expected, rtol=rtol, atol=atol)


def _in_place(a, b):
    x = a * 1
    x += b
    x *= 2
    x -= 1
    x /= b
    y = x
    y = y + 1
    return x, y


OPERATORS = {
    "arithmetic": lambda a, b: (a + b, a - b, a * b, a / b, a // b, a % b, -a, +a, abs(a), divmod(a, b)),
    "numbers": lambda a, b: (1 + a, 2 - a, 3 * a, 1 / b, a + 1, a / 2, 7 // b, 5 % b, a**2, a**3, a**-1, abs(a) ** 0.5, a**0),
    "comparisons": lambda a, b: (a < b, a <= b, a > b, a >= b, a == b, a != b, a < 0, a > 0),
    "in place": _in_place,
    "products": lambda a, b: (a @ b.T, a.T @ b, a @ b[0], a[0] @ b[0], a.dot(b.T)),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name):
    compare(OPERATORS[name], A, B)


def test_operators_of_ints_and_bools():
    compare(
        lambda a, b: (a + b, a - b, a * b, a / 4, a // 3, a % 3, -a, abs(a), a & b, a | b, a ^ b, ~a, a << 2, a >> 1, a**2), INTS, INTS + 2
    )
    compare(lambda a, b: (a & b, a | b, a ^ b, ~a, a + b, a * b, a == b, a + 1, a * 2.0, a.sum(), a / 2), BITS, ~BITS)
    for one in (np.float32, np.float64, np.int32, np.int64, np.uint8, bool):
        for other in (np.float32, np.float64, np.int32, np.int64, np.uint8, bool):
            a, b = (abs(INTS) + 1).astype(one), (abs(INTS) + 2).astype(other)
            compare(lambda a, b: (a + b, a * b, a / b, a < b, a == b, np.maximum(a, b), np.where(a > b, a, b)), a, b, rtol=1e-6)


def test_operators_with_numpys_arrays():
    compare(lambda a: (a + B, B + a, B - a, B / a, a > B, np.add(B, a), np.float32(2) * a, np.float64(2) * a, B.T @ a, a @ B.T), A)
    x = A.astype(np.float32)
    compare(lambda a: (a + B, B + a, a * np.float64(2), a * 2.0, np.float32(3) / a, a + np.int64(1)), x, rtol=1e-6)


UFUNCS = [
    *(
        "exp",
        "expm1",
        "exp2",
        "log1p",
        "sin",
        "cos",
        "tan",
        "arctan",
        "sinh",
        "cosh",
        "tanh",
        "arcsinh",
        "sqrt",
        "cbrt",
        "square",
        "reciprocal",
    ),
    *("floor", "ceil", "trunc", "rint", "sign", "abs", "fabs", "isnan", "isinf", "isfinite", "signbit", "negative", "positive", "deg2rad"),
    *("rad2deg", "logical_not", "conjugate"),
]


@pytest.mark.parametrize("name", UFUNCS)
def test_unary_ufuncs(name):
    try:
        compare(getattr(np, name), A, rtol=1e-11)
    except tj.GraphError as error:  # a function that there is only for float32
        assert "is not there for float64 yet" in str(error)
        compare(getattr(np, name), A.astype(np.float32), rtol=1e-6)


@pytest.mark.parametrize("name", ["log", "log2", "log10", "arcsin", "arccos", "arctanh", "arccosh"])
def test_unary_ufuncs_of_some_numbers(name):
    x = RNG.uniform(0.1, 0.9, 5) + (1 if name == "arccosh" else 0)
    try:
        compare(getattr(np, name), x, rtol=1e-11)
    except tj.GraphError as error:
        assert "is not there for float64 yet" in str(error)
        compare(getattr(np, name), x.astype(np.float32), rtol=1e-6)


@pytest.mark.parametrize(
    "name", ["maximum", "minimum", "fmax", "fmin", "hypot", "arctan2", "copysign", "fmod", "heaviside", "logaddexp", "nextafter"]
)
def test_binary_ufuncs(name):
    a, b = A.copy(), B.copy()
    a[0, 0] = b[1, 1] = np.nan
    a[2, 2] = 0.0
    try:
        compare(getattr(np, name), a, b, rtol=1e-11)
    except tj.GraphError as error:
        assert "is not there for float64 yet" in str(error)
        compare(getattr(np, name), a.astype(np.float32), b.astype(np.float32), rtol=1e-6)


def test_power():
    compare(lambda x: (x**2, x**3, x**-2, np.power(abs(x), 1.5), abs(x) ** -1.5, np.power(x, 5), np.float_power(x, 2)), A, rtol=1e-12)
    compare(lambda x, y: (abs(x) ** y, abs(x) ** 0.3), A.astype(np.float32), B.astype(np.float32), rtol=1e-5)


def test_methods_of_ufuncs():
    compare(lambda a, b: (np.add.reduce(a), np.maximum.reduce(a, axis=1), np.multiply.outer(a[0], b), np.add.accumulate(a, axis=1)), A, B)
    compare(lambda a: (np.add(a, 1, dtype=np.float32), np.exp(a, dtype=np.float64)), A.astype(np.float32))


REDUCTIONS = {
    "sum": lambda x: (x.sum(), x.sum(0), x.sum(axis=(0, 2)), np.sum(x, axis=-1, keepdims=True), np.sum(x > 0, dtype=np.int32), x.sum(axis=())),
    "prod": lambda x: (x.prod(), np.prod(x, axis=1)),
    "mean": lambda x: (x.mean(), x.mean(axis=1), np.mean(x, axis=(0, 1), keepdims=True), x.mean(dtype=np.float64)),
    "std": lambda x: (x.std(), x.std(axis=0, ddof=1), np.var(x, axis=-1), x.var(ddof=1, keepdims=True), np.std(x, 1)),
    "max": lambda x: (x.max(), x.max(axis=0), np.min(x, axis=1), np.amax(x, axis=2, keepdims=True), np.ptp(x, axis=0), x.min()),
    "arg": lambda x: (x.argmax(), x.argmin(axis=1), np.argmax(x, axis=-1), np.argmin(x, axis=0, keepdims=True)),
    "any": lambda x: ((x > 0).any(), (x > 0).all(axis=1), np.any(x > 1, axis=(0, 1)), np.all(x < 9), np.count_nonzero(x > 0), np.count_nonzero(x, 0)),
    "cumsum": lambda x: (x.cumsum(), x.cumsum(axis=1), np.cumsum(x, 0)),
    "norm": lambda x: (np.linalg.norm(x), np.linalg.norm(x, axis=1), np.linalg.norm(x[0], axis=1, keepdims=True), np.linalg.norm(x[0])),
    "norm of a vector": lambda x: (np.linalg.norm(x[0, 0], 1), np.linalg.norm(x[0, 0], np.inf), np.linalg.norm(x[0, 0], -np.inf)),
    "norms": lambda x: (np.linalg.norm(x, np.inf, axis=0), np.linalg.norm(x, axis=(0, 1)), np.linalg.norm(x[0], "fro"), np.linalg.norm(x, 3, 1)),
    "average": lambda x: (np.average(x), np.average(x, axis=1), np.average(x, axis=2, weights=np.arange(4)), np.average(x, weights=x * x)),
    "nan": lambda x: (np.nansum(np.where(x > 0, np.nan, x), axis=1), np.nanmean(np.where(x > 1, np.nan, x)), np.nanmax(x, 0), np.nanmin(x)),
    "trace": lambda x: (np.trace(x[0]), np.trace(x, axis1=1, axis2=2), np.diagonal(x[0]), np.diag(x[0], 1), np.diag(x[1, 0]), np.diag(x[1, 0], -1)),
}  # fmt: skip


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name):
    if name == "norms":
        x = CUBE.astype(np.float32)
        compare(REDUCTIONS[name], x, rtol=1e-5)
    else:
        compare(REDUCTIONS[name], CUBE)


def test_reductions_of_ints():
    compare(lambda x: (x.sum(), x.mean(), x.prod(axis=0), x.max(), x.std(), x.cumsum(), x.argmin(1)), INTS)
    compare(lambda x: (x.sum(axis=1), x.mean(0), x.any(), x.all(1), x.argmax()), BITS)
    compare(lambda x: (x.argmax(0), x.argmin()), np.array([[1.0, np.nan, 3.0, np.nan], [5.0, 2.0, 2.0, 7.0]]))


SHAPES = {
    "reshape": lambda x: (x.reshape(4, 6), x.reshape(-1), x.reshape((2, -1)), np.reshape(x, (3, 8)), x.ravel(), x.reshape(x.shape[0], -1)),
    "flatten": lambda x: (x.flatten(), x.reshape([6, 4]), x.reshape(x.shape), x.reshape(x.shape[0] * x.shape[1], x.shape[2])),
    "transpose": lambda x: (x.T, x.transpose(), x.transpose(1, 0, 2), x.transpose((2, 0, 1)), np.transpose(x, (0, 2, 1)), np.swapaxes(x, 0, 2)),
    "moveaxis": lambda x: (np.moveaxis(x, 0, -1), np.rollaxis(x, 2), np.moveaxis(x, (0, 1), (1, 2)), x.swapaxes(1, 2), x[None].squeeze(0)),
    "expand": lambda x: (np.expand_dims(x, 1), x[:, None], x[..., np.newaxis], np.squeeze(x[:1]), np.atleast_2d(x[0, 0]), np.atleast_1d(x.sum())),
    "flip": lambda x: (np.flip(x), np.flip(x, 1), np.flipud(x), np.fliplr(x), np.rot90(x), np.rot90(x, 2, (1, 2)), x[::-1], x[:, ::-2]),
    "roll": lambda x: (np.roll(x, 1, axis=0), np.roll(x, -2, axis=2), np.roll(x, 5), np.roll(x, (1, 2), axis=(0, 1))),
    "repeat": lambda x: (np.tile(x, 2), np.tile(x, (2, 1, 2)), np.repeat(x, 3), np.repeat(x, 2, axis=1), x.repeat(2, 0)),
    "pad": lambda x: (np.pad(x, 1), np.pad(x, ((0, 0), (1, 2), (0, 1)), mode="edge"), np.pad(x[0], 1, mode="wrap"), np.pad(x[0], 2, constant_values=3.0)),
    "broadcast": lambda x: (np.broadcast_to(x[0, 0], (5, 4)), *np.broadcast_arrays(x[0], x[0, 0]), np.broadcast_to(x.sum(), (2, 2))),
    "concatenate": lambda x: (np.concatenate([x, x * 2]), np.concatenate((x, x), axis=1), np.concatenate([x, CUBE], axis=None), np.append(x, x, axis=2)),
    "stack": lambda x: (np.stack([x, x]), np.stack([x, x], axis=-1), np.vstack([x[0], x[1]]), np.hstack([x[0], x[1]]), np.stack([x[0], x[1]], 1)),
    "stacks": lambda x: (np.dstack([x[0], x[1]]), np.column_stack([x[0, 0], x[0, 1]]), np.hstack([x[0, 0], x[0, 1]]), np.vstack([x[0, 0], x[0, 1]])),
    "split": lambda x: (*np.split(x, 2, axis=2), *np.split(x, [1, 3], axis=2), *np.array_split(x, 3, axis=2)),
    "diff": lambda x: (np.diff(x), np.diff(x, axis=0), np.diff(x, 2), np.diff(x > 0, axis=1)),
    "gradient": lambda x: (np.gradient(x[0], axis=1), np.gradient(x[0, 0], 0.5), np.gradient(x[0])[1], np.trapezoid(x, dx=0.5)),
    "like": lambda x: (np.zeros_like(x), np.ones_like(x, dtype=np.int32), np.full_like(x, 2.5), np.empty_like(x) * 0, np.zeros_like(x, shape=(2, 2))),
    "questions": lambda x: (np.shape(x), np.ndim(x), np.size(x), x.ndim, x.size, x.itemsize, x.nbytes, len(x.shape), np.iscomplexobj(x), x.shape[-1]),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_shapes(name):
    compare(SHAPES[name], CUBE)


def test_indexing():
    compare(lambda x: (x[0], x[-1], x[1:], x[:-1], x[1:3], x[::2], x[..., 0], x[:, 1], x[1, 2], x[-2:], x[:, None, 1:], x[:2, 1:-1]), A)
    compare(lambda x: (x[:100], x[5:], x[2:1], x[-100:2], x[None], x[np.int64(1)], x[:, -3:-1]), A)
    compare(lambda x: (x[IDX], x[:, IDX], x[IDX, 1], x[[0, 2]], x[IDX, IDX], x[np.array([[0, 1], [2, 0]])], x[np.array(1)]), A)
    compare(lambda x, i: (x[i], x[:, i], x[i, i], x[i, 0], x[i][:, i], x[i, None]), A, IDX)
    compare(lambda x, i: (x[i, :, i], x[:, i, i], x[0, i], x[0, :, i], x[1:, i], x[i, 1, i]), CUBE[:, :3, :3], np.array([0, 1, -1]))
    compare(lambda x, i: (np.take(x, i, axis=1), np.take(x, i), np.take_along_axis(x, i[:, None], axis=1), x.take(i, 0)), A, IDX)


def test_logic_with_numbers():
    compare(lambda x: (np.logical_and(x, True), np.logical_or(False, x), np.logical_xor(x, 1), np.logical_and(x > 0, x < 1)), A)


def test_sizes_in_indices():
    compare(lambda x: (x[: x.shape[0] // 2], x[x.shape[0] - 1], x[x.shape[1] // 2 :], x[: -(x.shape[0] // 3)]), A)


def test_elementwise_functions():
    x = A.copy()
    x[0, 0], x[1, 1], x[2, 2] = np.nan, np.inf, -np.inf
    compare(
        lambda x: (np.where(x > 0, x, 0), np.where(x, 1.0, x), np.clip(x, -1, 1), x.clip(0), x.clip(max=0.5), np.clip(x, x - 1, None)), x
    )
    compare(
        lambda x: (np.nan_to_num(x), np.nan_to_num(x, nan=7.0, posinf=1.0, neginf=-1.0), np.isclose(x, x + 1e-9), np.real(x), np.copy(x)), x
    )
    compare(lambda x: (np.round(x, 2), x.round(), np.around(x, -1), np.sinc(x), np.array_equal(x, x), np.allclose(x, x)), A)
    compare(lambda x: (np.tril(x), np.triu(x, 1), np.meshgrid(x[0], x[:, 0]), np.meshgrid(x[0], x[1], indexing="ij")), SQUARE)
    compare(lambda x: np.polyval([1.0, 2.0, 3.0], x), A)


PRODUCTS = {
    "dot": lambda a, b: (np.dot(a, b.T), np.dot(a[0], b[0]), np.dot(a, 2.0), np.inner(a, b), np.vdot(a, b), np.outer(a[0], b[1])),
    "tensordot": lambda a, b: (np.tensordot(a, b, axes=([1], [1])), np.tensordot(a, b), np.tensordot(a, b, 0)),
    "kron": lambda a, b: (np.kron(a, b), np.cross(a[:, :3], b[:, :3])),
    "matmul": lambda a, b: (np.matmul(a, b.T), np.matmul(a[None], b.T[None]), a[None, None] @ b.T),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name):
    compare(PRODUCTS[name], A, B)


EINSUMS = [
    ("ij,jk->ik", (3, 4), (4, 5)),
    ("ij,jk", (3, 4), (4, 5)), ("ij,kj->ki", (3, 4), (5, 4)), ("ij->ji", (3, 4)), ("ij->", (3, 4)), ("ii->i", (4, 4)),
    ("ii", (4, 4)), ("i,j->ij", (3,), (4,)), ("i,i", (4,), (4,)), ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)), ("bhqd,bhkd->bhqk", (2, 3, 4, 5), (2, 3, 6, 5)),
    ("ij,ij->i", (3, 4), (3, 4)), ("ij,ij", (3, 4), (3, 4)), ("ijk,jil->kl", (2, 3, 4), (3, 2, 5)), ("i,ij,j->", (3,), (3, 4), (4,)),
    ("ab,bc,cd->ad", (2, 3), (3, 4), (4, 5)),
    ("...ij,...jk->...ik", (2, 3, 4), (2, 4, 5)), ("...i->...", (2, 3, 4)), ("...,...", (3,), (3,)), ("ij,j->i", (3, 4), (4,)),
    ("i,ij->j", (3,), (3, 4)), ("ij,k->ij", (2, 3), (4,)),
]  # fmt: skip


@pytest.mark.parametrize("case", EINSUMS, ids=lambda case: case[0])
def test_einsum(case):
    text, *shapes = case
    operands = [RNG.standard_normal(shape) for shape in shapes]
    compare(lambda *xs: np.einsum(text, *xs), *operands)


def test_einsum_through_the_array_api_has_gradients():
    a, b = tj.input("a", (3, 4), "float64"), tj.input("b", (4, 5), "float64")
    slope = tj.CompiledGraph([tj.grad(tj.einsum("ij,jk->", a, b), a)], backend="reference")
    values = RNG.standard_normal((4, 5))
    np.testing.assert_allclose(slope(b=values)[0] if len(slope.plan.inputs) == 1 else None, np.broadcast_to(values.sum(1), (3, 4)))


@pytest.mark.parametrize(
    ("text", "shapes", "message"),
    [
        ("ij,jk->ik", [(3, 4), (5, 6)], r"axis 'j' is 4 in operand 0 and 5 in operand 1 \(shape \(5, 6\)\); expected the same size"),
        ("ij->ik", [(3, 4)], "each letter of the result must stand there once, and in an operand; got 'ik'"),
        ("ij", [(3,)], r"'ij' does not name the axes of operand 0, shape \(3,\)"),
        ("ij,jk->ik", [(3, 4)], "names 2 operands, got 1"),
    ],
)
def test_einsum_refuses(text, shapes, message):
    with pytest.raises(tj.GraphError, match=f"einsum '{text.replace('>', '>')}': {message}"):
        tj.einsum(text, *(tj.input(f"x{i}", shape) for i, shape in enumerate(shapes)))


def test_the_array_namespace():
    def program(x, y):
        xp = x.__array_namespace__()
        return xp.sum(xp.exp(x) * y, axis=0), xp.where(x > 0, x, y), xp.concat([x, y]), xp.matmul(x, xp.matrix_transpose(y)), xp.mean(x)

    result = tj.jit(program, backend="reference")(A, B)
    for one, other in zip(
        result, (np.sum(np.exp(A) * B, 0), np.where(A > 0, A, B), np.concatenate([A, B]), A @ B.T, A.mean()), strict=True
    ):
        np.testing.assert_allclose(one, other)
    nn = tj.jit(lambda x: (tj.nn.softmax(x), tj.nn.gelu(x), tj.nn.layer_norm(x)), backend="reference")
    assert [r.shape for r in nn(A.astype(np.float32))] == [(3, 4)] * 3


def test_updates_by_parts():
    def numpys(x, v):
        one, two, three, four, five = (x.copy() for _ in range(5))
        one[1:3] = v
        two[0, 1:] += 10.0
        three[:, -1] = 0.0
        four[x > 0] = 7.0
        five[..., 1] *= v[:3] if False else 2.0
        return one, two, three, four, five

    def ours(x, v):
        return x.at[1:3].set(v), x.at[0, 1:].add(10.0), x.at[:, -1].set(0.0), x.at[x > 0].set(7.0), x.at[..., 1].multiply(2.0)

    for x in (A, RNG.standard_normal((5, 7))):
        for result, expected in zip(
            tj.jit(ours, backend="reference")(x, np.arange(x.shape[1]) * 1.0), numpys(x, np.arange(x.shape[1]) * 1.0), strict=True
        ):
            np.testing.assert_array_equal(result, expected)


def test_powers_of_float64_by_anything():
    x = np.array([0.0, 0.5, 2.0, 3.0, -2.0, -0.5, 1.0])
    compare(lambda x: (abs(x) ** 0.3, x**40, x**-41, 2.0**x, np.power(3, x), x**0.3, abs(x) ** np.float64(1.7)), x, rtol=1e-13)
    compare(lambda x, y: (x**y, y**x, np.float_power(x, 3)), x, np.array([2.0, 3.0, -1.0, 0.0, 3.0, 2.0, 0.5]), rtol=1e-13)
    compare(lambda x, t: x * (1 - 0.9**t), x, 3.0, rtol=1e-13)


def test_lists_beside_traced_arrays():
    compare(
        lambda x: (
            x * [1, 2, 3, 4],
            np.dot(x, [0.5, 1, 2, 3]),
            np.maximum(x, [0, 1, 0, 1]),
            [1, 2, 3, 4] - x,
            np.einsum("ij,j", x, [1.0, 2, 3, 4]),
        ),
        A,
    )


def test_functions_made_of_products():
    compare(lambda x: (np.cov(x), np.cov(x, rowvar=False, bias=True), np.corrcoef(x), np.cov(x[0]), np.corrcoef(x[0], x[1])), A)
    compare(lambda x: tuple(np.convolve(x, [1.0, 2.0, 0.5], mode) for mode in ("full", "same", "valid")), V)
    compare(lambda x, at, y: (np.interp(x, at, y), np.interp(x, at, y, left=-9.0, right=9.0)), 2 * A, np.array([-1.0, 0.0, 0.5, 2.0]), V)
    compare(lambda x: (np.block([[x, x], [x, 2 * x]]), np.block([x[0], x[1]])), A)
