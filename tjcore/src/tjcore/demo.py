"""The demo: a classifier of handwritten digits, trained through generated code, with its kernels and its memory plan shown.

Everything a user would write is here: the model as a graph over a symbolic batch `N`, its gradient, one compiled training step that serves
every batch size, the ragged last batch included.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from .autodiff import grad
from .data import load_digits
from .dims import Dim
from .graph import Expr, input
from .plugins import REFERENCE, manager
from .runtime import CompiledGraph

Array = NDArray[Any]
State = list[Array]

SEED = 0
HIDDEN = 128
BATCH = 64
EPOCHS = 30
RATE = 0.05
MOMENTUM = 0.9
HELD_OUT = 360
REFERENCE_STEPS = 3
"""So many steps are repeated by the reference evaluator, which is thousands of times slower than built code."""

N = Dim("N", 1, 512)
SHAPES = {"w1": (64, HIDDEN), "b1": (HIDDEN,), "w2": (HIDDEN, 10), "b2": (10,)}


def model(x: Expr, p: dict[str, Expr]) -> Expr:
    """Scores (N, 10) of images (N, 64)."""
    return (x @ p["w1"] + p["b1"]).relu() @ p["w2"] + p["b2"]


def training_step() -> list[Expr]:
    """One step of gradient descent with momentum on the mean squared error: the loss, then new parameters, then new velocities."""
    p = {name: input(name, shape) for name, shape in SHAPES.items()}
    velocities = {name: input(f"v_{name}", shape) for name, shape in SHAPES.items()}
    x, y, scale = input("x", (N, 64)), input("y", (N, 10)), input("scale", ())
    error = model(x, p) - y
    loss = (error * error).sum(1).sum(0) * scale
    slopes = grad(loss, list(p.values()))
    moved = [velocities[name] * MOMENTUM - g * RATE for name, g in zip(p, slopes, strict=True)]
    return [loss, *(w + v for w, v in zip(p.values(), moved, strict=True)), *moved]


def numpy_step(x: Array, y: Array, scale: Array, state: State) -> tuple[Array, State]:
    """The same step by hand in NumPy, float32 throughout."""
    (w1, b1, w2, b2), velocities = state[:4], state[4:]
    a = x @ w1 + b1
    h = np.maximum(a, 0)
    error = h @ w2 + b2 - y
    loss = (error * error).sum() * scale
    g = error * (2 * scale)
    through = (g @ w2.T) * (a > 0)
    slopes = (x.T @ through, through.sum(0), h.T @ g, g.sum(0))
    moved = [np.float32(MOMENTUM) * v - np.float32(RATE) * s for v, s in zip(velocities, slopes, strict=True)]
    return loss, [w + v for w, v in zip(state[:4], moved, strict=True)] + moved


class Digits:
    """The data, split with a fixed seed, as float32 arrays."""

    def __init__(self) -> None:
        images, labels = load_digits()
        order = np.random.default_rng(SEED).permutation(len(images))
        held, kept = order[:HELD_OUT], order[HELD_OUT:]
        x = np.ascontiguousarray(images, np.float32) / np.float32(16)
        y = np.eye(10, dtype=np.float32)[labels]
        self.x, self.y = x[kept], y[kept]
        self.held_x, self.held_labels = x[held], labels[held]

    def batches(self, epoch: int) -> Iterator[tuple[Array, Array, Array]]:
        """Shuffled batches; the last one is short."""
        order = np.random.default_rng([SEED, epoch]).permutation(len(self.x))
        for i in range(0, len(order), BATCH):
            chosen = order[i : i + BATCH]
            yield self.x[chosen], self.y[chosen], np.asarray(1 / len(chosen), np.float32)


def initial_state() -> State:
    rng = np.random.default_rng(SEED)
    w1 = rng.standard_normal(SHAPES["w1"], np.float32) * np.float32((2 / 64) ** 0.5)
    w2 = rng.standard_normal(SHAPES["w2"], np.float32) * np.float32((1 / HIDDEN) ** 0.5)
    parameters = [w1, np.zeros(HIDDEN, np.float32), w2, np.zeros(10, np.float32)]
    return parameters + [np.zeros_like(p) for p in parameters]


Step = Callable[[Array, Array, Array, State], tuple[Array, State]]


def compiled_step(graph: CompiledGraph) -> Step:
    names = [*SHAPES, *(f"v_{name}" for name in SHAPES)]

    def step(x: Array, y: Array, scale: Array, state: State) -> tuple[Array, State]:
        loss, *new = graph(x=x, y=y, scale=scale, **dict(zip(names, state, strict=True)))
        return loss, new

    return step


def train(
    step: Step, data: Digits, epochs: int = EPOCHS, steps: int | None = None, watch: Callable[[int, float], None] | None = None
) -> State:
    """The state after `epochs`, or after so many `steps`."""
    state = initial_state()
    done = 0
    for epoch in range(epochs):
        total = 0.0
        for x, y, scale in data.batches(epoch):
            loss, state = step(x, y, scale, state)
            total += float(loss) * len(x)
            done += 1
            if done == steps:
                return state
        if watch:
            watch(epoch + 1, total / len(data.x))
    return state


def same_bits(a: State, b: State) -> bool:
    return all(np.array_equal(p.view(np.int32), q.view(np.int32)) for p, q in zip(a, b, strict=True))


class _Report:
    def __init__(self, out: TextIO) -> None:
        self.out = out
        self.live = out.isatty()

    def line(self, text: str = "") -> None:
        print(text, file=self.out, flush=True)

    def progress(self, epoch: int, loss: float, epochs: int) -> None:
        filled = round(24 * epoch / epochs)
        text = f"  [{'#' * filled}{'.' * (24 - filled)}] epoch {epoch:>2}/{epochs}  loss {loss:.4f}"
        if self.live:
            print("\r" + text, end="" if epoch < epochs else "\n", file=self.out, flush=True)
        elif epoch == 1 or epoch % 10 == 0:
            self.line(text)


def run(out: TextIO = sys.stdout, backend: str | None = None) -> float:
    """Train, show, compare. Returns the accuracy on held-out images."""
    report = _Report(out)
    data = Digits()
    start = time.perf_counter()
    graph = CompiledGraph(training_step(), backend=backend)
    built = time.perf_counter() - start
    epochs = EPOCHS if graph.backend != REFERENCE else 1
    report.line(
        f"digits: {len(data.x)} images to learn from, {len(data.held_x)} held out; batches of {BATCH}, the last one of {len(data.x) % BATCH}"
    )
    report.line(f"step:   {len(graph.plan.kernels)} kernels, built in {built:.2f} s by {graph.toolchain_version}")
    start = time.perf_counter()
    state = train(compiled_step(graph), data, epochs, watch=lambda epoch, loss: report.progress(epoch, loss, epochs))
    ours = time.perf_counter() - start
    if epochs < EPOCHS:
        report.line(f"  (the reference evaluator is slow: {epochs} epoch instead of {EPOCHS}; install a toolchain plugin for the rest)")

    predict = CompiledGraph([model(input("x", (N, 64)), {name: input(name, shape) for name, shape in SHAPES.items()})], backend=backend)
    (scores,) = predict(x=data.held_x, **dict(zip(SHAPES, state[:4], strict=True)))
    accuracy = float((scores.argmax(1) == data.held_labels).mean())
    report.line(f"\naccuracy on held-out images: {accuracy:.2%}")
    report.line(f"compilations: {graph.compilations}, calls: {graph.calls}, batch sizes met: {BATCH} and {len(data.x) % BATCH}")

    start = time.perf_counter()
    train(numpy_step, data, epochs)
    theirs = time.perf_counter() - start
    times = f"{theirs / ours:.1f} times as fast" if theirs >= ours else f"{ours / theirs:.1f} times as slow"
    report.line(f"training time: {ours:.2f} s; the same in NumPy: {theirs:.2f} s ({times})")

    report.line("\nkernels, each with the ops that were fused into it:")
    for kernel in graph.plan.kernels:
        ops = [op for op in kernel.ops if op not in ("constant", "broadcast_to", "expand_dims", "squeeze")]
        report.line(f"  {kernel.name:<4} {' '.join(ops):<44} {', '.join(kernel.reads)} -> {', '.join(kernel.writes)}")
    memory = graph.last_memory
    assert memory is not None
    sizes = ", ".join(f"{name}={size}" for name, size in memory.bindings.items())
    planned, unshared = memory.temporary_bytes, memory.unreused_temporary_bytes
    report.line(f"\nmemory of the last call ({sizes}): {planned:,} bytes of temporaries planned, {unshared:,} unshared")
    _draw_memory(report, graph)
    _compare(report, graph, state, data, epochs)
    return accuracy


def _draw_memory(report: _Report, graph: CompiledGraph) -> None:
    """The arena: a row per temporary, over the kernels during which it is alive."""
    memory = graph.last_memory
    assert memory is not None
    buffers = graph.plan.program.buffers
    spans = {buffers[b].name: span for b, span in graph.plan.lifetimes().items()}
    count = len(graph.plan.kernels)
    report.line(f"  {'offset':>8} {'bytes':>8}        {'kernels, first to last':<{count}}")
    for a in sorted(memory.allocations, key=lambda a: (a.offset, spans[a.name])):
        first, last = spans[a.name]
        row = "".join("#" if first <= k <= last else "." for k in range(count))
        report.line(f"  {a.offset:>8,} {a.nbytes:>8,}  {a.name:<4}  {row}")


def _compare(report: _Report, graph: CompiledGraph, state: State, data: Digits, epochs: int) -> None:
    """Whether every other toolchain on this machine gives the same bits."""
    report.line("\nthe same training elsewhere, compared bit for bit:")
    for row in manager().status():
        if row.toolchain in ("-", graph.backend):
            continue
        if row.health != "ready":
            report.line(f"  {row.toolchain:<10} not compared, {row.health}: {row.detail.splitlines()[0]}")
            continue
        other = compiled_step(CompiledGraph(training_step(), backend=row.toolchain))
        if row.toolchain == REFERENCE:
            few = train(other, data, epochs, REFERENCE_STEPS)
            equal = same_bits(few, train(compiled_step(graph), data, epochs, REFERENCE_STEPS))
            what = f"after {REFERENCE_STEPS} steps"
        else:
            equal = same_bits(train(other, data, epochs), state)
            what = f"after {epochs} epochs"
        report.line(f"  {row.toolchain:<10} {'same bits' if equal else 'DIFFERENT BITS'} {what}")
