"""The transcendental functions that native/math has: one row per function, for code generators, documentation and tests.

`ulp` is the largest error measured, in units in the last place of the result, by dtype: over every float32, and over a dense sample for
float64 and for two arguments. `python -m bench.ulp --all --write` measures again and rewrites the figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Function:
    """`tj_<name>_<dtype>x<lanes>` takes `arity` vectors and comes from `math/<name>_<dtype>.h`."""

    name: str
    arity: int
    ulp: Mapping[str, float]  # by dtype, "f32" and "f64": what is not there is not available

    @property
    def dtypes(self) -> tuple[str, ...]:
        return tuple(self.ulp)

    def header(self, dtype: str) -> str:
        """The header to include (after lanes.h, with TJ_LANES set), relative to native/."""
        if dtype not in self.ulp:
            raise KeyError(f"{self.name}: no version for {dtype}; there is one for {', '.join(self.ulp)}")
        return f"math/{self.name}_{dtype}.h"


FUNCTIONS: Mapping[str, Function] = {
    f.name: f
    for f in (
        Function("exp", 1, {"f32": 0.991, "f64": 0.978}),
        Function("exp2", 1, {"f32": 0.846, "f64": 0.833}),
        Function("expm1", 1, {"f32": 0.860, "f64": 1.327}),
        Function("log", 1, {"f32": 0.938, "f64": 0.744}),
        Function("log2", 1, {"f32": 0.790, "f64": 0.778}),
        Function("log10", 1, {"f32": 0.886, "f64": 0.918}),
        Function("log1p", 1, {"f32": 0.951, "f64": 0.967}),
        Function("rsqrt", 1, {"f32": 0.501, "f64": 0.501}),
        Function("cbrt", 1, {"f32": 0.500, "f64": 0.500}),
        Function("sin", 1, {"f32": 0.501, "f64": 0.705}),
        Function("cos", 1, {"f32": 0.501, "f64": 0.724}),
        Function("tan", 1, {"f32": 0.501, "f64": 0.855}),
        Function("sinh", 1, {"f32": 0.500, "f64": 1.798}),
        Function("cosh", 1, {"f32": 0.500, "f64": 1.470}),
        Function("tanh", 1, {"f32": 0.960, "f64": 1.022}),
        Function("asin", 1, {"f32": 0.500, "f64": 0.634}),
        Function("acos", 1, {"f32": 0.500, "f64": 0.619}),
        Function("atan", 1, {"f32": 0.500, "f64": 1.249}),
        Function("asinh", 1, {"f32": 0.501, "f64": 1.011}),
        Function("acosh", 1, {"f32": 0.501, "f64": 1.017}),
        Function("atanh", 1, {"f32": 0.500, "f64": 1.013}),
        Function("sigmoid", 1, {"f32": 0.980, "f64": 0.972}),
        Function("erf", 1, {"f32": 0.898, "f64": 1.621}),
        Function("erfc", 1, {"f32": 0.500}),
        Function("pow", 2, {"f32": 0.501}),
        Function("atan2", 2, {"f32": 0.500, "f64": 1.475}),
        Function("hypot", 2, {"f32": 0.500, "f64": 0.986}),
    )
}
