"""tjcore's own compile and load hooks, with compilers that behave in every way that compilers were seen to behave."""

import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import tjcore
from tjcore.c_entry import ENTRY
from tjcore.errors import CompileError, LoadError, TensorJitError
from tjcore.hookspecs import hookimpl
from tjcore.options import settings
from tjcore.plugins import Manager
from tjcore.toolchain import C11, FFI, CompilerToolchain, SourceUnit

ODD = "a folder with späces, 'quotes' and 字"
SOURCE = "int seven(void) { return 7; }\n"
needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
needs_tcc = pytest.mark.skipif(shutil.which("tcc") is None, reason="tcc is not installed")


def selected(*, program="gcc", flags=("-shared", "-fPIC"), libraries=()):
    """A toolchain that is no plugin's of this machine, chosen."""

    class Plugin:
        @hookimpl
        def tensorjit_toolchains(self):
            yield CompilerToolchain(
                name="mine",
                dialect=C11,
                variable="TENSORJIT_MINE",
                programs=(program,),
                flags=flags,
                install="install it",
                version_arguments=("-v",) if program == "tcc" else ("--version",),
                libraries=libraries,
            )

    manager = Manager(discover=False)
    manager.add(Plugin(), "mine (mine 1)")
    return manager.select("mine")


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """A compiler that says its version, and for the rest does what the given shell text says."""

    def make(text):
        path = tmp_path / "fake cc"
        path.write_text(f'#!/bin/sh\nif [ "$1" = --version ]; then echo fake 1; exit; fi\n{text}\n')
        path.chmod(0o755)
        monkeypatch.setenv("TENSORJIT_MINE", str(path))
        return selected()

    return make


def build(chosen, folder, text=SOURCE, **options):
    folder.mkdir(parents=True, exist_ok=True)
    return chosen.compile(SourceUnit("unit", text, **options), (), folder)


@needs_gcc
@pytest.mark.parametrize("folder", ["plain", ODD, "-dash", "$HOME;ls"])
def test_build_and_load(tmp_path, folder):
    artifact = build(selected(), tmp_path / folder)
    assert artifact.path.parent == tmp_path / folder
    assert sorted(p.name for p in (tmp_path / folder).iterdir()) == ["unit.c", "unit.so"], "nothing else is left"
    assert callable(selected().load(artifact).function)


@needs_gcc
def test_a_relative_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert build(selected(), Path("here")).path == tmp_path / "here" / "unit.so"


@needs_gcc
@pytest.mark.parametrize("locale", ["C", "C.UTF-8", "de_DE.UTF-8", "tr_TR.UTF-8"])
def test_messages_are_english_in_any_locale(tmp_path, monkeypatch, locale):
    """The compiler is told the C locale, whether the user's is installed or not; names in other letters survive."""
    for name in ("LC_ALL", "LANG", "LANGUAGE"):
        monkeypatch.setenv(name, locale)
    with pytest.raises(CompileError, match=r"error: .*undeclared") as caught:
        build(selected(), tmp_path / ODD, "int f(void) { return nowhere; }")
    assert ODD in caught.value.output


@needs_gcc
def test_a_compiler_behind_ccache(tmp_path, monkeypatch):
    if shutil.which("ccache") is None:
        pytest.skip("ccache is not installed")
    monkeypatch.setenv("CCACHE_DIR", str(tmp_path / "ccache"))
    monkeypatch.setenv("TENSORJIT_MINE", "ccache gcc")
    chosen = selected()
    assert chosen.version.startswith("gcc")
    build(chosen, tmp_path / "out")


@needs_gcc
def test_a_compiler_at_an_odd_path(tmp_path, monkeypatch):
    place = tmp_path / ODD
    place.mkdir()
    (place / "my gcc").symlink_to(shutil.which("gcc"))
    monkeypatch.setenv("TENSORJIT_MINE", str(place / "my gcc"))
    build(selected(), tmp_path / "out")


# ---------------------------------------------------------------- failures of the compiler
@pytest.mark.parametrize(
    ("text", "words", "code"),
    [
        ("echo no such thing >&2; exit 4", "mine: the compiler failed with exit code 4", 4),
        ("echo no such thing; exit 1", "mine: the compiler failed with exit code 1", 1),
        ("echo no such thing; kill -SEGV $$", "mine: the compiler was killed by SIGSEGV", -11),
        ("echo no such thing; kill -KILL $$", "mine: the compiler was killed by SIGKILL (often: the machine has run out of memory)", -9),
        ("echo no such thing", "mine: the compiler ended with exit code 0 and wrote no library", 0),
        ('echo no such thing; for a; do [ "$b" = -o ] && : > "$a"; b="$a"; done', "ended with exit code 0 and wrote no library", 0),
        ('echo no such thing; rm -f "$0"; exit 2', "failed with exit code 2", 2),
    ],
)
def test_each_failure_says_what_happened(fake, tmp_path, text, words, code):
    with pytest.raises(CompileError) as caught:
        build(fake(text), tmp_path / "out")
    error = caught.value
    assert words in str(error)
    for part in ("fake cc", "unit.c", "no such thing", ".source of this error"):
        assert part in str(error)
    assert (error.exit_code, error.source, error.command[0]) == (code, SOURCE, str(tmp_path / "fake cc"))
    assert error.output.strip() == "no such thing"


def test_a_silent_compiler_is_said_to_be_silent(fake, tmp_path):
    with pytest.raises(CompileError, match="it said: nothing"):
        build(fake("exit 1"), tmp_path)


def test_a_hanging_compiler_is_stopped(fake, tmp_path):
    chosen = fake("echo thinking; sleep 60 & sleep 60")
    with settings(compile_timeout=0.8), pytest.raises(CompileError) as caught:
        build(chosen, tmp_path)
    assert "took longer than 0.8 s (TENSORJIT_COMPILE_TIMEOUT, from code) and was stopped" in str(caught.value)
    assert "it said: thinking" in str(caught.value)
    assert caught.value.exit_code is None


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda path: path.unlink(), "there is no "),
        (lambda path: path.write_text("#!/no/such/interpreter\n"), "the interpreter that its first line names is missing"),
        (lambda path: path.write_bytes(b"\x00\x01\x02"), "is no program for this machine"),
        (lambda path: path.chmod(0o644), "may not be executed by this user"),
    ],
    ids=["gone", "interpreter", "format", "mode"],
)
def test_each_way_not_to_start_is_told_apart(fake, tmp_path, spoil, words):
    chosen = fake("exit 0")
    real = chosen.toolchain.prefix()

    class Stale(CompilerToolchain):  # the program is spoilt between the look at the PATH and the start
        def prefix(self):
            return real

    fields = {name: getattr(chosen.toolchain, name) for name in CompilerToolchain.__dataclass_fields__}
    object.__setattr__(chosen, "toolchain", Stale(**fields))
    spoil(tmp_path / "fake cc")
    with pytest.raises(CompileError, match="mine: the compiler could not be started") as caught:
        build(chosen, tmp_path / "out")
    assert words in str(caught.value)
    assert isinstance(caught.value.__cause__, OSError) and caught.value.exit_code is None


def test_a_loud_compiler_fills_no_screen(fake, tmp_path):
    with pytest.raises(CompileError) as caught:
        build(fake("head -c 20000 /dev/zero | tr '\\0' x >&2; exit 1"), tmp_path)
    assert "... and 16,000 more characters, which .output of this error holds" in str(caught.value)
    assert len(str(caught.value)) < 6000 and len(caught.value.output) == 20000


# ---------------------------------------------------------------- failures of loading
def test_a_library_that_is_none(fake, tmp_path):
    chosen = fake('for a; do [ "$b" = -o ] && echo text > "$a"; b="$a"; done')
    artifact = build(chosen, tmp_path)
    with pytest.raises(LoadError, match=r"mine: the library .*unit\.so cannot be loaded: .*") as caught:
        chosen.load(artifact)
    assert "find_library" not in str(caught.value)
    assert isinstance(caught.value, OSError), "by which the cache knows that it may try once more"
    assert isinstance(caught.value, TensorJitError)


@needs_gcc
def test_a_library_of_something_else(tmp_path):
    artifact = build(selected(), tmp_path, exports=(ENTRY,))
    with pytest.raises(LoadError, match=f"has no function {ENTRY}: it was not built from the source that it should be"):
        selected().load(artifact)


@needs_tcc
def test_tcc_loads_too(tmp_path):
    chosen = selected(program="tcc")
    library = chosen.load(
        build(chosen, tmp_path, f"void {ENTRY}(const void *t, void *const *b, const long long *d) {{ *(float *)b[0] = 7; }}")
    )
    x = np.zeros(1, np.float32)
    library.function(ENTRY)(FFI.NULL, FFI.new("void *[]", [FFI.from_buffer(x)]), FFI.new("int64_t[]", 1))
    assert x[0] == 7


# ---------------------------------------------------------------- the reference evaluator as a toolchain
def test_reference_answers_like_native_code(tmp_path):
    dim = tjcore.Dim("N", 0, 8)
    x, y = (tjcore.input(name, (dim, 3)) for name in ("x", "y"))
    plan = tjcore.compile_plan([x + y, (x * y).sum(1)])
    chosen = Manager(discover=False).select("reference")
    unit = chosen.render(plan.program)
    assert unit.suffix == ".txt" and unit.text == tjcore.show_graph(plan.outputs)
    entry = chosen.load(chosen.compile(unit, (), tmp_path)).function(ENTRY)
    for n in (0, 5):
        a, b = np.arange(n * 3, dtype=np.float32).reshape(n, 3), np.full((n, 3), 2, np.float32)
        both, total = np.full((n, 3), -1, np.float32), np.full(n, -1, np.float32)
        buffers = FFI.new("void *[]", [FFI.from_buffer(array) for array in (a, b, both, total)])
        entry(FFI.NULL, buffers, FFI.new("int64_t[]", [n]))
        assert (both == a + b).all() and (total == (a * b).sum(1)).all()
    with pytest.raises(LoadError, match="has one function"):
        chosen.load(chosen.compile(unit, (), tmp_path)).function("other")


def test_names_of_the_machine_stay_out_of_the_source():
    """The same text in any locale and folder: nothing but the graph goes into it, and no number is written with a comma."""
    x = tjcore.input("x", (tjcore.Dim("N", 1, 8),))
    text = tjcore.compile_plan([x * 1.23 + 0.25]).source
    assert "0x1.3ae148p+0f" in text and "0x1p-2f" in text
    for word in (sys.executable, os.getcwd(), "1,23"):
        assert word not in text


@needs_gcc
def test_a_library_goes_with_its_object(tmp_path):
    maps = Path("/proc/self/maps")
    if not maps.exists():
        pytest.skip("looks at what is loaded through /proc")
    artifact = build(selected(), tmp_path)
    library = selected().load(artifact)
    assert str(artifact.path) in maps.read_text()
    del library
    assert str(artifact.path) not in maps.read_text()
