"""The suite as third parties run it, in processes of their own: the three ways, and what it says of toolchains that are absent, broken or limited."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tjcore.conformance import limits

TCC = Path(__file__).parent / "plugin_tcc"


def run(folder: Path, *arguments: str, path: tuple[Path, ...] = ()) -> tuple[int, str]:
    """Exit code and output of `python ARGUMENTS` in the folder, with more folders to import from."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*map(str, path), *(p for p in sys.path if p)]), "COLUMNS": "400"}
    for name in [n for n in environment if n.startswith(("PYTEST_", "TENSORJIT_PLUGINS", "TENSORJIT_BACKEND"))]:
        del environment[name]
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=500, check=False
    )
    return done.returncode, done.stdout + done.stderr


def install(folder: Path, name: str, version: str, module: str) -> None:
    """What pip leaves of a distribution that offers a plugin: its name, version and entry point."""
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(f"[tensorjit]\n{module} = {module}\n")


def count(output: str, outcome: str) -> int:
    found = re.search(rf"(\d+) {outcome}", output.splitlines()[-1])
    return int(found[1]) if found else 0


def test_command_in_an_empty_folder(tmp_path: Path) -> None:
    code, output = run(tmp_path, "-m", "tjcore.conformance", "--backend=reference", "-k", "TestBounds or TestRandomGraphs or TestOpening")
    assert code == 0, output
    assert count(output, "passed") >= 20, output
    assert not list(tmp_path.iterdir()), "the command left something behind"


def test_command_heeds_no_settings_nearby(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --no-such-option\n")
    (tmp_path / "conftest.py").write_text("raise SystemExit('a conftest nearby was read')\n")
    code, output = run(tmp_path, "-m", "tjcore.conformance", "--backend=reference", "-k", "TestOpening")
    assert code == 0, output


@pytest.mark.toolchain
@pytest.mark.skipif(
    not (os.environ.get("TENSORJIT_TCC") or shutil.which("tcc")), reason="tcc is not installed (Debian: apt-get install tcc)"
)
def test_own_tests_of_a_plugin(tmp_path: Path) -> None:
    install(tmp_path, "tjbackend-tcc", "0.3", "tjbackend_tcc")
    path = (tmp_path, TCC / "src")
    code, output = run(TCC, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--backend=tcc", path=path)
    assert code == 0, output
    assert count(output, "passed") > 400, output


def test_subclass_adjusts_one_test(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib --strict-markers\nfilterwarnings = error\n")
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["tjcore.conformance.plugin"]\n')
    (tmp_path / "test_mine.py").write_text(
        "from tjcore.conformance import suite\n"
        "from tjcore.conformance.suite import *\n\n\n"
        "class TestBounds(suite.TestBounds):\n"
        "    def test_disagreeing_sizes(self, backend):\n"
        "        print(f'adjusted for {backend}')\n"
    )
    code, output = run(tmp_path, "-m", "pytest", "-p", "no:cacheprovider", "--backend=reference", "-k", "TestBounds", "-rP", "-v")
    assert code == 0, output
    assert output.count("adjusted for reference") == 1, output
    assert "test_beyond" in output, "the tests that were not adjusted run as they are"
    assert count(output, "passed") > 10, output


# ------------------------------------------------------------------------------------------------------------ outcomes

FAKE = """
from tjcore.builtin import ReferenceToolchain
from tjcore.errors import ToolchainUnavailable
from tjcore.hookspecs import hookimpl
from tjcore.toolchain import C11, CompilerToolchain, SourceUnit, Toolchain


class Raises(Toolchain):
    def probe(self):
        raise self.error

    @property
    def error(self):
        return ToolchainUnavailable("no such compiler; get one") if self.name == "ghost" else ZeroDivisionError("by accident")


@hookimpl
def tensorjit_toolchains():
    return [
        Raises(name="ghost", dialect=C11),
        Raises(name="raises", dialect=C11),
        CompilerToolchain(name="idle", dialect=C11, variable="IDLE", programs=("true",), flags=(), install="-"),
        ReferenceToolchain(name="swaps", unsupported=UNSUPPORTED, xfail=XFAIL),
    ]


@hookimpl
def tensorjit_render(program, toolchain):
    if toolchain.name == "swaps":
        return SourceUnit("graph", program.graph.replace("= maximum ", "= minimum "), suffix=".txt")
"""
"""Toolchains that are absent, raise, build nothing, or compute one op wrongly."""


def run_fake(
    folder: Path, *arguments: str, unsupported: dict[str, str] | None = None, xfail: dict[str, str] | None = None
) -> tuple[int, str]:
    """The command, with the fake toolchains installed."""
    (folder / "fake.py").write_text(f"UNSUPPORTED = {unsupported or {}!r}\nXFAIL = {xfail or {}!r}\n{FAKE}")
    install(folder, "tjbackend-fake", "9.9", "fake")
    return run(folder, "-m", "tjcore.conformance", "-q", "-rsxXfE", *arguments, path=(folder,))


USAGE = 4


def test_absent_but_named_is_an_error(tmp_path: Path) -> None:
    code, output = run_fake(tmp_path, "--backend=ghost")
    assert code == USAGE, output
    assert "--backend=ghost: absent: " in output and "no such compiler; get one" in output


def test_absent_and_not_named_is_skipped(tmp_path: Path) -> None:
    code, output = run_fake(tmp_path, "-o", "tensorjit_backends=ghost reference", "-k", "TestBounds")
    assert code == 0, output
    assert "ghost is absent: " in output and "no such compiler; get one" in output
    assert count(output, "skipped") > 10 and count(output, "passed") > 10, output


def test_broken_fails_named_or_not(tmp_path: Path) -> None:
    code, output = run_fake(tmp_path, "--backend=raises")
    assert code == USAGE, output
    assert "--backend=raises: broken: " in output and "by accident" in output
    for choice in (("-o", "tensorjit_backends=raises"), ("--backend=idle",)):
        folder = tmp_path / choice[-1].replace("=", "-")
        folder.mkdir()
        code, output = run_fake(folder, *choice, "-k", "TestBounds")
        assert code == 1, output
        assert " is broken: " in output and not count(output, "passed") and not count(output, "skipped"), output
    assert "wrote no library" in output, "the reason is given"


def test_unknown_name_is_an_error(tmp_path: Path) -> None:
    code, output = run(tmp_path, "-m", "tjcore.conformance", "--backend=nonesuch")
    assert code == USAGE, output
    assert "nonesuch" in output and "installed: " in output


def test_several_backends(tmp_path: Path) -> None:
    code, output = run_fake(tmp_path, "--backend=reference,swaps", "--backend=reference", "-k", "test_beyond", "-vv")
    assert code == 0, output
    assert output.count("test_beyond[reference-") == output.count("test_beyond[swaps-") == 4, output


def test_wrong_bits_fail(tmp_path: Path) -> None:
    code, output = run_fake(tmp_path, "--backend=swaps", "-k", "TestElementwise or TestOpening")
    assert code == 1, output
    failed = {line.split("::")[-1].split(" ")[0] for line in output.splitlines() if line.startswith("FAILED")}
    dtypes = ("float32", "float64", "int32", "int64", "uint8")
    assert failed == {f"test_{what}[swaps-maximum-{dtype}]" for what in ("sizes", "special_values") for dtype in dtypes}, output
    assert re.search(r"maximum float32 at .*: got .*, expected ", output), "the message shows op, place and both values"


def test_declared_limits(tmp_path: Path) -> None:
    known = {"TestElementwise::test_sizes[maximum-*]": "computes the other one", "*::test_special_values[maximum-*]": "the same"}
    code, output = run_fake(
        tmp_path,
        "--backend=swaps",
        "-k",
        "TestElementwise or TestBounds or TestOpening",
        unsupported={"TestBounds::*": "no bounds"},
        xfail=known,
    )
    assert code == 0, output
    assert "unsupported by swaps: no bounds" in output and "computes the other one" in output
    assert count(output, "xfailed") == 10 and count(output, "skipped") > 10, output


def test_limits_that_no_longer_hold(tmp_path: Path) -> None:
    code, output = run_fake(tmp_path, "--backend=swaps", "-k", "TestBounds", xfail={"TestBounds::test_beyond": "not yet"})
    assert code == 1, output
    assert count(output, "failed") == 4 and "XPASS(strict)" in output


def test_limits_that_match_nothing(tmp_path: Path) -> None:
    code, output = run_fake(
        tmp_path,
        "--backend=swaps",
        "-k",
        "TestOpening",
        unsupported={"TestNothing::*": "typing error"},
        xfail={"TestOpening::*": "forbidden"},
    )
    assert code == 1, output
    assert "match no test: TestNothing::*, TestOpening::*" in output
    assert count(output, "failed") == 1, output


def test_a_plugin_that_does_not_load_is_reported(tmp_path: Path) -> None:
    (tmp_path / "shattered.py").write_text("raise ImportError('half of it is missing')\n")
    install(tmp_path, "tjbackend-shattered", "1.0", "shattered")
    path = (tmp_path,)
    code, output = run(tmp_path, "-m", "tjcore.conformance", "-k", "TestInstallation", path=path)
    assert code == 1 and "shattered (tjbackend-shattered 1.0)" in output and "half of it is missing" in output, output
    code, output = run(tmp_path, "-m", "tjcore.conformance", "--backend=reference", "-k", "TestInstallation or TestOpening", path=path)
    assert code == 0, "another plugin's fault is no fault of the one under test"


def test_patterns() -> None:
    name = limits.test_name("TestElementwise", "test_sizes", "gcc-exp-float32", "gcc")
    assert name == "TestElementwise::test_sizes[exp-float32]"
    assert limits.test_name("TestOpening", "test_name", "gcc", "gcc") == "TestOpening::test_name"
    assert limits.test_name("TestElementwise", "test_sizes", "exp-float32-gcc", "gcc") == name
    for pattern in (
        name,
        "TestElementwise::test_sizes",
        "TestElementwise::*",
        "*[exp-*]",
        "*float32]",
        "TestElementwise::test_sizes[e?p-float32]",
    ):
        assert limits.matches(pattern, name), pattern
    for pattern in ("TestElementwise", "test_sizes", "*[exp]", "*[log-*]", "TestElementwise::test_sizes[exp-float3"):
        assert not limits.matches(pattern, name), pattern
    assert limits.unmatched(["*[exp-*]", "*[log-*]"], [name]) == ["*[log-*]"]
