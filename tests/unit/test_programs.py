"""Programs as people write them for NumPy, unchanged but for the decorator: NumPy's answers at several sizes, with one build each."""

import numpy as np
import pytest

import tjcore as tj

pytestmark = pytest.mark.toolchain


def check(program, calls, builds=1, rtol=1e-9, atol=1e-11):
    """The program as it is, and traced, give the same for each set of arguments: values, element types and structure."""
    traced = tj.jit(program)
    for arguments in calls:
        with np.errstate(all="ignore"):
            expected = program(*arguments)
        compare(traced(*arguments), expected, rtol, atol)
    assert traced.compilations == builds, traced.cache_info()
    return traced


def compare(result, expected, rtol, atol):
    assert type(result) is type(expected) or isinstance(expected, np.generic), (type(result), type(expected))
    if isinstance(expected, (tuple, list)):
        assert len(result) == len(expected)
        for one, other in zip(result, expected, strict=True):
            compare(one, other, rtol, atol)
    elif isinstance(expected, dict):
        assert list(result) == list(expected)
        for name in expected:
            compare(result[name], expected[name], rtol, atol)
    else:
        assert np.shape(result) == np.shape(expected)
        assert result.dtype == expected.dtype
        np.testing.assert_allclose(result, expected, rtol=rtol, atol=atol)


def normal(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape)


# --------------------------------------------------------------------------------------------------------- the seven named


def kmeans_step(points, centers):
    distances = np.linalg.norm(points[:, None, :] - centers[None, :, :], axis=2)
    labels = np.argmin(distances, axis=1)
    members = labels[:, None] == np.arange(4)
    counts = members.sum(axis=0)
    sums = members.T.astype(points.dtype) @ points
    new_centers = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centers)
    return labels, new_centers, np.min(distances, axis=1).sum()


def test_kmeans_step():
    check(kmeans_step, [(normal(n, n, d), normal(n + 1, 4, d)) for n, d in ((50, 2), (7, 3), (333, 8), (1, 2))])


def pairwise_distances(X, Y):
    sq = np.sum(X**2, axis=1)[:, np.newaxis] + np.sum(Y**2, axis=1)[np.newaxis, :]
    return np.sqrt(np.maximum(sq - 2 * X @ Y.T, 0.0))


def test_pairwise_distances():
    check(
        pairwise_distances,
        [(normal(n, n, d), normal(m, m, d)) for n, m, d in ((10, 7, 3), (100, 33, 16), (5, 64, 2), (0, 9, 4))],
        rtol=1e-6,
    )


def pairwise_loops(X):
    M = X.shape[0]
    diff = X.reshape(M, 1, -1) - X
    return np.sqrt((diff * diff).sum(axis=-1))


def test_pairwise_distances_of_one_set():
    check(pairwise_loops, [(normal(n, n, d),) for n, d in ((10, 3), (40, 7), (2, 9))])


def cnd(d):
    A1, A2, A3, A4, A5 = 0.31938153, -0.356563782, 1.781477937, -1.821255978, 1.330274429
    RSQRT2PI = 0.39894228040143267793994605993438
    K = 1.0 / (1.0 + 0.2316419 * np.abs(d))
    ret_val = RSQRT2PI * np.exp(-0.5 * d * d) * (K * (A1 + K * (A2 + K * (A3 + K * (A4 + K * A5)))))
    return np.where(d > 0, 1.0 - ret_val, ret_val)


def black_scholes(stockPrice, optionStrike, optionYears, Riskfree, Volatility):
    S, X, T, R, V = stockPrice, optionStrike, optionYears, Riskfree, Volatility
    sqrtT = np.sqrt(T)
    d1 = (np.log(S / X) + (R + 0.5 * V * V) * T) / (V * sqrtT)
    d2 = d1 - V * sqrtT
    cndd1 = cnd(d1)
    cndd2 = cnd(d2)
    expRT = np.exp(-R * T)
    callResult = S * cndd1 - X * expRT * cndd2
    putResult = X * expRT * (1.0 - cndd2) - S * (1.0 - cndd1)
    return callResult, putResult


def test_black_scholes():
    def options(n, dtype):
        rng = np.random.default_rng(n)
        return tuple(rng.uniform(*span, n).astype(dtype) for span in ((5, 30), (1, 100), (0.25, 10)))

    check(black_scholes, [(*options(n, np.float64), 0.02, 0.30) for n in (1000, 3, 1, 0)])
    check(black_scholes, [(*options(n, np.float32), 0.02, 0.30) for n in (1000, 3)], rtol=2e-4, atol=2e-4)


def nbody_step(pos, vel, mass, dt, softening):
    x = pos[:, 0:1]
    y = pos[:, 1:2]
    z = pos[:, 2:3]
    dx = x.T - x
    dy = y.T - y
    dz = z.T - z
    inv_r3 = dx**2 + dy**2 + dz**2 + softening**2
    inv_r3 = np.where(inv_r3 > 0, inv_r3 ** (-1.5), inv_r3)
    ax = 6.674e-2 * (dx * inv_r3) @ mass
    ay = 6.674e-2 * (dy * inv_r3) @ mass
    az = 6.674e-2 * (dz * inv_r3) @ mass
    acc = np.hstack((ax, ay, az))
    vel = vel + acc * dt
    pos = pos + vel * dt
    ke = 0.5 * np.sum(mass * vel**2)
    return pos, vel, ke


def test_nbody_step():
    check(nbody_step, [(normal(n, n, 3), normal(n + 1, n, 3), np.abs(normal(n + 2, n, 1)), 0.01, 0.1) for n in (20, 100, 5)])


def softmax_regression(X, y, W, b, lr):
    for _ in range(5):
        logits = X @ W + b
        logits = logits - logits.max(axis=1, keepdims=True)
        p = np.exp(logits)
        p /= p.sum(axis=1, keepdims=True)
        loss = -np.mean(np.sum(y * np.log(p + 1e-12), axis=1))
        grad = (p - y) / X.shape[0]
        W = W - lr * (X.T @ grad)
        b -= lr * grad.sum(axis=0)
    return W, b.copy(), loss


def test_softmax_regression():
    def data(n, d, k):
        rng = np.random.default_rng(n)
        return rng.standard_normal((n, d)), np.eye(k)[rng.integers(0, k, n)], np.zeros((d, k)), np.zeros(k), 0.5

    traced = tj.jit(softmax_regression)
    for size in ((40, 5, 3), (100, 7, 4), (9, 2, 5)):
        compare(traced(*data(*size)), softmax_regression(*data(*size)), 1e-9, 1e-11)  # `b -= ` writes into NumPy's b
    assert traced.compilations == 1


def rnn_step(params, h, x):
    h = np.tanh(x @ params["Wxh"] + h @ params["Whh"] + params["bh"])
    y = h @ params["Why"] + params["by"]
    return {"h": h, "y": y}


def test_rnn_step():
    def network(batch, inputs, hidden, outputs):
        params = {
            "Wxh": normal(1, inputs, hidden), "Whh": normal(2, hidden, hidden) / hidden, "bh": normal(3, hidden),
            "Why": normal(4, hidden, outputs), "by": normal(5, outputs),
        }  # fmt: skip
        return params, normal(6, batch, hidden), normal(7, batch, inputs)

    check(rnn_step, [network(*sizes) for sizes in ((4, 3, 8, 2), (16, 5, 7, 3), (2, 9, 4, 6))])


def kalman_step(x, P, z, dt):
    F = np.stack([np.stack([1.0, dt]), np.stack([0.0, 1.0])])
    Q = np.array([[0.01, 0.0], [0.0, 0.03]])
    H = np.array([[1.0, 0.0]])
    R = 0.5
    x = F @ x
    P = F @ P @ F.T + Q
    S = (H @ P @ H.T)[0, 0] + R
    K = (P @ H.T) / S
    x = x + K[:, 0] * (z - H @ x)[0]
    P = (np.eye(2) - K @ H) @ P
    return x, P


def kalman_many(x, P, z, q, r):
    """One dimension, as the introduction to the filter writes it, for many signals at once."""
    for k in range(4):
        P = P + q
        K = P / (P + r)
        x = x + K * (z[k] - x)
        P = (1 - K) * P
    return x, P


def kalman_2x2(x, P, z):
    R = np.array([[0.3, 0.05], [0.05, 0.2]])
    S = P + R
    a, b, c, d = S[..., 0, 0], S[..., 0, 1], S[..., 1, 0], S[..., 1, 1]
    det = a * d - b * c
    S_inv = np.stack([np.stack([d, -b], axis=-1), np.stack([-c, a], axis=-1)], axis=-2) / det[..., None, None]
    K = P @ S_inv
    innovation = z - x
    return x + np.einsum("...ij,...j->...i", K, innovation), P - K @ P


def test_kalman_step():
    P = np.array([[2.0, 0.3], [0.3, 1.0]])
    check(kalman_step, [(normal(n, 2), P, z, 0.1) for n, z in ((1, 0.4), (2, -1.0))])
    many = tj.jit(kalman_many, dims={"z": (4, "signals"), "x": ("signals",)})
    for n in (3, 100):
        arguments = (normal(1, n), np.abs(normal(2, n)), normal(3, 4, n), 1e-3, 0.1)
        compare(many(*arguments), kalman_many(*arguments), 1e-9, 1e-11)
    assert many.compilations == 1
    check(kalman_2x2, [(normal(1, n, 2), np.broadcast_to(P, (n, 2, 2)), normal(2, n, 2)) for n in (5, 40)])


# -------------------------------------------------------------------------------------------------------- and some more


def life_step(board):
    neighbours = sum(
        np.roll(np.roll(board, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i != 0 or j != 0)
    )  # fmt: skip
    return (neighbours == 3) | (board & (neighbours == 2))


def test_life_step():
    check(life_step, [(np.random.default_rng(n).random((n, m)) < 0.4,) for n, m in ((8, 8), (20, 33), (2, 5))])


def jacobi_step(u, f, h):
    inner = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - h * h * f[1:-1, 1:-1])
    return np.concatenate([u[:1], np.concatenate([u[1:-1, :1], inner, u[1:-1, -1:]], axis=1), u[-1:]], axis=0)


def heat_step(u, D, dt, dx):
    lap = (np.roll(u, 1, axis=0) + np.roll(u, -1, axis=0) + np.roll(u, 1, axis=1) + np.roll(u, -1, axis=1) - 4 * u) / dx**2
    return u + D * dt * lap


def test_jacobi_and_heat_steps():
    check(jacobi_step, [(normal(n, n, m), normal(m, n, m), 0.1) for n, m in ((12, 9), (30, 41), (4, 5))])
    check(heat_step, [(normal(n, n, m), 0.1, 0.01, 0.5) for n, m in ((12, 9), (30, 41))])


def mandelbrot(cx, cy):
    zx = np.zeros_like(cx)
    zy = np.zeros_like(cy)
    count = np.zeros(cx.shape, dtype=np.int64) if isinstance(cx, np.ndarray) else np.zeros_like(cx, dtype=np.int64)
    for _ in range(20):
        zx, zy = zx * zx - zy * zy + cx, 2 * zx * zy + cy
        inside = zx * zx + zy * zy < 4.0
        count = count + inside
        zx = np.where(inside, zx, 2.0)
        zy = np.where(inside, zy, 2.0)
    return count


def test_mandelbrot():
    check(mandelbrot, [tuple(np.meshgrid(np.linspace(-2, 1, w), np.linspace(-1.5, 1.5, h))) for w, h in ((30, 20), (7, 50))])


def cosine_similarity(A, B):
    A_norm = A / np.linalg.norm(A, axis=1, keepdims=True)
    B_norm = B / np.linalg.norm(B, axis=1)[:, None]
    return np.einsum("id,jd->ij", A_norm, B_norm)


def test_cosine_similarity():
    check(cosine_similarity, [(normal(n, n, d), normal(m, m, d)) for n, m, d in ((5, 6, 7), (40, 3, 12))])


def logistic_regression(w, X, y):
    def sigmoid(t):
        return 1 / (1 + np.exp(-t))

    for _ in range(3):
        p = sigmoid(np.dot(X, w))
        gradient = np.dot(X.T, p - y) / len(y) if isinstance(y, np.ndarray) else np.dot(X.T, p - y) / y.shape[0]
        w = w - 0.1 * gradient
    accuracy = np.mean((p > 0.5) == (y > 0.5))
    return w, accuracy


def test_logistic_regression():
    check(logistic_regression, [(np.zeros(d), normal(n, n, d), (normal(1, n) > 0).astype(float)) for n, d in ((30, 4), (100, 9))])


def standardize_and_pca_step(X, v):
    Xc = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    cov = Xc.T @ Xc / (X.shape[0] - 1)
    for _ in range(10):
        v = cov @ v
        v = v / np.linalg.norm(v)
    return v, v @ cov @ v


def test_power_iteration():
    check(standardize_and_pca_step, [(normal(n, n, d), np.ones(d)) for n, d in ((30, 4), (100, 6))])


def lotka_volterra(state, a, b, c, d, dt):
    def f(s):
        x, y = s[0], s[1]
        return np.stack([a * x - b * x * y, -c * y + d * x * y])

    k1 = f(state)
    k2 = f(state + dt / 2 * k1)
    k3 = f(state + dt / 2 * k2)
    k4 = f(state + dt * k3)
    return state + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def test_runge_kutta():
    check(lotka_volterra, [(np.abs(normal(n, 2, n)), 1.1, 0.4, 0.4, 0.1, 0.02) for n in (5, 50)])


def moving_statistics(x):
    returns = np.diff(np.log(x))
    total = np.cumsum(returns)
    drawdown = total.max() - total[-1]
    return returns.mean(), returns.std() * np.sqrt(252), drawdown, np.clip(returns, -0.01, 0.01)


def test_moving_statistics():
    check(moving_statistics, [(np.exp(normal(n, n) * 0.1),) for n in (10, 200)])
