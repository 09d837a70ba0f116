"""Minimax polynomials behind native/math: from a function, an interval and a list of powers to C constants.

`python -m bench.minimax exp_f32 ...` prints the coefficients that stand in the headers (needs mpmath; nothing else of the project does).
Each fit minimises the largest weighted error |weight(x) * (polynomial(x) - target(x))| by Remez exchange on a dense grid of Chebyshev
points. Then the coefficients are rounded to the working precision one at a time, lowest power first, and the others are fitted
again after each: a later coefficient makes up for the rounding of an earlier one.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from mpmath import mp, mpf

mp.dps = 50
Real = Callable[[mpf], mpf]


@dataclass(frozen=True, slots=True)
class Fit:
    """What to approximate: `target` on [low, high] by a polynomial with the given powers, error weighted by `weight`."""

    target: Real
    weight: Real
    low: mpf
    high: mpf
    powers: Sequence[int]
    bits: int  # precision of the coefficients: 24 or 53
    fixed: dict[int, float] = field(default_factory=dict)  # coefficients that are given


def solve(
    fit: Fit, fixed: dict[int, mpf], grid: Sequence[mpf], values: Sequence[mpf], weights: Sequence[mpf]
) -> tuple[dict[int, mpf], mpf]:
    """The free coefficients of the best polynomial on the grid, and its largest weighted error."""
    free = [p for p in fit.powers if p not in fixed]
    rest = [v - sum((c * x**p for p, c in fixed.items()), mpf(0)) for x, v in zip(grid, values, strict=True)]
    if not free:
        return {}, max(abs(w * r) for w, r in zip(weights, rest, strict=True))
    count = len(free) + 1
    picks = [round(i * (len(grid) - 1) / (count - 1)) for i in range(count)]
    best: tuple[dict[int, mpf], mpf] = {}, mp.inf
    for _ in range(200):
        matrix = mp.matrix(count, count)
        right = mp.matrix(count, 1)
        for row, i in enumerate(picks):
            for column, p in enumerate(free):
                matrix[row, column] = grid[i] ** p
            matrix[row, count - 1] = (-1) ** row / weights[i]
            right[row] = rest[i]
        answer = mp.lu_solve(matrix, right)
        coefficients = {p: answer[k] for k, p in enumerate(free)}
        errors = [w * (sum(c * x**p for p, c in coefficients.items()) - r) for x, w, r in zip(grid, weights, rest, strict=True)]
        worst = max(abs(e) for e in errors)
        if worst < best[1]:
            best = coefficients, worst
        if worst <= abs(answer[count - 1]) * mpf("1.001"):
            break
        peaks = alternating_peaks(errors)
        while len(peaks) > count:  # drop the smallest, with a neighbour or at an end: what stays still alternates
            if len(peaks) == count + 1:
                peaks.pop(0 if abs(errors[peaks[0]]) < abs(errors[peaks[-1]]) else -1)
            else:
                least = min(range(len(peaks) - 1), key=lambda i: max(abs(errors[peaks[i]]), abs(errors[peaks[i + 1]])))
                del peaks[least : least + 2]
        picks = peaks if len(peaks) == count else exchanged(picks, errors)
    return best


def exchanged(picks: Sequence[int], errors: Sequence[mpf]) -> list[int]:
    """The reference with the point of largest error in it, in place of the neighbour of the same sign."""
    worst = max(range(len(errors)), key=lambda i: abs(errors[i]))
    sign = errors[worst] > 0
    after = next((k for k, i in enumerate(picks) if i > worst), len(picks))
    if after > 0 and (errors[picks[after - 1]] > 0) == sign:
        return [*picks[: after - 1], worst, *picks[after:]]
    if after < len(picks) and (errors[picks[after]] > 0) == sign:
        return [*picks[:after], worst, *picks[after + 1 :]]
    return [worst, *picks[:-1]] if after == 0 else [*picks[1:], worst]


def alternating_peaks(errors: Sequence[mpf]) -> list[int]:
    """Index of the largest error in each run of equal sign."""
    peaks = [0]
    for i, e in enumerate(errors):
        if (e > 0) != (errors[peaks[-1]] > 0):
            peaks.append(i)
        elif abs(e) > abs(errors[peaks[-1]]):
            peaks[-1] = i
    return peaks


def rounded(x: mpf, bits: int) -> float:
    """`x` in the precision of the coefficients."""
    return float(struct.unpack("f", struct.pack("f", float(x)))[0]) if bits == 24 else float(x)


def fitted(fit: Fit, density: int = 24) -> tuple[dict[int, float], float]:
    """Rounded coefficients by power, and the largest weighted error that they leave."""
    count = density * (len(fit.powers) + 2)
    nodes = [mp.cos(mp.pi * (2 * i + 1) / (2 * count)) for i in reversed(range(count))]
    grid = [(fit.high + fit.low) / 2 + (fit.high - fit.low) / 2 * t for t in nodes]
    values, weights = [fit.target(x) for x in grid], [abs(fit.weight(x)) for x in grid]
    fixed = {p: mpf(c) for p, c in fit.fixed.items()}
    for p in sorted(p for p in fit.powers if p not in fit.fixed):
        coefficients, _ = solve(fit, fixed, grid, values, weights)
        fixed[p] = mpf(rounded(coefficients[p], fit.bits))
    _, worst = solve(fit, fixed, grid, values, weights)
    return {p: float(fixed[p]) for p in fit.powers}, float(worst)


def c_hex(x: float, bits: int) -> str:
    """A C hexadecimal constant of just the digits that are needed."""
    mantissa, _, exponent = x.hex().partition("p")
    digits = mantissa.rstrip("0").rstrip(".")
    return f"{digits}p{int(exponent)}{'f' if bits == 24 else ''}"


LN2 = mp.log(2)


def scaled_erfc(x: mpf) -> mpf:
    """e^(x^2) erfc(x) (1 + 2 x), which is close to 1 everywhere."""
    return mp.exp(x * x) * mp.erfc(x) * (1 + 2 * x)


def fits() -> dict[str, Fit]:
    """Every approximation of native/math by name."""
    half, third = LN2 / 2, mpf(1) / 3
    slack = mpf("1.0005")  # arguments just outside, by the rounding of the reduction
    table: dict[str, Fit] = {}
    # e^r = 1 + r + r^2 p(r). For r < -1/4 other roundings weigh most: there the float32 polynomial is made better.
    table["exp_f32"] = Fit(
        lambda r: (mp.expm1(r) - r) / r**2,
        lambda r: r**2 * (1 if r > 0 else 2 if r > -0.2 else 6),
        -half * slack,
        half * slack,
        range(5),
        24,
    )
    table["exp_f64"] = Fit(lambda r: (mp.expm1(r) - r) / r**2, lambda r: r**2 / mp.exp(r), -half * slack, half * slack, range(11), 53)
    table["expm1_f32"] = Fit(lambda r: (mp.expm1(r) - r) / r**2, lambda r: r**2 / mp.expm1(r), -half * slack, half * slack, range(6), 24)
    table["exp2_pow_f32"] = Fit(lambda r: (mp.expm1(r * LN2)) / r, lambda r: r, -mpf(1) / 2, mpf(1) / 2, range(7), 53)
    # 2^r - 1 = r (ln 2 + r p(r))
    table["exp2_f32"] = Fit(
        lambda r: (mp.expm1(r * LN2) - r * LN2) / r**2,
        lambda r: r**2 * (1 if r > 0 else 2 if r > -0.3 else 6),
        -mpf(1) / 2,
        mpf(1) / 2,
        range(5),
        24,
    )
    table["exp2_f64"] = Fit(lambda r: (mp.expm1(r * LN2) - r * LN2) / r**2, lambda r: r**2, -mpf(1) / 2, mpf(1) / 2, range(11), 53)
    # log(1 + f) = f + f^2 p(f) for 1 + f from 2/3 to 4/3
    for name, count, bits in (("log_f32", 9, 24), ("log_pow_f32", 15, 53)):
        table[name] = Fit(
            lambda f: (mp.log1p(f) - f) / f**2, lambda f: f**2 / mp.log1p(f), -third * slack, third * slack, range(count), bits
        )
    table["log_fine_f32"] = Fit(
        lambda f: (mp.log1p(f) - f + f**2 / 2) / f**3, lambda f: f**3 / mp.log1p(f), -third * slack, third * slack, range(9), 24
    )
    table["log_fine_f64"] = Fit(
        lambda f: (mp.log1p(f) - f + f**2 / 2) / f**3, lambda f: f**3 / mp.log1p(f), -third * slack, third * slack, range(20), 53
    )
    # erf(x) = x + x p(x^2) for |x| < 0.9, and log(1 - erf(x)) = -x + x p(x) above
    table["erf_small_f32"] = Fit(
        lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1, lambda z: mp.sqrt(z) / mp.erf(mp.sqrt(z)), mpf("1e-9"), mpf("0.81"), range(7), 24
    )
    table["erf_large_f32"] = Fit(lambda x: mp.log(mp.erfc(x)) / x + 1, lambda x: x * mp.erfc(x), mpf("0.8999"), mpf("3.93"), range(7), 24)
    # float64: erf(x) = x + x p(x^2) for |x| < 0.75; erfc(x) = e^(-x^2) p((x - 2) / (x + 2)) / (1 + 2 x) for x from 0.25 to 27.5
    table["erf_small_f64"] = Fit(
        lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1, lambda z: mp.sqrt(z) / mp.erf(mp.sqrt(z)), mpf("1e-12"), mpf("0.5626"), range(12), 53
    )
    table["erfc_f64"] = Fit(
        lambda t: scaled_erfc(2 * (1 + t) / (1 - t)),
        lambda t: 1 / scaled_erfc(2 * (1 + t) / (1 - t)),
        -mpf(7) / 9,
        mpf("25.5") / mpf("29.5"),
        range(24),
        53,
    )
    # sin(r) = r + r^3 p(r^2), cos(r) = 1 - r^2 / 2 + r^4 p(r^2)
    for name, edge, count, cosine in (("sin_f64", 4, 7, 7), ("sin_f32", 2, 5, 0), ("sin_tan_f32", 4, 4, 4)):
        end = (mp.pi / edge * slack) ** 2
        table[name] = Fit(
            lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z,
            lambda z: z * mp.sqrt(z) / mp.sin(mp.sqrt(z)),
            mpf("1e-9"),
            end,
            range(count),
            53,
        )
        if cosine:
            table[name.replace("sin", "cos", 1)] = Fit(
                lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2, lambda z: z**2 / mp.cos(mp.sqrt(z)), mpf("1e-9"), end, range(cosine), 53
            )
    # atan(x) = x + x^3 p(x^2), asin(x) = x + x^3 p(x^2)
    table["atan_f64"] = Fit(
        lambda z: (mp.atan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z,
        lambda z: z * mp.sqrt(z) / mp.atan(mp.sqrt(z)),
        mpf("1e-9"),
        mpf(1),
        range(20),
        53,
    )
    table["asin_f64"] = Fit(
        lambda z: (mp.asin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z,
        lambda z: z * mp.sqrt(z) / mp.asin(mp.sqrt(z)),
        mpf("1e-9"),
        mpf("0.2501"),
        range(13),
        53,
    )
    # m^(-1/3) for 1 <= m < 2
    table["cbrt_f64"] = Fit(lambda m: m ** (-mpf(1) / 3), lambda m: m ** (mpf(1) / 3), mpf(1), mpf(2), range(6), 53)
    return table


def main(names: Sequence[str]) -> None:
    table = fits()
    unknown = [n for n in names if n not in table]
    if unknown:
        raise SystemExit(f"bench.minimax: no approximation named {', '.join(unknown)}; there are {', '.join(table)}")
    for name in names or table:
        coefficients, worst = fitted(table[name])
        print(f"{name}: largest weighted error 2^{float(mp.log(worst, 2)):.2f}")
        for p, c in coefficients.items():
            print(f"  x^{p:<2} {c_hex(c, table[name].bits)}")


if __name__ == "__main__":
    main(sys.argv[1:])
