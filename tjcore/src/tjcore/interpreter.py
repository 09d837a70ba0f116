"""Which of a process's Python interpreters this is.

Law: tjcore works in the main one only. NumPy's extension modules and loaded libraries are there once per process, and what they keep belongs
to the interpreter that loaded them.
"""

from __future__ import annotations

from importlib import import_module


def require_main() -> None:
    """ImportError in a subinterpreter, before anything of NumPy is touched."""
    for name in ("_interpreters", "_xxsubinterpreters"):  # the module's name from Python 3.13 on, and before
        try:
            module = import_module(name)
        except ImportError:
            continue
        if module.get_current() != module.get_main():
            raise ImportError(
                "tjcore cannot be imported in a subinterpreter, for NumPy's and its own native code keep state for the whole process; "
                "use threads (calls run without the interpreter's lock) or processes (compiled graphs pickle)"
            )
        return
