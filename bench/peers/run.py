"""Run the peers side by side and save a JSON file and a Markdown table.

    python run.py --venvs DIR --work DIR --out results-YYYY-MM-DD [--stages ...] [--peers ...] [--groups ...]

DIR/<peer>/bin/python must exist for a peer to take part (README.md says how).
Groups are the outer loop, so peers that are compared run close together in time.
The JSON is rewritten after every step and is added to when it already exists.
"""

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
# peer -> variants; the first word of the column name is the venv
COLUMNS = [
    ("numpy", "default"),
    ("numexpr", "default"),
    ("numba", "default"),
    ("jax", "default"),
    ("torch", "eager"),
    ("torch", "compile"),
    ("torch", "compile_dyn"),
    ("onnxruntime", "default"),
    ("iree", "default"),
    ("tinygrad", "default"),
    ("tvm", "default"),
    ("tjcore", "gcc"),
    ("tjcore", "clang"),
]
GROUPS = [
    "elementwise_chain",
    "transcendental",
    "rowwise",
    "reductions",
    "seed_chain",
    "matmul",
    "mlp_block",
    "attention",
    "transformer_block",
    "conv_block",
    "transpose_add",
]
COMPILE = ["elementwise_chain/1e5", "seed_chain/256", "transformer_block/128"]
STAGES = ["limits", "import", "size", "dispatch", "bench", "dynamic", "compile", "rss", "temp"]
IMPORTS = {
    "numpy": "numpy",
    "numexpr": "numexpr",
    "numba": "numba",
    "jax": "jax",
    "torch": "torch",
    "onnxruntime": "onnxruntime",
    "iree": "iree.compiler, iree.runtime",
    "tinygrad": "tinygrad",
    "tvm": "tvm",
    "tjcore": "tjcore",
}
TOOLS = (
    "pip",
    "setuptools",
    "wheel",
    "psutil",
    "threadpoolctl",
    "_distutils_hack",
    "distutils-precedence",
    "pkg_resources",
    "distutils",
    "__pycache__",
)
NOT_OWN = {"iree": ("jax", "jaxlib", "opt_einsum", "scipy")}  # in the venv only as a front end


def col(peer, variant):
    return peer if variant == "default" else f"{peer}-{variant}"


class Runner:
    def __init__(self, a):
        self.a, self.path = a, Path(a.out).with_suffix(".json")
        self.data = json.loads(self.path.read_text()) if self.path.exists() else {}
        self.columns = [c for c in COLUMNS if (not a.peers or c[0] in a.peers or col(*c) in a.peers) and self.py(c[0]).exists()]
        Path(a.work, "ref").mkdir(parents=True, exist_ok=True)

    def py(self, peer):
        return Path(self.a.venvs, peer, "bin", "python")

    def save(self):
        tmp = self.path.with_suffix(".tmp")
        tmp.write_text(json.dumps(self.data, indent=1, ensure_ascii=False))
        tmp.replace(self.path)

    def env(self, threads, cache=None, share=True):
        """cache: folder for every on-disk cache of the peer. share=False: peers that always cache find that folder, the others keep none."""
        e = {k: v for k, v in os.environ.items() if k not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "PYTHONDONTWRITEBYTECODE")}
        for k in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "NUMBA", "TVM"):
            e[f"{k}_NUM_THREADS"] = str(threads)
        e.update(
            NUM_CPU_THREADS=str(threads),
            BENCH_REF_CACHE=str(Path(self.a.work, "ref")),
            BENCH_QUICK=str(self.a.quick),
            TORCHINDUCTOR_CACHE_DIR=str(cache or Path(self.a.work, "inductor")),
            PYTHONWARNINGS="ignore",
        )
        if cache:
            e["XDG_CACHE_HOME"] = str(cache)
            if share:
                e["BENCH_PEER_CACHE"] = str(cache)
        return e

    def call(self, peer, variant, threads, *args, cache=None, share=True, timeout=900):
        cmd = [str(self.py(peer)), str(HERE / f"peer_{peer}.py"), "--variant", variant, "--threads", str(threads), *args]
        if threads == 1:
            cmd = ["taskset", "-c", str(self.a.cpu)] + cmd
        t = time.perf_counter()
        try:
            p = subprocess.run(
                cmd, env=self.env(threads, cache, share), check=False, capture_output=True, text=True, timeout=timeout, cwd=self.a.work
            )
            lines = [x for x in p.stdout.splitlines() if x.startswith("{")]
            r = json.loads(lines[-1]) if lines else {"error": f"rc {p.returncode}: " + p.stderr[-600:]}
        except subprocess.TimeoutExpired:
            r = {"error": f"timeout {timeout}s"}
        for path, name in ((HERE, "<harness>"), (self.a.work, "<work>"), (Path(self.a.venvs).resolve(), "<venvs>")):
            if "error" in r:  # no paths of this machine in the results
                r["error"] = r["error"].replace(str(path), name).replace(str(path)[1:], name)
        r["process_wall_s"] = round(time.perf_counter() - t, 3)
        print(
            f"{time.strftime('%H:%M:%S')} {col(peer, variant):18s} {threads}T {' '.join(args):60s} {r['process_wall_s']:7.1f}s"
            f" steal={r.get('noise', {}).get('steal_frac')} {r.get('error', '')[:200]}",
            flush=True,
        )
        return r

    # ------------------------------------------------------------- stages
    def limits(self):
        exe = Path(self.a.work, "machine_limits")
        subprocess.run(["gcc", "-O3", "-march=native", "-fopenmp", str(HERE / "machine_limits.c"), "-o", str(exe)], check=True)
        for t in (1, 2):
            p = subprocess.run(
                (["taskset", "-c", str(self.a.cpu)] if t == 1 else []) + [str(exe)],
                env=self.env(t),
                capture_output=True,
                text=True,
                check=True,
            )
            self.data.setdefault("limits", {}).setdefault(str(t), []).append(json.loads(p.stdout))
        cpu = subprocess.run(["lscpu"], check=False, capture_output=True, text=True).stdout
        self.data["machine"] = {
            "platform": platform.platform(),
            "lscpu": [
                l
                for l in cpu.splitlines()
                if l.split(":")[0]
                in ("Model name", "CPU family", "Model", "CPU(s)", "L1d cache", "L2 cache", "L3 cache", "Hypervisor vendor")
            ],
        }

    def imports(self):
        for peer in dict.fromkeys(p for p, _ in self.columns):
            for label, code in (("python", "pass"), ("numpy", "import numpy"), ("peer", "import " + IMPORTS[peer])):
                ts = []
                for i in range(6):
                    t = time.perf_counter()
                    rc = subprocess.run(
                        [str(self.py(peer)), "-c", code], env=self.env(2), cwd=self.a.work, check=False, capture_output=True
                    ).returncode
                    if i:
                        ts.append(time.perf_counter() - t)
                self.data.setdefault("import", {}).setdefault(peer, {})[label] = {"median": statistics.median(ts), "min": min(ts), "rc": rc}

    def size(self):
        for peer in dict.fromkeys(p for p, _ in self.columns):
            site = next(self.py(peer).parent.parent.glob("lib/python3*/site-packages"))
            parts = {}
            for d in site.iterdir():
                n = d.name.split("-")[0].split(".")[0]
                if n in TOOLS or n in NOT_OWN.get(peer, ()):
                    continue
                parts[n] = parts.get(n, 0) + int(
                    subprocess.run(["du", "-sk", str(d)], check=False, capture_output=True, text=True).stdout.split()[0]
                )
            top = {k: round(v / 1024, 1) for k, v in sorted(parts.items(), key=lambda x: -x[1])[:8]}
            self.data.setdefault("size_mib", {})[peer] = {"total": round(sum(parts.values()) / 1024, 1), "largest": top}

    def bench(self):
        for g in self.a.groups or GROUPS:
            for t in self.a.threads:
                for p, v in self.columns:
                    r = self.call(p, v, t, "--mode", "bench", "--group", g)
                    d = self.data.setdefault("bench", {}).setdefault(g, {}).setdefault(col(p, v), {}).setdefault(str(t), [])
                    d.append(r)
                    self.save()

    def each(self, stage, jobs, threads, warm=False):
        for args in jobs:
            for t in threads:
                for p, v in self.columns:
                    key = args[-1] if "--workload" in args else "all"
                    slot = self.data.setdefault(stage, {}).setdefault(key, {}).setdefault(col(p, v), {}).setdefault(str(t), [])
                    if warm:
                        c = tempfile.mkdtemp(prefix="cache-", dir=self.a.work)
                        r = {"cold": self.call(p, v, t, *args, cache=c), "warm": self.call(p, v, t, *args, cache=c)}
                        shutil.rmtree(c, ignore_errors=True)
                    elif stage in ("dynamic", "rss"):  # what they cache unasked must not come from an earlier run
                        c = tempfile.mkdtemp(prefix="cache-", dir=self.a.work)
                        r = self.call(p, v, t, *args, cache=c, share=False)
                        shutil.rmtree(c, ignore_errors=True)
                    else:
                        r = self.call(p, v, t, *args)
                    slot.append(r)
                    self.save()

    def go(self):
        for s in self.a.stages:
            print("==", s, flush=True)
            if s == "dispatch":
                self.each(s, [["--mode", "dispatch"]], self.a.threads)
            elif s == "dynamic":
                self.each(s, [["--mode", "dynamic", "--workload", w] for w in ("elementwise_chain", "mlp_block")], [2])
            elif s == "compile":
                self.each(s, [["--mode", "compile", "--workload", w] for w in COMPILE], [2], warm=True)
            elif s == "rss":
                self.each(s, [["--mode", "rss", "--workload", "seed_chain/1024"]], [2])
            elif s == "temp":
                self.each(s, [["--mode", "temp"]], [1])
            else:
                getattr(self, "imports" if s == "import" else s)()
            self.save()
        import report

        self.path.with_suffix(".md").write_text(report.render(self.data))


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--venvs", required=True)
    ap.add_argument("--work", required=True, help="scratch folder: references, caches, the compiled C program")
    ap.add_argument("--out", required=True)
    ap.add_argument("--stages", nargs="*", default=STAGES)
    ap.add_argument("--peers", nargs="*")
    ap.add_argument("--groups", nargs="*")
    ap.add_argument("--threads", nargs="*", type=int, default=[1, 2])
    ap.add_argument("--cpu", type=int, default=1, help="core for the one-thread runs")
    ap.add_argument("--quick", type=float, default=1.0)
    a = ap.parse_args()
    a.work = str(Path(a.work).resolve())
    sys.path.insert(0, str(HERE))
    Runner(a).go()
