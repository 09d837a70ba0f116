"""The contract of a toolchain itself: what it says of itself, its command line, its errors, its limits, and the plugins around it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tjcore import CompileError
from tjcore.plugins import choose, manager
from tjcore.toolchain import SourceUnit, Toolchain

from .compiling import Compile
from .graphs import statistics

NO_PROGRAM = "this is no program in any language @#$ {{{ ;"


class TestOpening:
    """A toolchain is what its plugin says it is. No `unsupported` or `xfail` pattern reaches these."""

    def test_name(self, backend: str, toolchain: Toolchain) -> None:
        assert toolchain.name == backend
        assert backend == backend.strip() and backend and "," not in backend, "such a name cannot be given to --backend"

    def test_version(self, toolchain: Toolchain) -> None:
        version = toolchain.probe()
        assert isinstance(version, str) and version.strip(), f"probe() must give the compiler's version line, got {version!r}"
        assert "\n" not in version, "probe() must give one line"
        assert toolchain.probe() == version

    def test_fingerprint_is_stable(self, backend: str, toolchain: Toolchain) -> None:
        mine = toolchain.fingerprint()
        assert isinstance(mine, str) and mine, f"fingerprint() must give text, got {mine!r}"
        assert toolchain.fingerprint() == mine
        theirs = in_child("import sys; from tjcore.plugins import choose; print(choose(sys.argv[1]).toolchain.fingerprint())", backend)
        assert theirs == mine, "another process got another fingerprint: nothing would ever be found in the cache"

    def test_limits_match_tests(self, backend: str, unmatched_limits: list[str]) -> None:
        assert not unmatched_limits, f"patterns of {backend} in `unsupported` or `xfail` that match no test: {', '.join(unmatched_limits)}"

    def test_limits_have_reasons(self, toolchain: Toolchain) -> None:
        limits = {**toolchain.unsupported, **toolchain.xfail}
        bare = [pattern for pattern, reason in limits.items() if not isinstance(reason, str) or not reason.strip()]
        assert not bare, f"no reason is given for {', '.join(bare)}"


class TestBuilding:
    """Command lines, and what happens when the compiler refuses."""

    def test_command(self, toolchain: Toolchain) -> None:
        source, out = Path("/some where/graph.c"), Path("/some where/graph.so")
        try:
            command = toolchain.command(source, out, ["-DTENSORJIT_CONFORMANCE=1"])
        except NotImplementedError:
            pytest.skip("builds without a command line")
        assert all(isinstance(word, str) and word for word in command), command
        text = "\n".join(command)
        for part in (str(source), str(out), "-DTENSORJIT_CONFORMANCE=1"):
            assert part in text, f"{part} is missing from {command}"

    def test_refused_source(self, backend: str, toolchain: Toolchain, tmp_path: Path) -> None:
        if toolchain.dialect is None:
            pytest.skip("compiles no source")
        with pytest.raises(CompileError) as caught:
            choose(backend).compile(SourceUnit("refused", NO_PROGRAM), (), tmp_path)
        error = caught.value
        assert error.source == NO_PROGRAM, "the error must keep the source"
        assert error.output.strip(), "the error must keep what the compiler said"
        assert error.output.strip().splitlines()[0][:200] in str(error), "the message must repeat what the compiler said"
        assert backend in str(error), "the message must name the toolchain"
        assert error.exit_code != 0 or not error.command, "a refusal with exit code 0"

    def test_folder_with_spaces(self, backend: str, toolchain: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        folder = tmp_path / "a cache with späces"
        monkeypatch.setenv("TENSORJIT_CACHE_DIR", str(folder))
        sample, sizes = statistics(), {"B": 3, "H": 5}
        Compile(backend)(sample.outputs)(**sample.arrays(sizes))
        assert toolchain.dialect is None or any(folder.rglob("*")), "nothing was built there"

    def test_second_process_builds_nothing(self, backend: str, toolchain: Toolchain, tmp_path: Path) -> None:
        settings = {"TENSORJIT_CACHE_DIR": str(tmp_path / "cache")}
        first, second = (in_child(COUNT_BUILDS, backend, settings).split() for _ in range(2))
        if toolchain.dialect is not None:
            assert int(first[0]) >= 1, "the first process built nothing, so the second proves nothing"
            assert int(second[0]) == 0, f"a second process built {second[0]} libraries that the first had built and cached"
        assert second[1] == first[1], "the second process got other bits"

    def test_loading_leaves_the_process_alone(self, backend: str) -> None:
        gone = in_child(FLUSHED, backend)
        assert gone == "no", (
            "code built by it makes the whole process flush subnormal numbers to zero; is -ffast-math or -Ofast among its flags?"
        )


FLUSHED = """
import sys
import numpy as np
from tjcore import CompiledGraph
from tjcore.conformance.graphs import statistics

sample = statistics()
CompiledGraph(sample.outputs, backend=sys.argv[1])(**sample.arrays({"B": 3, "H": 5}))
print("yes" if (np.full(4, 5e-324) * 1.0 == 0).any() else "no")
"""
"""Builds, loads and calls a graph in a fresh process; says whether NumPy has lost its smallest numbers since."""

COUNT_BUILDS = """
import hashlib, sys
from tjcore import CompiledGraph
from tjcore.conformance.graphs import statistics
from tjcore.hookspecs import hookimpl
from tjcore.plugins import manager

class Counter:
    builds = 0

    @hookimpl(wrapper=True)
    def tensorjit_compile(self, unit):
        self.builds += unit.suffix != ".txt"
        return (yield)

counter = Counter()
manager().add(counter, "counter")
sample = statistics()
outputs = CompiledGraph(sample.outputs, backend=sys.argv[1])(**sample.arrays({"B": 3, "H": 5}))
print(counter.builds, hashlib.sha256(b"".join(o.tobytes() for o in outputs)).hexdigest())
"""
"""Builds a graph in a fresh process; says how many builds that took, and the bits it gave."""


def in_child(code: str, backend: str, settings: dict[str, str] | None = None) -> str:
    """What the code prints in a Python of its own, which sees the same installed packages."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), **(settings or {})}
    done = subprocess.run([sys.executable, "-c", code, backend], capture_output=True, text=True, env=environment, timeout=300, check=False)
    assert done.returncode == 0, f"a child process failed:\n{done.stderr}"
    return done.stdout.strip()


class TestInstallation:
    """What is installed, as a whole. Only when no backend was chosen: another plugin's fault is no fault of the one under test."""

    once = True

    def test_every_plugin_loads(self, every_backend: None) -> None:
        broken = [f"{row.toolchain} {row.plugin}: {row.detail}" for row in manager().status() if row.health == "broken"]
        assert not broken, "\n".join(["broken plugins:", *broken])
