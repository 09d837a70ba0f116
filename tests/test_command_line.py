"""The last part of the design's page: the commands that show the whole thing working, and the benchmark."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.toolchain
ROOT = Path(__file__).resolve().parent.parent


def run(*arguments):
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    return done.returncode, done.stdout, done.stderr


def test_python_m_tjcore_shows_the_whole_thing_working():
    code, out, err = run("-m", "tjcore")
    assert code == 0, out + err
    accuracy = re.search(r"accuracy.*?(\d+\.\d+)\s*%", out)
    assert accuracy and float(accuracy[1]) >= 97
    assert re.search(r"compilations: 1\b", out)
    assert re.search(r"k0 .*matmul", out), "the kernels, with the ops each fused"
    planned, unshared = (
        int(n.replace(",", "")) for n in re.search(r"([\d,]+) bytes of temporaries planned, ([\d,]+) unshared", out).groups()
    )
    assert 0 < planned < unshared
    assert "different" not in out


def bench(*arguments):
    return run("-m", "bench.bench_tensorjit", *map(str, arguments))


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    target = tmp_path_factory.mktemp("bench") / "out.json"
    code, out, err = bench("--sizes", 4, 16, "--repeat", 3, "--output", target)
    assert code == 0, out + err
    return json.loads(target.read_text(encoding="utf-8"))


def test_benchmark_says_where_and_with_what_it_was_measured(report):
    for key in ("platform", "processor", "numpy", "compiler", "thread_environment", "compile_s"):
        assert report[key], key
    assert "OMP_NUM_THREADS" in report["thread_environment"]
    assert report["compile_s"]["fused"] > 0 and report["compile_s"]["unfused"] > 0


def test_benchmark_holds_samples_medians_kernels_and_bytes(report):
    assert [result["n"] for result in report["results"]] == [4, 16]
    for result in report["results"]:
        for way in ("numpy", "fused", "unfused"):
            samples = result["samples_s"][way]
            assert len(samples) == 3 and min(samples) > 0
            assert result["median_s"][way] == sorted(samples)[1]
        for way in ("fused", "unfused"):
            assert 0 < result[way]["temporary_bytes"] <= result[way]["unreused_temporary_bytes"]
        assert result["fused"]["kernels"] < result["unfused"]["kernels"]


def test_benchmark_checks_every_result(report):
    assert 0 <= report["largest_error"] < 1e-4
    assert report["largest_error"] == max(result["largest_error"] for result in report["results"])


@pytest.mark.parametrize(
    "arguments, words",
    [
        (("--sizes", 0, "--repeat", 1), "1..512, got 0"),
        (("--sizes", 513, "--repeat", 1), "1..512, got 513"),
        (("--sizes", 4, "--repeat", 0), "repeat"),
    ],
)
def test_benchmark_refuses_sizes_and_repeats_that_make_no_sense(arguments, words, tmp_path):
    code, _, err = bench(*arguments, "--output", tmp_path / "out.json")
    assert code != 0 and "ValueError" in err and words in err
    assert not (tmp_path / "out.json").exists()
