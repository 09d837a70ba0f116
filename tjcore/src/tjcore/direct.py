"""Calls without Python in between: the structures that native/call.c works on, filled in.

In: an entry, what the plan says of its arrays, and per set of sizes a `Record`. Out: `Direct`, whose `call` takes keyword arguments and
returns the tuple of outputs, or None where anything differs from what was declared and remembered: then the guards say what.

The interpreter's functions come from its stable ABI. Where an array object keeps its fields is NumPy's binary interface; it is not
taken on trust but tried out on arrays of several kinds, and where anything is otherwise (another interpreter, one without a global
lock) there is no `Direct`, and calls go through Python.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .native_call import NativeEntry
from .pools import LARGE, OUTPUTS, WORKSPACES
from .toolchain import FFI, Library

ARRAYS, BUFFERS, DIMS, EXTENTS, RECORDS, PROBES = 64, 192, 16, 192, 1024, 4
"""As in call.h."""

_DECLARATIONS = """
    typedef struct tj_python {
      void *functions[12];
      void *none, *array_type, *tuple_type, *out_name;
      int64_t type_at, data_at, rank_at, extents_at, descr_at, flags_at;
    } tj_python;
    typedef struct tj_record {
      int64_t *extents, *dims, *offsets;
      int64_t workspace, threads;
      void *owner;
      void **shapes, **makers;
    } tj_record;
    typedef struct tj_callee {
      void (*entry)(const tj_team *, void *const *, const int64_t *);
      int64_t inputs, outputs, temporaries, dims, input_extents;
      void **names, **dtypes;
      int64_t *ranks, *itemsizes;
      void *workspace_maker, *workspace_taker;
      int64_t takes_out, calls;
      int64_t last[16];
      const tj_record *records[1024];
    } tj_callee;
    typedef struct tj_prepared {
      tj_callee *callee;
      void **arrays;
      int64_t *extents, *dims;
      void **places;
      void *result;
      int64_t threads, running;
    } tj_prepared;
"""
"""As in call.h. Its functions stand with those of the other libraries, in toolchain.py."""

_FUNCTIONS = (
    *("PyEval_SaveThread", "PyEval_RestoreThread", "PyCapsule_GetPointer", "PyObject_Vectorcall", "PyTuple_New", "PyTuple_SetItem"),
    *("PyTuple_GetItem", "PyTuple_Size", "PyLong_FromLongLong", "Py_IncRef", "Py_DecRef", "PyErr_Clear"),
)
"""In the order of struct tj_python."""
OUT = sys.intern("out")
_CALLEE, _PREPARED = b"tjcore.callee", b"tjcore.prepared"  # capsules keep the addresses of these


_VOID = FFI.typeof("void *")
_VOIDS, _INTS = FFI.typeof("void *[]"), FFI.typeof("int64_t[]")


def _pointer(value: object) -> Any:
    return FFI.cast(_VOID, id(value))


@cache
def _declare() -> None:
    """Tell cffi of the structures: once, and not when tjcore is imported, for reading them takes it a while."""
    FFI.cdef(_DECLARATIONS)


@cache
def _array_fields() -> dict[str, int] | None:
    """Where an array object keeps its fields, as offsets in bytes; None where that is not as NumPy's header declares it."""
    if sys.implementation.name != "cpython" or not getattr(sys, "_is_gil_enabled", lambda: True)():
        return None
    word = ctypes.sizeof(ctypes.c_void_p)
    head = object.__basicsize__
    fields = {"type": head - word, "data": head, "rank": head + word, "extents": head + 2 * word, "descr": head + 5 * word}
    fields["flags"] = head + 6 * word
    if np.ndarray.__basicsize__ < fields["flags"] + word or np.dtype(np.intp).itemsize != 8:
        return None
    frozen = np.zeros(4, np.int32)
    frozen.flags.writeable = False
    crooked = np.zeros(17, np.uint8)[1:].view(np.float64)
    samples: list[NDArray[Any]] = [np.empty(3, np.float32), np.empty((2, 5), np.float64)[:, 1:], np.zeros((), np.uint8), frozen, crooked]
    samples += [np.zeros((2, 3, 4, 5), np.int64).transpose(3, 1, 0, 2), np.zeros((7, 0), np.bool_)]

    def word_at(array: NDArray[Any], field: str) -> int:
        return ctypes.c_void_p.from_address(id(array) + fields[field]).value or 0

    for a in samples:
        number = ctypes.c_int.from_address(id(a) + fields["rank"]).value, ctypes.c_int.from_address(id(a) + fields["flags"]).value
        expected = id(type(a)), a.__array_interface__["data"][0], id(a.dtype)
        if tuple(word_at(a, f) for f in ("type", "data", "descr")) != expected or number != (a.ndim, a.flags.num):
            return None
        # Only now that all around it is as declared is the address of the extents followed.
        if tuple(ctypes.c_int64.from_address(word_at(a, "extents") + 8 * axis).value for axis in range(a.ndim)) != a.shape:
            return None
    return fields


_interpreters: list[Any] = []


def _interpreter() -> Any:
    fields = _array_fields()
    if fields is None:
        return None
    if not _interpreters:
        _declare()
        try:
            addresses = [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value for name in _FUNCTIONS]
        except AttributeError:
            return None
        functions = [FFI.cast("void *", address) for address in addresses]
        objects = [_pointer(o) for o in (None, np.ndarray, tuple, OUT)]
        order = ("type", "data", "rank", "extents", "descr", "flags")
        _interpreters.append(FFI.new("tj_python *", (functions, *objects, *(fields[name] for name in order))))
    return _interpreters[0]


_known: dict[int, tuple[Library, tuple[int, int]]] = {}


def _methods(support: Library) -> tuple[int, int] | None:
    """The method definitions of a support library's two functions; None where the direct way cannot be gone."""
    if id(support) in _known:
        return _known[id(support)][1]
    interpreter = _interpreter()
    if interpreter is None:
        return None
    call, prepared = FFI.new("void **"), FFI.new("void **")
    support.function("tj_call_setup")(interpreter, call, prepared)
    methods = int(FFI.cast("intptr_t", call[0])), int(FFI.cast("intptr_t", prepared[0]))
    _known[id(support)] = support, methods  # support libraries stay loaded anyway
    return methods


def _bind(method: int, state: Any, name: bytes) -> Callable[..., Any]:
    """The method as a Python function whose self is a capsule with the state, which the caller keeps alive."""
    capsule = ctypes.pythonapi.PyCapsule_New
    capsule.restype, capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    function = ctypes.pythonapi.PyCFunction_NewEx
    function.restype, function.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    bound: Callable[..., Any] = function(method, capsule(int(FFI.cast("intptr_t", state)), name, None), None)
    return bound


def maker(nbytes: int) -> Callable[..., NDArray[Any]]:
    """What makes an output of so many bytes, from its shape and dtype."""
    return OUTPUTS.empty if nbytes >= LARGE else np.empty


class Direct:
    """The fast way into one compiled graph. `call` is the function; `learn` makes it know a set of sizes."""

    def __init__(
        self,
        entry: NativeEntry,
        inputs: Sequence[tuple[str, np.dtype[Any], int]],
        outputs: Sequence[tuple[np.dtype[Any], int]],
        temporaries: int,
        dims: int,
    ) -> None:
        support = entry.support
        methods = None if support is None else _methods(support)
        assert support is not None and methods is not None
        self._methods = methods
        self._slot = support.function("tj_call_slot")
        dtypes = [dtype for _, dtype, _ in inputs] + [dtype for dtype, _ in outputs]
        ranks = [rank for _, _, rank in inputs] + [rank for _, rank in outputs]
        names = [sys.intern(name) for name, _, _ in inputs]
        makers = WORKSPACES.take, WORKSPACES.give
        self._objects = (names, dtypes, makers)
        self.extents = sum(ranks[: len(inputs)])
        self._arrays = [
            FFI.new(_VOIDS, [_pointer(o) for o in names] or 1),
            FFI.new(_VOIDS, [_pointer(o) for o in dtypes] or 1),
            FFI.new(_INTS, ranks or 1),
            FFI.new(_INTS, [dtype.itemsize for dtype in dtypes] or 1),
        ]
        counts = len(inputs), len(outputs), temporaries, dims, self.extents
        takes_out = OUT not in names
        self.state = FFI.new(
            "tj_callee *",
            (entry.function, *counts, *self._arrays, *map(_pointer, makers), int(takes_out), 0, [0] * DIMS, [FFI.NULL] * RECORDS),
        )
        self._records: dict[int, Any] = {}
        self._turn = 0
        self.call = _bind(methods[0], self.state, _CALLEE)

    @staticmethod
    def possible(entry: NativeEntry, arrays: int, temporaries: int, dims: int, extents: int) -> bool:
        """Whether a graph of these counts can be called directly on this interpreter."""
        small = arrays <= ARRAYS and arrays + temporaries <= BUFFERS and dims <= DIMS and extents <= EXTENTS
        return small and entry.support is not None and _methods(entry.support) is not None

    def learn(self, extents: Sequence[int], record: Record) -> None:
        """Calls whose inputs have these extents, all together in plan order, are as `record` says. The caller holds a lock."""
        state = self.state
        first = self._slot(FFI.new(_INTS, list(extents) or 1), len(extents))
        places = [(first + probe) % RECORDS for probe in range(PROBES)]
        free = [place for place in places if place not in self._records]
        self._turn += 1
        place = free[0] if free else places[self._turn % PROBES]
        state.records[place] = record.c
        self._records[place] = record  # only now may the one that was there before go

    def forget(self) -> None:
        """No sizes are known any more."""
        for place in list(self._records):
            self.state.records[place] = FFI.NULL
        self._records = {}

    def prepare(
        self,
        arrays: Sequence[NDArray[Any]],
        outputs: tuple[NDArray[Any], ...],
        record: Record,
        workspace: NDArray[np.uint8],
        places: Sequence[int],
    ) -> Prepared:
        """A call on these arrays (inputs, then outputs), with the temporaries at these addresses in the workspace."""
        return Prepared(self, self._methods[1], arrays, outputs, record, workspace, places)


class Record:
    """One set of sizes as C sees it."""

    def __init__(
        self,
        extents: Sequence[int],
        dims: Sequence[int],
        offsets: Sequence[int],
        workspace: int,
        threads: int,
        shapes: Sequence[tuple[int, ...]],
        makers: Sequence[Callable[..., NDArray[Any]]],
    ) -> None:
        self._objects = [*shapes, *makers]
        self._arrays = [FFI.new(_INTS, list(numbers) or 1) for numbers in (extents, dims, offsets)]
        self._made = [FFI.new(_VOIDS, [_pointer(o) for o in objects] or 1) for objects in (self._objects[: len(shapes)], makers)]
        self.c = FFI.new("tj_record *", (*self._arrays, workspace, threads, _pointer(self), *self._made))
        self.extents, self.dims, self.threads = self._arrays[0], self._arrays[1], threads


class Prepared:
    """The state of a prepared call: `run` is the function. It returns the outputs, or None where an array is no longer as it was bound."""

    def __init__(
        self,
        direct: Direct,
        method: int,
        arrays: Sequence[NDArray[Any]],
        outputs: tuple[NDArray[Any], ...],
        record: Record,
        workspace: NDArray[np.uint8],
        places: Sequence[int],
    ) -> None:
        self._keep = (direct, list(arrays), outputs, record, workspace)
        self._arrays = [
            FFI.new(_VOIDS, [_pointer(a) for a in arrays] or 1),
            FFI.new(_VOIDS, [FFI.cast(_VOID, place) for place in places] or 1),
        ]
        self.state = FFI.new(
            "tj_prepared *",
            (direct.state, self._arrays[0], record.extents, record.dims, self._arrays[1], _pointer(outputs), record.threads, 0),
        )
        self.run = _bind(method, self.state, _PREPARED)
