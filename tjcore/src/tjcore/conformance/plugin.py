"""The pytest plugin: `--backend=NAME`, the fixtures that open a toolchain, and the limits a toolchain declares.

In: the command line, the installed toolchains. Out: each test that asks for `backend` runs once per backend. Law: a backend named on the command line
that is not ready stops the run; one that was not named is skipped when absent and fails when broken, always with the reason.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence

import pytest

from tjcore.toolchain import Toolchain

from . import limits, opening
from .compiling import Compile

REFERENCE = "reference"
PACKAGE = __name__.rpartition(".")[0]
UNMATCHED = pytest.StashKey[dict[str, list[str]]]()
CACHE = pytest.StashKey[str]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tensorjit", "tensor compiler")
    group.addoption(
        "--backend",
        action="append",
        default=[],
        dest="tensorjit_backends",
        metavar="NAME",
        help="toolchain to test: NAME or NAME,NAME; may be repeated. One that is not usable stops the run. Default: all that are installed",
    )
    parser.addini("tensorjit_backends", "toolchains to test when --backend is not given; an absent one is skipped", type="args", default=[])


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "toolchain: builds native code through an installed toolchain plugin")
    os.environ.setdefault("TENSORJIT_THREAD_WORK", "0")  # the sizes of tests are small, and are to be shared out all the same
    if "TENSORJIT_CACHE_DIR" not in os.environ and not hasattr(config, "workerinput"):
        os.environ["TENSORJIT_CACHE_DIR"] = config.stash[CACHE] = tempfile.mkdtemp(prefix="tjcore-conformance-")
    if not hasattr(config, "workerinput"):
        for name in named(config):
            found = opening.find_backend(name)
            if found.state != "ready":
                raise pytest.UsageError(f"--backend={name}: {found.state}: {found.reason}")


def pytest_unconfigure(config: pytest.Config) -> None:
    folder = config.stash.get(CACHE, None)
    if folder is not None:
        del os.environ["TENSORJIT_CACHE_DIR"]
        shutil.rmtree(folder, ignore_errors=True)


def named(config: pytest.Config) -> list[str]:
    """The backends of the command line."""
    words = [word.strip() for text in config.getoption("tensorjit_backends") for word in text.split(",")]
    if words and not all(words):
        raise pytest.UsageError("--backend: expected NAME or NAME,NAME, got an empty name")
    return list(dict.fromkeys(words))


def chosen(config: pytest.Config) -> list[str]:
    """The backends of this run: of the command line, else of the settings, else all that plugins offer."""
    return named(config) or list(dict.fromkeys(config.getini("tensorjit_backends"))) or opening.offered()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "backend" not in metafunc.fixturenames:
        return
    own = [mark.args[0] for mark in metafunc.definition.iter_markers("parametrize") if mark.args]
    if any("backend" in (names.split(",") if isinstance(names, str) else names) for names in own):
        return  # the test names its backends itself
    backends = [pytest.param(name, marks=() if name == REFERENCE else pytest.mark.toolchain) for name in chosen(metafunc.config)]
    metafunc.parametrize("backend", backends, indirect=True, scope="session")


@pytest.hookimpl(tryfirst=True)  # before -k and -m take tests away: a pattern that they hide is no pattern that matches nothing
def pytest_collection_modifyitems(config: pytest.Config, items: Sequence[pytest.Item]) -> None:
    names: dict[str, dict[str, tuple[str, str]]] = {}
    for item in items:
        identity = _identity(item)
        if identity is None:
            continue
        backend, suite_class, name = identity
        names.setdefault(backend, {})[name] = (suite_class, getattr(item, "originalname", item.name))
        toolchain = opening.declared(backend)
        if toolchain is None:
            continue
        reason = limits.first_match(toolchain.unsupported, name)
        if reason is not None:
            item.add_marker(pytest.mark.skip(reason=f"unsupported by {backend}: {reason}"))
            continue
        reason = limits.first_match(toolchain.xfail, name)
        if reason is not None:
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
    stale = config.stash.setdefault(UNMATCHED, {})
    for backend, found in names.items():
        toolchain = opening.declared(backend)
        if toolchain is not None and _whole_suite() <= set(found.values()):
            stale[backend] = limits.unmatched([*toolchain.unsupported, *toolchain.xfail], found)


def _identity(item: pytest.Item) -> tuple[str, str, str] | None:
    """Backend, suite class and pattern name of a test of the suite, subclassed or not; None for other tests."""
    call = getattr(item, "callspec", None)
    cls = getattr(item, "cls", None)
    if call is None or cls is None or "backend" not in call.params:
        return None
    base = next((c for c in cls.__mro__ if c.__module__.startswith(PACKAGE + ".")), None)
    if base is None:
        return None
    backend = str(call.params["backend"])
    return backend, base.__name__, limits.test_name(base.__name__, getattr(item, "originalname", item.name), call.id, backend)


def _whole_suite() -> set[tuple[str, str]]:
    """Every test of the suite that runs once per backend, as class and function."""
    from . import suite  # the tests themselves, which only a run of the suite should import

    classes = [getattr(suite, name) for name in suite.__all__]
    return {(c.__name__, f) for c in classes for f in vars(c) if f.startswith("test_") and not getattr(c, "once", False)}


@pytest.fixture(scope="session")
def backend(request: pytest.FixtureRequest) -> str:
    """The name of a toolchain that is ready. Skips where it is absent, fails where it is broken."""
    name = str(request.param)
    opened = opening.open_backend(name)
    if opened.state == "absent":
        pytest.skip(f"{name} is absent: {opened.reason}")
    if opened.state == "broken":
        pytest.fail(f"{name} is broken: {opened.reason}", pytrace=False)
    return name


@pytest.fixture(scope="session")
def toolchain(backend: str) -> Toolchain:
    """The toolchain of that name."""
    found = opening.open_backend(backend).toolchain
    assert found is not None
    return found


@pytest.fixture(scope="session")
def compile(backend: str, toolchain: Toolchain) -> Compile:
    """`compile(outputs, **options)`: a CompiledGraph built by the backend under test; equal requests give the same object."""
    return Compile(backend, free=toolchain.dialect is None)


@pytest.fixture(scope="session")
def peers(backend: str) -> tuple[Compile, ...]:
    """`compile` of every other installed toolchain that is ready; not of the reference evaluator, with which all are compared anyway."""
    others = [name for name in opening.offered() if name not in (backend, REFERENCE)]
    return tuple(Compile(name) for name in others if opening.open_backend(name).state == "ready")


@pytest.fixture
def unmatched_limits(request: pytest.FixtureRequest, backend: str) -> list[str]:
    """The backend's `unsupported` and `xfail` patterns that cover no test, if the whole suite was collected."""
    return request.config.stash.get(UNMATCHED, {}).get(backend, [])


@pytest.fixture
def every_backend(request: pytest.FixtureRequest) -> Iterator[None]:
    """For tests of the installation as a whole: skipped where the command line or the settings name backends."""
    if named(request.config) or request.config.getini("tensorjit_backends"):
        pytest.skip("only some backends are tested")
    yield
