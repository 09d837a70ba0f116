"""Prepared calls: everything that a call needs, chosen and checked once, so that running it again takes no memory at all.

In: the arrays of one call and a workspace. Out: `PreparedCall`, an object without arguments to call: it reads the arrays it is bound to and
writes the same outputs every time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

from numpy.typing import NDArray

from .errors import CallError

Arrays = tuple[NDArray[Any], ...]


class PreparedCall:
    """One call of a compiled graph, ready to run: `p()` computes `p.outputs` from `p.inputs`, where they are, and returns `p.outputs`.

    Fill the arrays in `p.inputs` between calls, or bind others with `p.bind(x=array)`. A prepared call has one set of outputs and one
    workspace, so it runs in one thread at a time; prepare one for each thread.
    """

    __slots__ = ("_busy", "_check", "_names", "_native", "_outputs", "_run", "_run_slowly", "_start", "bindings", "inputs")

    def __init__(
        self,
        names: Sequence[str],
        given: Arrays,
        outputs: Arrays,
        bindings: Mapping[str, int],
        check: Callable[[Mapping[str, Any], Arrays], Arrays],
        start: Callable[[Arrays, Arrays], Any],
        run_slowly: Callable[[Arrays, Arrays], None],
    ) -> None:
        """`check` raises unless arrays fit these sizes and outputs; `start` makes what `native.run` is called of, or None; `run_slowly` does
        the same through Python."""
        self._names = tuple(names)
        self._outputs = outputs
        self._check = check
        self._start = start
        self._run_slowly = run_slowly
        self._busy = threading.Lock()
        self.bindings: Mapping[str, int] = MappingProxyType(dict(bindings))
        self._take(given)

    def _take(self, given: Arrays) -> None:
        self.inputs: Mapping[str, NDArray[Any]] = MappingProxyType(dict(zip(self._names, given, strict=True)))
        self._native = self._start(given, self._outputs)
        self._run: Callable[[], Arrays | None] | None = None if self._native is None else self._native.run

    @property
    def outputs(self) -> Arrays:
        """The arrays that a call writes to, always the same."""
        return self._outputs

    def bind(self, /, **arrays: NDArray[Any]) -> PreparedCall:
        """Read these arrays from now on, instead of those of the same names. They have the shapes that were prepared."""
        with self._alone():
            self._take(self._check({**self.inputs, **arrays}, self._outputs))
        return self

    def __call__(self) -> Arrays:
        run = self._run
        if run is not None:
            outputs = run()
            if outputs is not None:
                return outputs
        return self._carefully()

    def _carefully(self) -> Arrays:
        """Without native help, or after an array was changed since it was bound: check again, and say what is wrong."""
        with self._alone():
            self._run_slowly(self._check(self.inputs, self._outputs), self._outputs)
        return self._outputs

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """No native run of this call is under way or begins meanwhile."""
        state = None if self._native is None else self._native.state
        if not self._busy.acquire(blocking=False):
            raise CallError(_BUSY)
        try:
            if state is not None and state.running:
                raise CallError(_BUSY)
            if state is not None:
                state.running = 1
            try:
                yield
            finally:
                if state is not None:
                    state.running = 0
        finally:
            self._busy.release()

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name}={size}" for name, size in self.bindings.items())
        return f"<PreparedCall ({', '.join(self._names)}) -> {len(self._outputs)} outputs{' at ' if sizes else ''}{sizes}>"


_BUSY = "this prepared call is running in another thread, and it has one set of outputs; prepare one call for each thread"
