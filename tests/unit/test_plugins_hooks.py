"""The hooks of a chosen toolchain: whose are called and in which order, and who is blamed when one fails."""

import types
from dataclasses import dataclass
from pathlib import Path

import pytest

import tjcore
from tjcore.errors import LoadError, PluginError
from tjcore.hookspecs import hookimpl
from tjcore.plugins import Manager
from tjcore.toolchain import C11, Artifact, SourceUnit, Toolchain

UNIT = SourceUnit("unit", "int x;")


@dataclass(frozen=True, kw_only=True)
class Fake(Toolchain):
    dialect: object = C11

    def probe(self):
        return "fake 1"


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


# ---------------------------------------------------------------- whose hooks are called
class Recorder:
    """A plugin with every hook, which notes for what it is called and leaves the work to the next."""

    def __init__(self, *toolchains):
        self.toolchains, self.seen = toolchains, []

    @hookimpl
    def tensorjit_toolchains(self):
        return self.toolchains

    @hookimpl
    def tensorjit_render(self, toolchain):
        self.seen.append(("render", toolchain.name))

    @hookimpl
    def tensorjit_compile(self, unit, toolchain, flags, out_dir):
        self.seen.append(("compile", toolchain.name))
        return Artifact(Path(__file__), unit)

    @hookimpl
    def tensorjit_load(self, toolchain):
        self.seen.append(("load", toolchain.name))
        return types.SimpleNamespace(function=lambda name: None)

    @hookimpl
    def tensorjit_flags(self, toolchain):
        self.seen.append(("flags", toolchain.name))
        return ["-D" + toolchain.name]


def use(chosen, tmp_path):
    x = tjcore.input("x", (tjcore.Dim("N", 1, 8),))
    chosen.render(tjcore.compile_plan([x + x]).program)
    flags = chosen.flags(UNIT)
    chosen.load(chosen.compile(UNIT, flags, tmp_path))
    return flags


def test_hooks_of_other_providers_are_left_out(tmp_path):
    one, two, clashing, free = Recorder(Fake(name="one")), Recorder(Fake(name="two")), Recorder(Fake(name="c")), Recorder()
    made = manager(one=one, two=two, clashing=clashing, more=offering(Fake(name="c")), free=free)
    assert use(made.select("two"), tmp_path) == ("-Dtwo", "-Dtwo"), "its own and the free plugin's"
    everything = [("render", "two"), ("flags", "two"), ("compile", "two"), ("load", "two")]
    assert one.seen == clashing.seen == []
    assert [seen for seen in two.seen if seen[0] in ("render", "flags")] == [everything[0], everything[1]]
    assert free.seen == everything, "registered last, it is asked first"


def test_a_provider_serves_all_that_it_offers(tmp_path):
    both = Recorder(Fake(name="a"), Fake(name="b"))
    made = manager(both=both)
    use(made.select("a"), tmp_path)
    use(made.select("b"), tmp_path)
    assert {name for _, name in both.seen} == {"a", "b"}


def holding(hook):
    made = types.ModuleType("plugin")
    made.tensorjit_flags = hook
    return made


def test_flags_come_in_the_order_of_registration(tmp_path):
    def adding(*flags):
        @hookimpl
        def tensorjit_flags():
            return flags

        return holding(tensorjit_flags)

    made = manager(x=offering(Fake(name="x")), one=adding("-a", "-b"), none=adding(), two=adding("-c"))
    assert made.select("x").flags(UNIT) == ("-a", "-b", "-c")


def test_a_free_plugin_can_wrap(tmp_path):
    seen = []

    class Dumper:
        @hookimpl(wrapper=True)
        def tensorjit_render(self, toolchain):
            unit = yield
            seen.append((toolchain.name, unit.text))
            return SourceUnit(unit.name, "/* seen */ " + unit.text)

    made = manager(x=offering(Fake(name="x")), dump=Dumper())
    x = tjcore.input("x", (tjcore.Dim("N", 1, 8),))
    unit = made.select("x").render(tjcore.compile_plan([x + x]).program)
    assert seen == [("x", unit.text.removeprefix("/* seen */ "))]


# ---------------------------------------------------------------- who is blamed
def failing(hook, what, *toolchains):
    class Failing:
        if toolchains:

            @hookimpl
            def tensorjit_toolchains(self):
                return toolchains

    def implementation(self):
        if isinstance(what, BaseException):
            raise what
        return what

    setattr(Failing, hook, hookimpl(implementation))
    implementation.__qualname__ = f"Failing.{hook}"  # by which pluggy knows a method
    return Failing()


HOOKS = {
    "tensorjit_render": lambda chosen, folder: chosen.render(tjcore.compile_plan([tjcore.input("x", (2,))]).program),
    "tensorjit_compile": lambda chosen, folder: chosen.compile(UNIT, (), folder),
    "tensorjit_load": lambda chosen, folder: chosen.load(Artifact(folder, UNIT)),
    "tensorjit_flags": lambda chosen, folder: chosen.flags(UNIT),
}


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("error", [RuntimeError("boom"), OSError(28, "boom"), SystemExit("boom")], ids=lambda e: type(e).__name__)
def test_an_error_of_a_hook_names_its_plugin(hook, error, tmp_path):
    for guilty, made in {
        "x": manager(x=failing(hook, error, Fake(name="x")), free=offering()),
        "free": manager(x=offering(Fake(name="x")), free=failing(hook, error), other=failing("tensorjit_flags", ["-g"])),
    }.items():
        with pytest.raises(PluginError if not (hook.endswith("load") and type(error) is OSError) else LoadError) as caught:
            HOOKS[hook](made.select("x"), tmp_path)
        text = str(caught.value)
        assert (
            text.startswith(f"plugin {guilty} (dist-{guilty} 1) failed in {hook} for toolchain 'x': {type(error).__name__}: ")
            and "boom" in text
        )
        assert caught.value.__cause__ is error


@pytest.mark.parametrize("hook", HOOKS)
def test_ctrl_c_passes_through_a_hook(hook, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        HOOKS[hook](manager(x=failing(hook, KeyboardInterrupt(), Fake(name="x"))).select("x"), tmp_path)


@pytest.mark.parametrize(
    ("hook", "what", "wanted"),
    [
        ("tensorjit_render", "int x;", "must give a SourceUnit, got 'int x;'"),
        ("tensorjit_compile", Path("/tmp"), "must give an Artifact whose path is a file, got "),
        ("tensorjit_compile", Artifact(Path("/no/such/file"), UNIT), "got Artifact(path=PosixPath('/no/such/file')"),
        ("tensorjit_load", 7, "must give a library with a method function(name), got 7"),
        ("tensorjit_flags", "-g", "must give a list of texts, got ['-g']"),
        ("tensorjit_flags", [1], "must give a list of texts, got [[1]]"),
    ],
)
def test_nonsense_from_a_hook_names_its_plugin(hook, what, wanted, tmp_path):
    made = manager(x=failing(hook, what, Fake(name="x")), other=offering(Fake(name="other")))
    with pytest.raises(PluginError) as caught:
        HOOKS[hook](made.select("x"), tmp_path)
    assert str(caught.value).startswith(f"plugin x (dist-x 1): {hook} for toolchain 'x' ") and wanted in str(caught.value)
    made = manager(x=offering(Fake(name="x")), a=failing(hook, what), b=failing(hook, what))
    with pytest.raises(PluginError, match=r"one of the plugins a \(dist-a 1\), b \(dist-b 1\): "):
        HOOKS[hook](made.select("x"), tmp_path)


def test_nobody_builds(tmp_path):
    """A toolchain without a command line whose compile hook leaves the work to others."""
    made = manager(x=failing("tensorjit_compile", None, Fake(name="x")))
    with pytest.raises(
        PluginError, match=r"plugin x \(dist-x 1\) failed .* toolchain 'x' defines no command\(\), and no plugin's tensorjit_compile"
    ):
        HOOKS["tensorjit_compile"](made.select("x"), tmp_path)


def test_a_fault_of_the_core_is_not_put_on_a_plugin(tmp_path):
    made = manager(x=offering(Fake(name="x")))
    with pytest.raises(PluginError, match="plugin tjcore failed in tensorjit_compile"):
        made.select("x").compile(UNIT, (), tmp_path / "missing")


@pytest.mark.parametrize(
    ("method", "arguments", "nonsense"),
    [("fingerprint", (), ""), ("target_flags", ("native",), "-march=native"), ("target_flags", ("native",), [1])],
)
def test_methods_of_a_toolchain_are_a_plugins_code_too(method, arguments, nonsense):
    for answer in (RuntimeError("boom"), nonsense):

        class Bad(Fake):
            pass

        def implementation(self, *given, answer=answer):
            if isinstance(answer, BaseException):
                raise answer
            return answer

        setattr(Bad, method, implementation)
        with pytest.raises(
            PluginError, match=rf"plugin a \(dist-a 1\): {method}\(\) of toolchain 'x' (failed: RuntimeError: boom|must give)"
        ):
            getattr(manager(a=offering(Bad(name="x"))).select("x"), method)(*arguments)
