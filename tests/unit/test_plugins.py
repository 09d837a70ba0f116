"""The plugin manager with plugin objects: who is registered, who is broken and why, and who is chosen."""

import threading
import types
import warnings
from dataclasses import dataclass

import pytest

from tjcore import plugins
from tjcore.errors import PluginError, ToolchainError, ToolchainUnavailable
from tjcore.hookspecs import hookimpl
from tjcore.options import settings
from tjcore.plugins import Manager
from tjcore.toolchain import C11, SourceUnit, Toolchain

UNIT = SourceUnit("unit", "int x;")


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    monkeypatch.delenv("TENSORJIT_BACKEND", raising=False)
    monkeypatch.setattr(plugins, "_warned", set())


@dataclass(frozen=True, kw_only=True)
class Fake(Toolchain):
    """A toolchain whose probe does what it is told."""

    dialect: object = C11
    answer: object = "fake 1"

    def probe(self):
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


def offering(*toolchains):
    class Plugin:
        @hookimpl
        def tensorjit_toolchains(self):
            return toolchains

    return Plugin()


def manager(**plugs):
    made = Manager(discover=False)
    for name, plugin in plugs.items():
        made.add(plugin, f"{name} (dist-{name} 1)")
    return made


def absent(name):
    return Fake(name=name, answer=ToolchainUnavailable(f"{name}: found no {name} on the PATH; install it, or set TENSORJIT_{name.upper()}"))


# ---------------------------------------------------------------- registering
def test_the_core_is_its_own_plugin():
    rows = manager().status()
    assert [(row.toolchain, row.plugin, row.health) for row in rows] == [("reference", "tjcore", "ready")]
    assert rows[0].hooks == ("compile", "load", "render", "toolchains")


def plugin_with(name, function):
    made = types.ModuleType("plugin")
    setattr(made, name, function)
    return made


@hookimpl
def misspelt(toolchain):
    return ["-g"]


@hookimpl
def asks_too_much(unit, weather):
    return ["-g"]


@hookimpl
def gives(what):
    return what


def answers(what):
    @hookimpl
    def tensorjit_toolchains():
        return what() if callable(what) else what

    return plugin_with("tensorjit_toolchains", tensorjit_toolchains)


def boom():
    raise RuntimeError("boom")


def leave():
    raise SystemExit("leaving")


def half():
    yield Fake(name="half")
    boom()


@pytest.mark.parametrize(
    ("plugin", "reason"),
    [
        (plugin_with("tensorjit_flagz", misspelt), "unknown hook 'tensorjit_flagz'"),
        (plugin_with("tensorjit_flags", asks_too_much), "weather"),
        (plugin_with("tensorjit_flags", lambda unit: []), "tensorjit_flags is not marked as a hook: put @hookimpl"),
        (types.ModuleType("plugin"), "has no hooks: does the entry point name the module, or object, that has them?"),
        (types.SimpleNamespace(tensorjit_flags=gives), "TypeError: unhashable type"),
        (answers(None), "tensorjit_toolchains must yield Toolchain values (or return a list of them), got None"),
        (answers(Fake(name="x")), "or return a list of them), got Fake"),
        (answers([1]), "must yield Toolchain values, got 1"),
        (answers([Fake(name=" x")]), "one word of letters, digits and _.+-, got ' x'"),
        (answers([Fake(name="")]), "got ''"),
        (answers([Fake(name="a,b")]), "got 'a,b'"),
        (answers([Fake(name="x"), Fake(name="x")]), "offers two toolchains named 'x'"),
        (answers([Fake(name="reference")]), "toolchain 'reference' is tjcore's own"),
        (answers(boom), "RuntimeError: boom"),
        (answers(half), "RuntimeError: boom"),
        (answers(leave), "SystemExit: leaving"),
    ],
)
def test_a_plugin_that_cannot_be_used_is_remembered_and_the_others_work_on(plugin, reason):
    made = manager(before=offering(Fake(name="before")), bad=plugin, after=offering(Fake(name="after")))
    assert list(made.broken) == ["bad (dist-bad 1)"]
    assert list(made.toolchains) == ["after", "before", "reference"], "nothing of a broken plugin is offered"
    assert made.select("after").version == "fake 1"
    (row,) = [row for row in made.status() if row.health == "broken"]
    assert row.plugin == "bad (dist-bad 1)" and reason in row.detail
    with pytest.raises(ToolchainError) as caught:
        made.select("bad")
    assert "broken: plugin bad (dist-bad 1): " in str(caught.value) and reason in str(caught.value)


def test_a_wrapper_of_the_collecting_hook_is_refused():
    @hookimpl(wrapper=True)
    def tensorjit_toolchains():
        return (yield)

    made = manager(bad=plugin_with("tensorjit_toolchains", tensorjit_toolchains), good=offering(Fake(name="good")))
    assert "cannot be a wrapper" in str(made.broken["bad (dist-bad 1)"])
    assert "good" in made.toolchains


def test_a_hook_may_have_another_name():
    @hookimpl(specname="tensorjit_toolchains")
    def offer():
        yield Fake(name="x")

    assert "x" in manager(plugin=plugin_with("offer", offer)).toolchains


def test_ctrl_c_is_no_fault_of_a_plugin():
    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        manager(bad=answers(interrupt))


def test_one_object_under_two_names_offers_once():
    plugin = offering(Fake(name="x"))
    made = manager(one=plugin, two=plugin)
    assert "x" in made.toolchains and not made.broken


def test_two_plugins_of_one_title():
    made = Manager(discover=False)
    for name in ("a", "b"):
        made.add(offering(Fake(name=name)), "same (dist 1)")
    assert {row.toolchain: row.plugin for row in made.status()} == {
        "a": "same (dist 1)",
        "b": "same (dist 1), again",
        "reference": "tjcore",
    }


# ---------------------------------------------------------------- choosing
def test_order_of_the_default():
    made = manager(z=offering(Fake(name="zig")), c=offering(Fake(name="clang")), a=offering(Fake(name="a")), g=offering(Fake(name="gcc")))
    assert list(made.toolchains) == ["gcc", "clang", "a", "zig", "reference"]
    assert made.select().toolchain.name == "gcc"
    made = manager(c=offering(Fake(name="clang")), a=offering(Fake(name="a")), g=offering(absent("gcc")))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert made.select().toolchain.name == "clang", "what is not installed is passed over without a word"


def test_order_of_the_sources(monkeypatch):
    made = manager(**{name: offering(Fake(name=name)) for name in ("a", "b", "c", "d")})
    assert made.select().toolchain.name == "a"
    monkeypatch.setenv("TENSORJIT_BACKEND", " b ")
    assert made.select().toolchain.name == "b"
    with settings(backend="c"):
        assert made.select().toolchain.name == "c"
        assert made.select(" d ").toolchain.name == "d"
    assert made.select("").toolchain.name == "b"


def test_what_fails_is_passed_over_with_one_warning():
    made = manager(g=offering(Fake(name="gcc", answer=ToolchainError("gcc: hangs"))), c=offering(Fake(name="clang")))
    with pytest.warns(RuntimeWarning, match="toolchain 'clang' is used, because those before it do not work\n  gcc: hangs") as caught:
        assert made.select().toolchain.name == "clang"
    assert caught[0].filename == __file__, "the warning points at the caller, not into tjcore"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert made.select().toolchain.name == "clang"


def test_without_a_compiler_the_reference_serves_with_one_warning():
    made = manager(g=offering(absent("gcc")), bad=answers(boom))
    with pytest.warns(RuntimeWarning) as caught:
        assert made.select().toolchain.name == "reference"
    text = str(caught[0].message)
    expected = (
        "no compiler plugin is usable",
        "slow reference evaluator",
        "set TENSORJIT_GCC",
        "bad (dist-bad 1)",
        "boom",
        "TENSORJIT_BACKEND=reference",
    )
    for part in expected:
        assert part in text
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert made.select().toolchain.name == "reference"
        assert manager().select("reference").toolchain.name == "reference", "who names it needs no warning"
    with pytest.warns(RuntimeWarning, match="pip install tjbackend-gcc"):
        manager().select()


def test_a_clash_is_an_error_where_it_matters():
    made = manager(a=offering(Fake(name="gcc")), b=offering(Fake(name="gcc")), c=offering(Fake(name="clang")))
    for name in ("gcc", None):
        with pytest.raises(ToolchainError, match=r"'gcc' is offered by a \(dist-a 1\) and by b \(dist-b 1\); uninstall all but one"):
            made.select(name)
    assert made.select("clang").toolchain.name == "clang", "another toolchain is not concerned"
    assert "gcc" not in made.toolchains
    (row,) = [row for row in made.status() if row.toolchain == "gcc"]
    assert (row.plugin, row.health) == ("a (dist-a 1) and b (dist-b 1)", "broken")
    made = manager(a=offering(Fake(name="x")), b=offering(Fake(name="x")), c=offering(Fake(name="x")), g=offering(Fake(name="gcc")))
    assert made.select().toolchain.name == "gcc", "a clash behind the first that works concerns nobody"
    with pytest.raises(ToolchainError, match=r"a \(dist-a 1\) and by b \(dist-b 1\) and by c \(dist-c 1\)"):
        made.select("x")


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (RuntimeError("boom"), PluginError, r"plugin a \(dist-a 1\): probe\(\) of toolchain 'x' failed: RuntimeError: boom"),
        (OSError(28, "No space"), PluginError, r"plugin a \(dist-a 1\): probe\(\) of toolchain 'x' failed: OSError"),
        (SystemExit(1), PluginError, "SystemExit"),
        (None, PluginError, "must give its version line, got None"),
        (" ", PluginError, "must give its version line, got ' '"),
        (
            ToolchainUnavailable("x: nowhere"),
            ToolchainUnavailable,
            r"'x' \(from argument\) of plugin a \(dist-a 1\) is not usable\n  x: nowhere",
        ),
        (ToolchainError("x: hangs"), ToolchainError, r"'x' \(from argument\) of plugin a \(dist-a 1\) is not usable\n  x: hangs"),
    ],
)
def test_a_probe_that_fails(answer, kind, words):
    made = manager(a=offering(Fake(name="x", answer=answer)))
    with pytest.raises(kind, match=words) as caught:
        made.select("x")
    assert type(caught.value) is kind
    if isinstance(answer, BaseException):
        assert caught.value.__cause__ is answer
    health = "absent" if kind is ToolchainUnavailable else "broken"
    assert next(row.health for row in made.status() if row.toolchain == "x") == health
    with pytest.warns(RuntimeWarning):
        assert made.select().toolchain.name == "reference"


def test_ctrl_c_passes_through_a_probe():
    with pytest.raises(KeyboardInterrupt):
        manager(a=offering(Fake(name="x", answer=KeyboardInterrupt()))).select("x")


# ---------------------------------------------------------------- the process's manager
def test_one_manager_for_all_threads(monkeypatch):
    made = []

    class Slow(Manager):
        def __init__(self):
            made.append(self)
            threading.Event().wait(0.05)
            super().__init__(discover=False)

    monkeypatch.setattr(plugins, "Manager", Slow)
    monkeypatch.setattr(plugins, "_current", None)
    seen = []
    threads = [threading.Thread(target=lambda: seen.append(plugins.manager())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1 and seen == made * 4


def test_asking_while_plugins_load_is_refused(monkeypatch):
    class Greedy(Manager):
        def __init__(self):
            plugins.manager()

    monkeypatch.setattr(plugins, "Manager", Greedy)
    monkeypatch.setattr(plugins, "_current", None)
    with pytest.raises(PluginError, match="asked for while plugins are being loaded"):
        plugins.manager()
