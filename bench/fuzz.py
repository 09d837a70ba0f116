"""`python -m bench.fuzz --minutes N --seed S`: random graphs, each under every condition that must not change a bit, until the time is up.

In: minutes and a seed. Out: a line of progress per round, and exit status 0; or the first graph that goes wrong, made small, as graph text
with the commands that run it again, and exit status 1. A round is a seed of its own: `--seed S` makes the rounds S, S+1, S+2 and so on,
and the same seed makes the same graphs. `--graph FILE` runs the graph of such a text (`-` reads standard input).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from tjcore import Expr, configure, read_graph, show_graph
from tjcore.conformance import equalities, opening
from tjcore.conformance.compiling import Compile
from tjcore.conformance.graphs import P, Sample, grow, inexact_ops
from tjcore.conformance.shrink import shrink

EXTENTS = (0, *[1] * 3, *range(2, 10), *range(15, 18), *range(30, 70, 3), 63, 64, 65, 127, 128, 129, 255, 256, 257, 300, 700, 1025)
SPECIAL = (0.0, 0.0, 0.05, 0.5)
PER_ROUND = 10


@dataclass(frozen=True, slots=True)
class Case:
    """What one run of the checks needs, and what is printed when it goes wrong."""

    sample: Sample
    sizes: tuple[tuple[str, int], ...]
    special: float
    values: int
    error: Exception

    def show(self, seed: int | None) -> str:
        sizes = ",".join(f"{name}={size}" for name, size in self.sizes)
        again = [
            f"python -m bench.fuzz --graph FILE --sizes {sizes} --special {self.special} --values {self.values}   # FILE: the text above"
        ]
        if seed is not None:
            again.insert(0, f"python -m bench.fuzz --rounds 1 --seed {seed}")
        lines = [f"{type(self.error).__name__}: {self.error}", "", show_graph(self.sample.outputs), "To run it again:", *again]
        return "\n".join(lines)


@dataclass
class Fuzzer:
    """The backends under test, and what has been checked so far."""

    backends: Sequence[str]
    shrinking: float = 60.0
    graphs: int = 0
    calls: int = 0
    rows: int = 0

    def check(self, sample: Sample, sizes: Sequence[tuple[str, int]], special: float, values: int) -> None:
        """Every equality of one graph at one set of sizes, and with the sizes exchanged."""
        compiles = [Compile(name) for name in self.backends]
        equalities.check_text(sample)
        names, numbers = zip(*sizes, strict=True)
        for exchanged in (dict(sizes), dict(zip(names, reversed(numbers), strict=True))):
            arrays = sample.arrays(exchanged, values, special)
            exact = sample if sample.wild or not special else replace(sample, exact=False)
            equalities.check_builds(compiles, exact, exchanged, arrays)
            self.rows += equalities.check_rows(compiles[0], sample, P, exchanged, arrays)
            self.calls += 1
        self.graphs += 1

    def error(self, sample: Sample, sizes: Sequence[tuple[str, int]], special: float, values: int) -> Exception | None:
        """What goes wrong, whatever it is: a planner or a renderer that raises is a find like a wrong bit."""
        try:
            self.check(sample, sizes, special, values)
        except Exception as error:
            return error
        return None

    def round(self, seed: int) -> Case | None:
        """PER_ROUND graphs of one seed; the first that goes wrong, made small."""
        random = Random(seed)
        for _ in range(PER_ROUND):
            sample = grow(random.getrandbits(32), exact=random.random() < 0.6)
            sizes = tuple((name, random.choice(EXTENTS)) for name in ("P", "Q"))
            special, values = random.choice(SPECIAL), random.getrandbits(16)
            error = self.error(sample, sizes, special, values)
            if error is not None:
                return self.small(Case(sample, sizes, special, values, error))
        return None

    def small(self, case: Case) -> Case:
        """The case with a smaller graph that goes wrong too."""

        def of(outputs: tuple[Expr, ...]) -> Sample:
            made = equalities.sample_of(outputs, case.sample.exact and not inexact_ops(outputs))
            return replace(made, wild=case.sample.wild)

        def wrong(outputs: tuple[Expr, ...]) -> bool:
            return self.error(of(outputs), case.sizes, case.special, case.values) is not None

        sample = of(shrink(case.sample.outputs, wrong, self.shrinking))
        error = self.error(sample, case.sizes, case.special, case.values)
        return case if error is None else replace(case, sample=sample, error=error)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=1.0, help="for how long (a round that has begun is finished)")
    parser.add_argument("--rounds", type=int, default=0, help="so many rounds, whatever time they take")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--backend", default="", help="NAME,NAME; the first is built in every way. Default: every native toolchain that is ready"
    )
    parser.add_argument("--shrink", type=float, default=60.0, help="seconds for making a graph that goes wrong small")
    parser.add_argument("--graph", default="", help="run this graph text instead of random graphs")
    parser.add_argument("--sizes", default="P=3,Q=5")
    parser.add_argument("--special", type=float, default=0.0, help="share of NaN, infinities, subnormals and other ends of the range")
    parser.add_argument("--values", type=int, default=0, help="seed of the arrays")
    given = parser.parse_args(arguments)
    backends = given.backend.split(",") if given.backend else [n for n in opening.offered() if n != "reference"]
    ready = [name for name in backends if opening.open_backend(name).state == "ready"]
    if not ready:
        print(f"no toolchain is ready out of {', '.join(backends) or 'none'}; `tensorjit backends` says why", file=sys.stderr)
        return 2
    fuzzer = Fuzzer(ready, given.shrink)
    return _replay(fuzzer, given) if given.graph else _run(fuzzer, given)


def _replay(fuzzer: Fuzzer, given: argparse.Namespace) -> int:
    text = sys.stdin.read() if given.graph == "-" else Path(given.graph).read_text(encoding="utf-8")
    outputs = tuple(read_graph(text))
    sample = equalities.sample_of(outputs, exact=not inexact_ops(outputs))
    sizes = [(name, int(size)) for name, _, size in (part.partition("=") for part in given.sizes.split(","))]
    error = fuzzer.error(sample, sizes, given.special, given.values)
    if error is not None:
        print(Case(sample, tuple(sizes), given.special, given.values, error).show(None), file=sys.stderr)
        return 1
    print(f"the same bits everywhere: {', '.join(fuzzer.backends)}")
    return 0


def _run(fuzzer: Fuzzer, given: argparse.Namespace) -> int:
    start = time.monotonic()
    done = 0
    print(f"toolchains: {', '.join(fuzzer.backends)}", flush=True)
    while done < given.rounds if given.rounds else time.monotonic() - start < given.minutes * 60:
        seed = given.seed + done
        case = fuzzer.round(seed)
        if case is not None:
            print(case.show(seed), file=sys.stderr)
            return 1
        done += 1
        took = time.monotonic() - start
        print(f"round {seed}: {fuzzer.graphs} graphs, {fuzzer.calls} sizes, {fuzzer.rows} outputs row by row, {took:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="tjcore-fuzz-") as folder:
        configure(cache_dir=folder)  # graphs that nobody will ask for again have no business in the user's cache
        status = main()
    sys.exit(status)
