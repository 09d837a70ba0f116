"""Plugins as they are installed: distributions made for the test, found through their metadata, used in processes of their own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tjcore
from tjcore.discovery import discover

TOOLCHAIN = """
from dataclasses import dataclass
from tjcore.hookspecs import hookimpl
from tjcore.toolchain import Artifact, SourceUnit, Toolchain
@dataclass(frozen=True, kw_only=True)
class Echo(Toolchain):
    '''Evaluates the graph's text, as the reference does, under another name.'''
    name: str = "NAME"
    dialect: None = None
    def probe(self):
        return "NAME of DIST"
@hookimpl
def tensorjit_toolchains():
    return [Echo()]
"""
RUN = """
import json, sys, warnings
import numpy as np
import tjcore
out = {"modules": sorted(m for m in sys.modules if m.startswith("fake_"))}
x = tjcore.input("x", (tjcore.Dim("N", 1, 8),))
for backend in json.loads(sys.argv[1]):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            f = tjcore.CompiledGraph([x + 2], backend=backend)
            said = [f.backend, f.toolchain_version, f(x=np.array([1, 3], np.float32))[0].tolist()]
        except tjcore.ToolchainError as error:
            said = [type(error).__name__, str(error), repr(error.__cause__)]
    out[str(backend)] = said + [str(w.message) for w in caught]
print(json.dumps(out))
"""


def distribution(folder: Path, name: str, code: str, point: str = "", version: str = "1.0", metadata: bool = True) -> Path:
    """A distribution with one plugin, as an installer would leave it in `folder`."""
    module = f"fake_{name.replace('-', '_')}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{module}.py").write_text(code.replace("DIST", name))
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    if metadata:
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(f"[tensorjit]\n{point or name} = {module}\n")
    return folder


def run(*folders: Path, backends=(None,), code: str = RUN, **environment: str):
    """What a fresh process says that has the folders on its path, and of the environment's settings only those given."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("TENSORJIT_") or name == "TENSORJIT_CACHE_DIR"}
    source = str(Path(tjcore.__file__).parent.parent)
    plain["PYTHONPATH"] = os.pathsep.join([*map(str, folders), source])
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(backends)],
        env={**plain, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_import_loads_no_plugin_and_starts_no_process(tmp_path):
    """Nor do building and describing a graph."""
    place = distribution(tmp_path, "loud", "raise RuntimeError('a plugin was imported')")
    code = """
import json, subprocess, os, sys
def refuse(*arguments, **more):
    raise AssertionError("a process was started")
subprocess.Popen.__init__ = os.fork = os.posix_spawn = refuse
import tjcore
x = tjcore.input("x", (tjcore.Dim("N", 1, 8),))
tjcore.compile_plan([x + 2]).source
print(json.dumps([m for m in sys.modules if m.startswith(("fake_", "tjbackend_"))]))
"""
    assert run(place, code=code) == []


def test_broken_plugins_are_shown_and_the_others_work_on(tmp_path):
    distribution(tmp_path, "good", TOOLCHAIN.replace("NAME", "echo"), version="0.3")
    distribution(tmp_path, "no-import", "import no_such_module")
    distribution(tmp_path, "exits", "raise SystemExit('goodbye')")
    distribution(tmp_path, "no-syntax", "def (:")
    distribution(tmp_path, "misspelt", "from tjcore.hookspecs import hookimpl\n@hookimpl\ndef tensorjit_toolchain(): return []")
    distribution(tmp_path, "no-attribute", "", point="x")
    (tmp_path / "no_attribute-1.0.dist-info" / "entry_points.txt").write_text("[tensorjit]\nx = fake_no_attribute:missing\n")
    said = run(tmp_path, backends=["echo", "nosuch"])
    assert said["modules"] == []
    assert said["echo"] == ["echo", "echo of good", [3, 5]]
    kind, text, _ = said["nosuch"]
    assert kind == "ToolchainError"
    for part in (
        "no toolchain 'nosuch' (from argument)",
        "echo",
        "broken: plugin no-import (no-import 1.0): ModuleNotFoundError: No module named 'no_such_module'",
        "broken: plugin exits (exits 1.0): SystemExit: goodbye",
        "broken: plugin no-syntax (no-syntax 1.0): SyntaxError",
        "broken: plugin misspelt (misspelt 1.0): PluginValidationError",
        "broken: plugin x (no-attribute 1.0): AttributeError",
        "to install one: pip install tjbackend-gcc",
    ):
        assert part in text, text


def test_two_distributions_of_one_name_are_named_in_any_order(tmp_path):
    one = distribution(tmp_path / "1", "dist-a", TOOLCHAIN.replace("NAME", "gcc"), point="gcc")
    two = distribution(tmp_path / "2", "dist-b", TOOLCHAIN.replace("NAME", "gcc"), point="gcc")
    only = {"TENSORJIT_PLUGINS": "dist-a,dist-b"}
    answers = [run(*order, backends=[None, "gcc", "reference"], **only) for order in ((one, two), (two, one))]
    for answer in answers:
        for backend in ("None", "gcc"):
            kind, text, _ = answer[backend]
            assert kind == "ToolchainError"
            assert "toolchain 'gcc' is offered by gcc (dist-a 1.0) and by gcc (dist-b 1.0); uninstall all but one" in text
        assert answer["reference"][2] == [3, 5]
    assert answers[0] == answers[1]
    assert run(one, two, TENSORJIT_PLUGINS="dist-a")["None"] == ["gcc", "gcc of dist-a", [3, 5]]


def test_one_distribution_listed_twice_is_no_clash(tmp_path):
    place = distribution(tmp_path / "1", "twice", TOOLCHAIN.replace("NAME", "twice"))
    (tmp_path / "link").symlink_to(place)
    older = distribution(tmp_path / "2", "twice", TOOLCHAIN.replace("NAME", "twice"), version="0.9")
    assert run(place, place, tmp_path / "link", older, backends=["twice"])["twice"] == ["twice", "twice of twice", [3, 5]]


def test_the_variable(tmp_path):
    place = distribution(tmp_path, "echo", TOOLCHAIN.replace("NAME", "echo"))
    said = run(place, backends=[None, "echo", "reference", ""], TENSORJIT_BACKEND="nosuch", TENSORJIT_PLUGINS="echo")
    kind, text, _ = said["None"]
    assert kind == "ToolchainError"
    assert "no toolchain 'nosuch' (from environment TENSORJIT_BACKEND)" in text and "installed: echo, reference" in text
    assert said[""] == said["None"]
    assert said["echo"][0] == "echo" and said["reference"][0] == "reference", "an argument wins"
    assert run(place, TENSORJIT_BACKEND=" echo ", TENSORJIT_PLUGINS="echo")["None"][0] == "echo"
    assert run(place, TENSORJIT_BACKEND="", TENSORJIT_PLUGINS="echo")["None"][0] == "echo"
    assert "did you mean 'echo'?" in run(place, TENSORJIT_BACKEND="ECHO", TENSORJIT_PLUGINS="echo")["None"][1]
    assert "name one, not a list" in run(place, TENSORJIT_BACKEND="echo,gcc", TENSORJIT_PLUGINS="echo")["None"][1]


def test_without_plugins_the_reference_serves(tmp_path):
    said = run(backends=[None, None, "gcc"], TENSORJIT_PLUGINS="none")
    name, _, values, *_ = said["None"]
    assert (name, values) == ("reference", [3, 5])
    assert len(said["None"]) == 3, "the second time in one process, no warning more"
    kind, text, _ = said["gcc"]
    assert kind == "ToolchainError" and "pip install tjbackend-gcc" in text and "names 'none'" not in text


def test_a_restriction_is_told(tmp_path):
    place = distribution(tmp_path, "my-echo", TOOLCHAIN.replace("NAME", "echo"), point="echo", version="2.0")
    text = run(place, backends=["echo"], TENSORJIT_PLUGINS="gcc99, ,other")["echo"][1]
    assert "left out by TENSORJIT_PLUGINS: " in text and "echo (my-echo 2.0)" in text
    assert "TENSORJIT_PLUGINS names 'gcc99', which is not installed" in text
    for word in ("echo", "my-echo", "My_Echo"):
        assert run(place, backends=["echo"], TENSORJIT_PLUGINS=word)["echo"][0] == "echo"


def test_an_absent_compiler_names_program_variable_and_plugin(tmp_path):
    """Nothing on the PATH: an import works, and what is asked for by name says what it needs."""
    code = (
        "from tjcore.hookspecs import hookimpl\nfrom tjcore.toolchain import C11, CompilerToolchain\n@hookimpl\n"
        "def tensorjit_toolchains():\n    return [CompilerToolchain(name='gcc', dialect=C11, variable='TENSORJIT_GCC', programs=('gcc',),"
        " flags=(), install='install it (Debian: apt-get install gcc)')]"
    )
    place = distribution(tmp_path / "site", "my-gcc", code, point="gcc", version="3")
    empty = tmp_path / "empty"
    empty.mkdir()
    settings = {"PATH": str(empty), "TENSORJIT_PLUGINS": "my-gcc"}
    said = run(place, backends=["gcc", None], **settings)
    kind, text, _ = said["gcc"]
    assert kind == "ToolchainUnavailable"
    for part in ("'gcc' (from argument) of plugin gcc (my-gcc 3)", "found no gcc on the PATH", "apt-get install gcc", "TENSORJIT_GCC"):
        assert part in text
    assert said["None"][:1] == ["reference"] and "TENSORJIT_GCC" in said["None"][3]
    (empty / "text").write_text("no program")
    wrong = {"/no/such/gcc": "does not exist", str(empty / "text"): "is not executable", "'": "no command line", str(empty): "is a folder"}
    for value, words in wrong.items():
        kind, text, _ = run(place, backends=["gcc"], TENSORJIT_GCC=value, **settings)["gcc"]
        assert kind == "ToolchainError" and words in text and f"TENSORJIT_GCC={value!r}" in text


FAILING = TOOLCHAIN.replace("NAME", "echo") + "@hookimpl\ndef tensorjit_compile(unit, out_dir):\n    HOW\n"


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("raise RuntimeError('boom')", "plugin echo (echo 1.0) failed in tensorjit_compile for toolchain 'echo': RuntimeError: boom"),
        ("raise OSError(28, 'boom')", "plugin echo (echo 1.0) failed in tensorjit_compile for toolchain 'echo': OSError: [Errno 28] boom"),
        ("return Artifact(out_dir / 'none.so', unit)", "plugin echo (echo 1.0): tensorjit_compile for toolchain 'echo' must give"),
    ],
)
def test_a_failing_hook_leaves_nothing_behind(tmp_path, how, words):
    place = distribution(tmp_path / "site", "echo", FAILING.replace("HOW", f"(out_dir / 'half').write_text('half'); {how}"))
    cache = tmp_path / "cache"
    said = run(place, backends=["echo", "reference"], TENSORJIT_CACHE_DIR=str(cache))
    kind, text, cause = said["echo"]
    assert kind == "PluginError" and words in text
    assert "boom" in cause or cause == "None"
    assert said["reference"][2] == [3, 5], "the process goes on with another toolchain"
    assert not list(cache.rglob("half")), "no half-made entry stays"


# ---------------------------------------------------------------- metadata
def on_path(monkeypatch, *folders):
    """Only the folders' distributions, beside the standard library: parts of it are imported when they are first needed."""
    monkeypatch.setattr(sys, "path", [*map(str, folders), os.path.dirname(os.__file__)])


def titles(only=None):
    return [found.title for found in discover(only).found]


def test_unreadable_metadata_stops_nothing(tmp_path, monkeypatch):
    distribution(tmp_path, "good", "")
    distribution(tmp_path, "nameless", "", version="7", metadata=False)
    distribution(tmp_path, "garbled", "")
    (tmp_path / "garbled-1.0.dist-info" / "entry_points.txt").write_text("[tensorjit]\nthis is no entry point\n")
    distribution(tmp_path, "bytes", "")
    (tmp_path / "bytes-1.0.dist-info" / "entry_points.txt").write_bytes(b"[tensorjit]\nx = \xff\xfe")
    on_path(monkeypatch, tmp_path)
    assert titles() == ["good (good 1.0)", "nameless (nameless 7)"]
    assert sorted(discover().unreadable) == ["of bytes-1.0.dist-info", "of garbled-1.0.dist-info"]


def test_the_order_is_that_of_names_not_of_the_path(tmp_path, monkeypatch):
    places = [distribution(tmp_path / name, name, "") for name in ("c", "a", "b")]
    for order in (places, places[::-1]):
        on_path(monkeypatch, *order)
        assert titles() == ["a (a 1.0)", "b (b 1.0)", "c (c 1.0)"]


def test_a_restriction_by_entry_point_or_distribution(tmp_path, monkeypatch):
    distribution(tmp_path, "my-dist", "", point="one")
    distribution(tmp_path, "other", "", point="two")
    on_path(monkeypatch, tmp_path)
    for only in ("one", "my-dist", "MY_dist", " one , "):
        assert titles(only) == ["one (my-dist 1.0)"]
        assert [found.title for found in discover(only).left_out] == ["two (other 1.0)"]
        assert discover(only).unknown == []
    assert titles("none") == [] and discover("none").unknown == []
    assert discover("one,three").unknown == ["three"]
    assert titles("ONE") == [], "names of entry points are matched exactly"
