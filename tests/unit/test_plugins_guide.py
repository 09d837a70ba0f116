"""docs/plugins.md is true: its plugin works as printed, and its tables name what exists."""

import dataclasses
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import types
from pathlib import Path

import pytest

import tjcore
from tjcore import hookspecs
from tjcore.options import names
from tjcore.plugins import Manager
from tjcore.toolchain import GNU, CompilerToolchain, Dialect, SourceUnit, Toolchain

GUIDE = (Path(__file__).parents[2] / "docs" / "plugins.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
PROJECT = next(text for kind, text in BLOCKS if kind == "toml")
MODULE, FREE = (text for kind, text in BLOCKS if kind == "python")
HOOKS = {name: hook for name, hook in vars(hookspecs).items() if name.startswith("tensorjit_")}
RUN = """
import json, sys
import numpy as np
import tjcore
x = tjcore.input("x", (tjcore.Dim("N", 1, 8), 3))
f = tjcore.CompiledGraph([x.T @ (x + 2), (x * x).sum(1)], threads=2)
a = np.arange(12, dtype=np.float32).reshape(4, 3)
for got, expected in zip(f(x=a), (a.T @ (a + 2), (a * a).sum(1))):
    assert (got == expected).all(), (got, expected)
print(json.dumps([f.backend, f.toolchain_version]))
"""


def test_the_plugin_is_as_short_as_promised():
    assert len(MODULE.splitlines()) <= 40
    assert len(PROJECT.splitlines()) <= 10


@pytest.mark.skipif(shutil.which("tcc") is None, reason="tcc is not installed")
def test_the_plugin_works_as_printed(tmp_path):
    project = tomllib.loads(PROJECT)["project"]
    ((point, module),) = project["entry-points"]["tensorjit"].items()
    (tmp_path / module).mkdir()
    (tmp_path / module / "__init__.py").write_text(MODULE)
    info = tmp_path / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"  # as an installer makes it
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    (info / "entry_points.txt").write_text(f"[tensorjit]\n{point} = {module}\n")
    source = str(Path(tjcore.__file__).parent.parent)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("TENSORJIT_")},
        "PYTHONPATH": os.pathsep.join([str(tmp_path), source]),
        "TENSORJIT_BACKEND": "tcc",
        "TENSORJIT_CACHE_DIR": str(tmp_path / "cache"),
    }
    done = subprocess.run([sys.executable, "-c", RUN], env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    name, version = json.loads(done.stdout)
    assert name == "tcc" and version.startswith("tcc version")


def load(text, name="guide"):
    made = types.ModuleType(name)
    exec(compile(text, "docs/plugins.md", "exec"), made.__dict__)
    return made


def test_the_free_plugin_works_as_printed(capsys):
    manager = Manager(discover=False)
    manager.add(load(FREE), "free")
    assert not manager.broken
    gnu = CompilerToolchain(
        name="g", dialect=GNU, variable="TENSORJIT_G", programs=("sh",), version_arguments=("-c", "echo 1"), flags=(), install=""
    )

    class Provider:
        @hookspecs.hookimpl
        def tensorjit_toolchains(self):
            return [gnu]

    manager.add(Provider(), "g")
    assert manager.select("g").flags(SourceUnit("u", ""))[:2] == ("-g", "-fsanitize=undefined")
    plan = tjcore.compile_plan([tjcore.input("x", (2,)) + 1])
    assert manager.select("g").render(plan.program).text in capsys.readouterr().err
    assert manager.select("reference").flags(SourceUnit("u", "")) == ()


def test_every_hook_is_in_the_table_with_its_arguments():
    rows = dict(re.findall(r"^\| `(tensorjit_\w+)\((.*?)\)` \|", GUIDE, re.MULTILINE))
    assert rows == {name: ", ".join(inspect.signature(hook).parameters) for name, hook in HOOKS.items()}


@pytest.mark.parametrize("name", HOOKS)
def test_the_example_of_each_hook_is_a_plugin(name):
    """The indented part of each docstring registers, and implements that hook."""
    doc = inspect.getdoc(HOOKS[name])
    code = "\n".join(line[4:] for line in doc.splitlines() if line.startswith("    ") or not line.strip())
    manager = Manager(discover=False)
    manager.add(load(code), "example")
    assert not manager.broken
    hooks = next(row.hooks for row in manager.status() if row.plugin == "example")
    assert hooks == (name.removeprefix("tensorjit_"),)


def test_fields_and_methods_in_the_tables_exist():
    words = set(re.findall(r"^\| (`[^|]*`) \|", GUIDE, re.MULTILINE))
    listed = {word for row in words for word in re.findall(r"`(\w+)", row)}
    fields = {f.name for f in dataclasses.fields(CompilerToolchain)} | {f.name for f in dataclasses.fields(Dialect)}
    methods = {name for name in vars(Toolchain) if not name.startswith("_") and inspect.isfunction(getattr(Toolchain, name))}
    assert listed == fields | methods | set(HOOKS)


def test_settings_in_the_guide_exist():
    known = {f"TENSORJIT_{name.upper()}" for name in names()} | {"TENSORJIT_TCC"}
    assert set(re.findall(r"TENSORJIT_\w+", GUIDE)) <= known


def test_limits_in_the_guide_name_tests_of_the_suite():
    suite = pytest.importorskip("tjcore.conformance.suite", reason="the suite's own requirements are not installed")
    for suite_class, function in re.findall(r'[{]"(Test\w+)::([\w*]+)"?', GUIDE):
        assert suite_class in suite.__all__
        assert "*" in function or hasattr(getattr(suite, suite_class), function)
