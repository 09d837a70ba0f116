"""Settings: which source wins, what is read from text, what is refused, and how far a setting in code reaches."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tjcore.errors import GraphError
from tjcore.options import Options, configure, describe, names, setting, settings


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    for name in names():
        monkeypatch.delenv(f"TENSORJIT_{name.upper()}", raising=False)
    yield
    configure(**dict.fromkeys(names()))


def test_every_setting_has_a_default_a_variable_and_a_description():
    for name in names():
        found = setting(name)
        assert (found.name, found.source) == (name, "default")
        assert describe(name)


def test_order_of_sources(monkeypatch):
    assert setting("backend").source == "default"
    monkeypatch.setenv("TENSORJIT_BACKEND", "from-environment")
    assert (setting("backend").value, setting("backend").source) == ("from-environment", "environment TENSORJIT_BACKEND")
    configure(backend="from-process")
    assert (setting("backend").value, setting("backend").source) == ("from-process", "code")
    with settings(backend="from-block"):
        assert (setting("backend").value, setting("backend").source) == ("from-block", "code")
        assert (setting("backend", "mine").value, setting("backend", "mine").source) == ("mine", "argument")
        with settings(threads=3):
            assert setting("backend").value == "from-block"
    assert setting("backend").value == "from-process"
    configure(backend=None)
    assert setting("backend").value == "from-environment"


@pytest.mark.parametrize("empty", ["", " ", "\t\n"])
def test_empty_means_default(monkeypatch, empty):
    monkeypatch.setenv("TENSORJIT_BACKEND", empty)
    monkeypatch.setenv("TENSORJIT_THREADS", empty)
    assert setting("backend").source == setting("threads").source == "default"
    assert setting("backend", empty).source == "default"


def test_white_space_around_a_value_does_not_count(monkeypatch):
    monkeypatch.setenv("TENSORJIT_BACKEND", "  gcc\n")
    monkeypatch.setenv("TENSORJIT_THREADS", " 2 ")
    assert setting("backend").value == "gcc"
    assert setting("threads").value == 2
    assert setting("backend", " clang ").value == "clang"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1024", 1024),
        ("64 MiB", 64 * 2**20),
        ("64mib", 64 * 2**20),
        ("1.5 GiB", 3 * 2**29),
        ("2 GB", 2 * 10**9),
        ("0", 0),
        ("9007199254740993", 2**53 + 1),  # which no float is
    ],
)
def test_bytes(monkeypatch, text, value):
    monkeypatch.setenv("TENSORJIT_MAX_BYTES", text)
    assert setting("max_bytes").value == value


@pytest.mark.parametrize(("text", "value"), [("0", False), ("off", False), ("No", False), ("1", True), ("ON", True), ("true", True)])
def test_switch(monkeypatch, text, value):
    monkeypatch.setenv("TENSORJIT_CACHE", text)
    assert setting("cache").value is value


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("threads", "many", "1..1024"),
        ("threads", "0", "1..1024"),
        ("threads", "2.0", "1..1024"),
        ("max_bytes", "64 MeB", "'256 MiB'"),
        ("max_bytes", "-1", "'256 MiB'"),
        ("cache", "maybe", "on or off"),
        ("plan_effort", "much", "search steps"),
        ("compile_timeout", "0", "above 0"),
        ("compile_timeout", "nan", "above 0"),
    ],
)
def test_a_bad_variable_is_named_with_its_value_and_what_is_allowed(monkeypatch, name, value, allowed):
    variable = f"TENSORJIT_{name.upper()}"
    monkeypatch.setenv(variable, value)
    with pytest.raises(GraphError) as caught:
        setting(name)
    for part in (variable, repr(value), allowed):
        assert part in str(caught.value)
    assert setting(name, {"cache": True}.get(name, 1)).value == 1, "an argument wins over a variable, even one that cannot be read"


@pytest.mark.parametrize(("name", "value"), [("threads", True), ("threads", 2.0), ("threads", "x"), ("cache", 2), ("cache_dir", 5)])
def test_a_bad_value_in_code_is_refused_at_once(name, value):
    for put in (configure, lambda **v: settings(**v).__enter__()):
        with pytest.raises(GraphError, match=name):
            put(**{name: value})
    assert setting(name).source == "default"


def test_an_unknown_setting_is_told_what_there_is():
    with pytest.raises(GraphError, match="no setting 'colour'; there are backend, threads"):
        configure(colour="red")
    with pytest.raises(GraphError, match="no setting 'colour'; there are backend, threads"):
        setting("colour")
    with pytest.raises(GraphError, match="no setting 'colour'"), settings(colour="red"):
        pass


def test_a_path_may_be_a_path():
    with settings(cache_dir=Path("/some/where")):
        assert setting("cache_dir").value == "/some/where"


def test_blocks_of_two_threads_do_not_mix():
    entered, left = threading.Barrier(2, timeout=10), threading.Barrier(2, timeout=10)
    seen = {}

    def work(name, first_out):
        with settings(backend=name):
            entered.wait()
            seen[name] = setting("backend").value
            if not first_out:
                left.wait()
        if first_out:
            left.wait()
        seen[name, "after"] = setting("backend").source

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(work, "one", True), pool.submit(work, "two", False)]:
            done.result()
    assert seen == {"one": "one", "two": "two", ("one", "after"): "default", ("two", "after"): "default"}


def test_configure_reaches_other_threads():
    configure(threads=5)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: setting("threads").value).result() == 5


def test_a_block_ends_with_an_error_too():
    with pytest.raises(ZeroDivisionError), settings(threads=7):
        raise ZeroDivisionError
    assert setting("threads").source == "default"


def test_options_take_what_arguments_leave_open(monkeypatch):
    monkeypatch.setenv("TENSORJIT_BACKEND", "clang")
    monkeypatch.setenv("TENSORJIT_MAX_BYTES", "1 KiB")
    options = Options.resolve(threads=2)
    assert (options.backend, options.backend_source) == ("clang", "environment TENSORJIT_BACKEND")
    assert (options.threads, options.max_bytes, options.target) == (2, 1024, "native")
    assert Options.resolve(backend="tcc").backend_source == "argument"


def test_sharing_of_memory_and_the_effort_for_it_are_settings_too(monkeypatch):
    assert Options.resolve().reuse and Options.resolve(plan_effort=0).plan_effort == 0
    monkeypatch.setenv("TENSORJIT_REUSE", "0")
    monkeypatch.setenv("TENSORJIT_PLAN_EFFORT", "1000000")
    assert (Options.resolve().reuse, Options.resolve().plan_effort) == (False, 1_000_000)
    assert Options.resolve(reuse=True).reuse
    for wrong in ({"reuse": "yes"}, {"reuse": 1}, {"plan_effort": -1}, {"plan_effort": 2.5}, {"plan_effort": True}):
        with pytest.raises(GraphError, match=next(iter(wrong))):
            Options.resolve(**wrong)
