"""The table of native/math/tanh_f32.h: `python -m bench.tanh_table` prints its rows (needs mpmath; nothing else of the project does).

Each interval has a centre, chosen near its middle so that tanh there is all but a float32, and a polynomial in the distance from it, of least largest
error relative to tanh (by Lawson's reweighting of least squares). Coefficients are rounded to float32 one at a time, lowest power
first, and the others are fitted again after each. On the first interval the polynomial is that of tanh(t) - t.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from mpmath import mp, mpf

mp.dps = 40
DEGREE = 9
INTERVALS = ((0.0, 0.25), (0.25, 0.5), (0.5, 1.0), (1.0, 2.0), (2.0, 4.0), (4.0, 8.0), (8.0, 10.0))
SLOTS = (4, 5, 6, 7, 0, 1, 2)
"""Where each interval stands in the table: its exponent modulo 8."""
POINTS, ROUNDS = 400, 60


def fitted(low: float, high: float, powers: Sequence[int], target: Callable[[mpf], mpf], weight: Callable[[mpf], mpf]) -> dict[int, float]:
    """Coefficients by power."""
    t = (high + low) / 2 + (high - low) / 2 * np.cos(np.pi * (2 * np.arange(POINTS) + 1) / (2 * POINTS))
    scale = max(abs(low), abs(high))
    values, weights = (np.array([float(f(mpf(x))) for x in t]) for f in (target, weight))
    fixed: dict[int, float] = {}
    for power in powers:
        free = [p for p in powers if p not in fixed]
        rest = values - sum((c * t**p for p, c in fixed.items()), np.zeros(POINTS))
        share, least, best = np.ones(POINTS), math.inf, None
        for _ in range(ROUNDS):
            heavy = weights * np.sqrt(share)
            found, *_ = np.linalg.lstsq(np.stack([(t / scale) ** p for p in free], 1) * heavy[:, None], rest * heavy, rcond=None)
            errors = np.abs(weights * (rest - sum(c * (t / scale) ** p for p, c in zip(free, found, strict=True))))
            if errors.max() < least:
                least, best = errors.max(), found
            share = share * (errors + 1e-30)
            share *= POINTS / share.sum()
        assert best is not None
        fixed[power] = float(np.float32(best[0] / scale**power))
    return fixed


def centre(low: float, high: float) -> tuple[float, float]:
    """A point near the middle whose tanh is all but a float32, and that float."""
    step = 2.0 ** (math.floor(math.log2(low)) - 21)
    near = (float(np.float32((low + high) / 2 + k * step)) for k in range(-3000, 3001))

    def off(c: float) -> float:
        return abs(float(mp.tanh(mpf(c)) - mpf(float(np.float32(mp.tanh(mpf(c)))))))

    c = min(near, key=off)
    return c, float(np.float32(mp.tanh(mpf(c))))


def column(low: float, high: float) -> list[float]:
    """Centre, tanh there, coefficients."""
    if low == 0:
        found = fitted(2.0**-20, high, range(3, DEGREE + 1), lambda t: mp.tanh(t) - t, lambda t: 1 / mp.tanh(t))
        return [0.0] * 4 + [found[p] for p in range(3, DEGREE + 1)]
    c, there = centre(low, high)
    found = fitted(low - c, high - c, range(1, DEGREE + 1), lambda t: mp.tanh(t + c) - there, lambda t: 1 / mp.tanh(t + c))
    return [c, there] + [found[p] for p in range(1, DEGREE + 1)]


def c_hex(x: float) -> str:
    mantissa, _, exponent = x.hex().partition("p")
    return f"{mantissa.rstrip('0').rstrip('.')}p{int(exponent)}f" if x else "0"


def main() -> None:
    columns = {slot: column(*interval) for slot, interval in zip(SLOTS, INTERVALS, strict=True)}
    for row in range(DEGREE + 2):
        print(f"  TJ_TWICE({', '.join(c_hex(columns[slot][row]) if slot in columns else '0' for slot in range(8))}),")


if __name__ == "__main__":
    main()
