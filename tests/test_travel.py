"""Compiled graphs in other processes: sent by pickle and cloudpickle, rebuilt or found in the cache where they land, with the same bits."""

import multiprocessing
import os
import pickle
import shutil
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec

import numpy as np
import pytest

import tjcore as tj
from tjcore import CompiledGraph, Dim

pytestmark = pytest.mark.toolchain

N = Dim("N", 0, 1 << 20)
WEIGHTS = np.random.default_rng(0).standard_normal((8, 4)).astype(np.float32)


def model(**options):
    x = tj.input("x", (N, 8))
    return CompiledGraph([tj.nn.softmax(x @ tj.constant(WEIGHTS))], **options)


def rows(n):
    return np.random.default_rng(n).standard_normal((n, 8)).astype(np.float32)


def work(f, block):
    return os.getpid(), f(x=block)[0].tobytes(), f.calls, f.compilations, f.backend


@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_a_pool_of_processes_calls_it(method):
    f = model(threads=2, max_bytes="64 MiB")
    blocks = [rows(n) for n in (1, 7, 300, 0, 5000, 64)]
    want = [f(x=block)[0].tobytes() for block in blocks]
    with ProcessPoolExecutor(2, multiprocessing.get_context(method)) as pool:
        done = list(pool.map(work, [f] * len(blocks), blocks))
    assert [result for _, result, *_ in done] == want
    assert os.getpid() not in {pid for pid, *_ in done}
    assert {(calls, compilations, backend) for _, _, calls, compilations, backend in done} == {(1, 1, f.backend)}
    assert f.calls == len(blocks), "what happens to copies elsewhere is not counted here"


def test_another_process_finds_it_in_the_cache(tmp_path):
    """A graph that was built in one process is not built again in another that sees the same cache folder."""
    if shutil.which("gcc") is None or "gcc" not in tj.plugins.manager().toolchains:
        pytest.skip("needs gcc, whose calls are counted")
    log, wrapper = tmp_path / "log", tmp_path / "counting gcc"
    wrapper.write_text(f'#!/bin/sh\necho "$*" >> {log}\nexec gcc "$@"\n')
    wrapper.chmod(0o755)
    environment = os.environ | {"TENSORJIT_GCC": str(wrapper), "TENSORJIT_CACHE_DIR": str(tmp_path / "cache"), "TENSORJIT_BACKEND": "gcc"}

    def run(script):
        done = subprocess.run(
            [sys.executable, "-c", script, str(tmp_path / "f")], capture_output=True, text=True, env=environment, check=False
        )
        assert done.returncode == 0, done.stderr
        built = [line for line in log.read_text().splitlines() if " -o " in line]
        log.write_text("")
        return done.stdout, built

    path = f"import pickle, sys; sys.path.insert(0, {os.path.dirname(__file__)!r}); from test_travel import model, rows; "
    there, built = run(path + "f = model(); pickle.dump(f, open(sys.argv[1], 'wb')); print(f(x=rows(5))[0].tobytes().hex())")
    assert built
    here, again = run(path + "f = pickle.load(open(sys.argv[1], 'rb')); print(f(x=rows(5))[0].tobytes().hex())")
    assert (here, again) == (there, [])


def test_cloudpickle_takes_a_function_around_it():
    cloudpickle = pytest.importorskip("cloudpickle", reason="cloudpickle is not installed (tox -e dask has it)")
    f = model()
    again = pickle.loads(cloudpickle.dumps(lambda block: f(x=block)[0] + 1))
    np.testing.assert_array_equal(again(rows(9)), f(x=rows(9))[0] + 1)


@pytest.mark.skipif(find_spec("distributed") is None, reason="dask is not installed (tox -e dask has it)")
def test_dask_maps_it_over_the_blocks_of_an_array(tmp_path):
    """As a script, since dask's workers import the program that starts them."""
    script = tmp_path / "over_blocks.py"
    script.write_text(
        f"""
import sys
sys.path.insert(0, {os.path.dirname(__file__)!r})
import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster
from test_travel import model, rows

if __name__ == "__main__":
    f = model()
    whole = rows(10_000)
    with LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=None) as cluster, Client(cluster):
        blocks = da.from_array(whole, chunks=(3_000, 8))
        # what comes over the wire may lie at any address, and a compiled graph takes aligned arrays only
        result = blocks.map_blocks(lambda block: f(x=np.require(block, np.float32, "CA"))[0], dtype=np.float32, chunks=(3_000, 4))
        print(result.numblocks, result.compute().tobytes() == f(x=whole)[0].tobytes())
"""
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout.strip() == "(4, 1) True", done.stderr
