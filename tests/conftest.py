"""What every test run needs: tjcore really installed, kernels cached in a folder of the run's own, and the suite's options."""

import atexit
import os
import shutil
import signal
import sys
import tempfile
from importlib.util import find_spec

import pytest
from hypothesis import settings

# From the repository's root an uninstalled tjcore still "imports": as an empty namespace, made of the folder of that name.
_found = find_spec("tjcore")
if _found is None or _found.origin is None:
    sys.exit(
        f"tjcore is not installed in this Python ({sys.executable}).\n"
        "Run `make test`, which sets up .venv and runs the tests there; or install it here (pip 25.1 or newer):\n"
        "    python -m pip install -e './tjcore[cli]' -e ./tjbackend_gcc -e ./tjbackend_clang --group test"
    )

# A busy machine is no failure: how long an example takes is not what these tests promise.
settings.register_profile("tjcore", deadline=None)
settings.load_profile("tjcore")

# Tests neither use nor fill the user's own cache. Workers of pytest-xdist inherit the variable, so they share their controller's folder.
if "TENSORJIT_CACHE_DIR" not in os.environ:
    os.environ["TENSORJIT_CACHE_DIR"] = _folder = tempfile.mkdtemp(prefix="tjcore-tests-")
    atexit.register(shutil.rmtree, _folder, ignore_errors=True)

# A run started in the background of a script is deaf to Ctrl-C, and so would be the processes whose Ctrl-C is tested.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# --backend=NAME and the fixtures that open a toolchain
pytest_plugins = ["tjcore.conformance.plugin"]

# A distribution of its own, tested as a stranger's would be: installed, through `python -m tjcore.conformance --backend=tcc`.
collect_ignore = ["plugin_tcc", "plugin_sanitize"]


@pytest.hookimpl(tryfirst=True)  # before -m looks at the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test that is run with a toolchain by name needs it installed, like those that are marked so by hand."""
    for item in items:
        given = getattr(item, "callspec", None)
        if given is not None and {"gcc", "clang", "tcc"} & {value for value in given.params.values() if isinstance(value, str)}:
            item.add_marker("toolchain")
