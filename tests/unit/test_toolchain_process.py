"""Compilers and the process around them: what is left in the temporary folder, and Ctrl-C during a compilation."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tjcore
from tjcore.plugins import manager

pytestmark = [
    pytest.mark.toolchain,
    pytest.mark.skipif("gcc" not in manager().toolchains, reason="the gcc plugin is not installed"),
]

# gcc; but a graph with the number 96 in it fails, after something was written.
WRAPPER = """#!/bin/sh
if grep -q 0x1.8p+6f graph.c 2>/dev/null; then
  echo half > "$TMPDIR/half.s"; echo half > graph.o; echo "no, not this one" >&2; exit 1
fi
exec gcc "$@"
"""
RUN = """
import sys, tempfile
import numpy as np
import tjcore
x = tjcore.input("x", (tjcore.Dim("N", 1, 8),))
for k in range(4):
    (y,) = tjcore.CompiledGraph([x * float(k) + 1.0], backend="gcc")(x=np.ones(3, np.float32))
    assert y.tolist() == [k + 1.0] * 3, y
    try:
        tjcore.CompiledGraph([x * float(k) + 96.0], backend="gcc")
    except tjcore.CompileError as error:
        assert "no, not this one" in str(error)
    else:
        raise AssertionError("the wrapper did not fail")
"""


def environment(tmp_path: Path, **settings: str) -> dict[str, str]:
    wrapper = tmp_path / "wrapper"
    wrapper.write_text(WRAPPER)
    wrapper.chmod(0o755)
    (tmp_path / "tmp").mkdir()
    source = str(Path(tjcore.__file__).parent.parent)
    return {**os.environ, "TENSORJIT_GCC": str(wrapper), "TMPDIR": str(tmp_path / "tmp"), "PYTHONPATH": source, **settings}


@pytest.mark.parametrize("cache", ["1", "0"])
def test_temporary_files_are_gone(tmp_path, cache):
    where = environment(tmp_path, TENSORJIT_CACHE_DIR=str(tmp_path / "cache"), TENSORJIT_CACHE=cache)
    done = subprocess.run([sys.executable, "-c", RUN], env=where, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "tmp").iterdir()) == []
    assert not list((tmp_path / "cache").rglob("half*")) if cache == "1" else not (tmp_path / "cache").exists()
    assert sorted(p.name for p in tmp_path.iterdir() if p.name != "cache") == ["tmp", "wrapper"]


INTERRUPTED = """
import json, sys
import numpy as np
import tjcore
x = tjcore.input("x", (tjcore.Dim("N", 1, 8),))
try:
    tjcore.CompiledGraph([x * 96.0], backend="gcc")
except KeyboardInterrupt:
    print("interrupted", flush=True)
print(json.dumps(tjcore.CompiledGraph([x * 2.0], backend="gcc")(x=np.ones(3, np.float32))[0].tolist()))
"""


def test_ctrl_c_while_compiling_leaves_nothing_and_the_process_goes_on(tmp_path):
    where = environment(tmp_path, TENSORJIT_CACHE_DIR=str(tmp_path / "cache"))
    started = tmp_path / "started"
    hang = f'echo half > "$TMPDIR/half.s"; echo $$ > {started}.part; mv {started}.part {started}; sleep 65 & sleep 66'
    (tmp_path / "wrapper").write_text(WRAPPER.replace("exit 1", hang))
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED], env=where, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        for _ in range(6000):
            if started.exists() or process.poll() is not None:
                break
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    first, second = out.splitlines()
    assert (first, json.loads(second)) == ("interrupted", [2, 2, 2])
    assert list((tmp_path / "tmp").iterdir()) == [] and not list((tmp_path / "cache").rglob("half*"))
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)
