"""The whole text of each error about settings, toolchains and plugins: what was wrong, what was expected, what to do next."""

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from tjcore import errors
from tjcore.discovery import Found
from tjcore.errors import CompileError, GraphError, LoadError, PluginError, ToolchainError, ToolchainUnavailable
from tjcore.hookspecs import hookimpl
from tjcore.options import setting, settings
from tjcore.plugins import Manager
from tjcore.toolchain import C11, Artifact, CompilerToolchain, SourceUnit, Toolchain

UNIT = SourceUnit("graph", "int x;\n")


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    for name in [name for name in os.environ if name.startswith("TENSORJIT_")]:
        monkeypatch.delenv(name)


class Offering:
    def __init__(self, *toolchains):
        self.toolchains = toolchains

    @hookimpl
    def tensorjit_toolchains(self):
        return self.toolchains


def compiler(name="cc9"):
    return CompilerToolchain(
        name=name,
        dialect=C11,
        variable="TENSORJIT_CC9",
        programs=("cc9", "cc8"),
        flags=(),
        install="install it (Debian: apt-get install cc9)",
    )


def manager(*plugins):
    made = Manager(discover=False)
    for i, plugin in enumerate(plugins):
        made.add(plugin, f"p{i} (dist-{i} 1.{i})")
    return made


def text(kind, call, *arguments, **named):
    with pytest.raises(errors.TensorJitError) as caught:
        call(*arguments, **named)
    assert type(caught.value) is kind
    return str(caught.value)


# ---------------------------------------------------------------- settings
def test_bad_settings(monkeypatch):
    monkeypatch.setenv("TENSORJIT_THREADS", "many")
    assert text(GraphError, setting, "threads") == (
        "TENSORJIT_THREADS: expected a number of threads in 1..1024, got 'many' (from environment TENSORJIT_THREADS)"
    )
    assert text(GraphError, setting, "max_bytes", "64 MeB") == (
        "max_bytes: expected a number of bytes such as 268435456 or '256 MiB', got '64 MeB' (from argument)"
    )
    with settings(threads=2):
        assert text(GraphError, setting, "cache", "perhaps") == "cache: expected 1 or 0, on or off, got 'perhaps' (from argument)"


# ---------------------------------------------------------------- choosing
def test_unknown_name(monkeypatch):
    class Broken:
        @hookimpl
        def tensorjit_toolchains(self):
            raise ImportError("no module named zig")

    made = manager(Offering(compiler("tcc")), Broken())
    assert text(ToolchainError, made.select, "nosuch") == (
        "no toolchain 'nosuch' (from argument)\n"
        "  installed: tcc, reference\n"
        "  broken: plugin p1 (dist-1 1.1): ImportError: no module named zig\n"
        "  to install one: pip install tjbackend-gcc (or pip install tjbackend-clang, or another toolchain plugin)"
    )
    monkeypatch.setenv("TENSORJIT_BACKEND", "GCC")
    assert text(ToolchainError, manager().select) == (
        "no toolchain 'GCC' (from environment TENSORJIT_BACKEND)\n  installed: reference\n  to install one: pip install tjbackend-gcc"
    )
    monkeypatch.setenv("TENSORJIT_BACKEND", "TCC")
    assert (
        text(ToolchainError, made.select).splitlines()[0] == "no toolchain 'TCC' (from environment TENSORJIT_BACKEND); did you mean 'tcc'?"
    )
    assert text(ToolchainError, made.select, "tcc,gcc").splitlines()[0] == "no toolchain 'tcc,gcc' (from argument); name one, not a list"


def test_clash():
    made = manager(Offering(compiler("tcc")), Offering(compiler("tcc")))
    assert text(ToolchainError, made.select, "tcc") == (
        "toolchain 'tcc' is offered by p0 (dist-0 1.0) and by p1 (dist-1 1.1); uninstall all but one, or name which to load in TENSORJIT_PLUGINS"
    )


def test_title():
    assert Found("tcc", "tjbackend-tcc", "0.3", None).title == "tcc (tjbackend-tcc 0.3)"


def test_absent(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    absent = "cc9: found no cc9 or cc8 on the PATH; install it (Debian: apt-get install cc9), or set TENSORJIT_CC9 to its command"
    assert text(ToolchainUnavailable, compiler().probe) == absent
    assert text(ToolchainUnavailable, manager(Offering(compiler())).select, "cc9") == (
        f"toolchain 'cc9' (from argument) of plugin p0 (dist-0 1.0) is not usable\n  {absent}"
    )


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("/no/such/cc -m32", "'/no/such/cc' does not exist"),
        ("nosuchcc -m32", "there is no 'nosuchcc' on the PATH"),
        ("FOLDER", "'FOLDER' is a folder"),
        ("FOLDER/text", "'FOLDER/text' is not executable"),
        ("cc 'half", "it is no command line: No closing quotation"),
    ],
)
def test_a_variable_that_names_no_program(monkeypatch, tmp_path, value, why):
    (tmp_path / "text").write_text("no program")
    value, why = (part.replace("FOLDER", str(tmp_path)) for part in (value, why))
    monkeypatch.setenv("TENSORJIT_CC9", value)
    assert text(ToolchainError, compiler().probe) == (
        f"cc9: TENSORJIT_CC9={value!r} cannot be used: {why}; set it to a compiler's command, such as 'cc9' or 'ccache cc9' "
        "(quote paths with spaces), or unset it"
    )


def test_a_compiler_that_does_not_answer(monkeypatch, tmp_path):
    program = tmp_path / "cc9"
    program.write_text("#!/bin/sh\necho the licence has expired >&2\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setenv("TENSORJIT_CC9", str(program))
    assert text(ToolchainError, compiler().probe) == (
        f"cc9: `{program} --version` failed with exit code 3: the licence has expired; check TENSORJIT_CC9"
    )
    monkeypatch.setenv("PATH", str(tmp_path) + os.pathsep + os.environ["PATH"])
    monkeypatch.delenv("TENSORJIT_CC9")
    assert text(ToolchainError, compiler().probe).endswith("the licence has expired; set TENSORJIT_CC9 to one that works")


# ---------------------------------------------------------------- building
def test_compile_error(monkeypatch, tmp_path):
    program = tmp_path / "cc9"
    program.write_text('#!/bin/sh\n[ "$1" = --version ] && echo 9 && exit\necho "graph.c:1: error: no" >&2\nexit 1\n')
    program.chmod(0o755)
    monkeypatch.setenv("TENSORJIT_CC9", str(program))
    chosen = manager(Offering(compiler())).select("cc9")
    with pytest.raises(CompileError) as caught:
        chosen.compile(UNIT, ["-g"], tmp_path)
    error = caught.value
    command = f"{program} -g -o {tmp_path}/graph.so {tmp_path}/graph.c -lm"
    assert str(error) == (
        f"cc9: the compiler failed with exit code 1\n  command: {command}\n  it said: graph.c:1: error: no\n"
        "  its source is kept in .source of this error"
    )
    assert (" ".join(error.command), error.exit_code, error.output, error.source) == (command, 1, "graph.c:1: error: no\n", UNIT.text)


def test_load_error(tmp_path):
    library = tmp_path / "graph.so"
    library.write_text("x" * 100)

    @dataclass(frozen=True, kw_only=True)
    class There(Toolchain):
        name: str = "there"
        dialect: object = C11

        def probe(self):
            return "1"

    chosen = manager(Offering(There())).select("there")
    told = text(LoadError, chosen.load, Artifact(library, UNIT))
    assert told.startswith(f"there: the library {library} cannot be loaded: {library}: ")


# ---------------------------------------------------------------- plugins
def test_plugin_errors(tmp_path):
    @dataclass(frozen=True, kw_only=True)
    class Odd(Toolchain):
        name: str = "odd"
        dialect: object = C11

        def probe(self):
            return "1"

        def fingerprint(self):
            raise KeyError("boom")

    class Plugin(Offering):
        @hookimpl
        def tensorjit_compile(self, unit):
            return Artifact(Path("/none.so"), unit)

        @hookimpl
        def tensorjit_flags(self):
            raise RuntimeError("boom")

    chosen = manager(Plugin(Odd())).select("odd")
    assert text(PluginError, chosen.flags, UNIT) == (
        "plugin p0 (dist-0 1.0) failed in tensorjit_flags for toolchain 'odd': RuntimeError: boom"
    )
    assert text(PluginError, chosen.fingerprint) == "plugin p0 (dist-0 1.0): fingerprint() of toolchain 'odd' failed: KeyError: 'boom'"
    assert text(PluginError, chosen.compile, UNIT, (), tmp_path) == (
        "plugin p0 (dist-0 1.0): tensorjit_compile for toolchain 'odd' must give an Artifact whose path is a file, got "
        f"{Artifact(Path('/none.so'), UNIT)!r}"
    )


def test_a_user_can_catch_them_all():
    for kind in (ToolchainUnavailable, CompileError, PluginError, LoadError):
        assert issubclass(kind, ToolchainError)
    assert issubclass(ToolchainError, RuntimeError) and issubclass(LoadError, OSError)
