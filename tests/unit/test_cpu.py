"""What the CPU description means for keys, flags and widths."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import tjcore
from tjcore import cpu
from tjcore.errors import ToolchainError

Pretend = Callable[[str, str], None]
FAKE = ["sse2", "sse2 avx2 fma", "sse2 avx2 fma avx512f"]
V3 = "sse sse2 cx16 lahf_lm popcnt pni sse4_1 sse4_2 ssse3 abm avx avx2 bmi1 bmi2 f16c fma movbe xsave"


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Pretend:
    """Pretend to be a machine: its architecture and the text of its /proc/cpuinfo."""

    def pretend(arch: str, text: str) -> None:
        monkeypatch.setattr(cpu, "machine", lambda: arch)
        monkeypatch.setattr(cpu, "_cpuinfo", lambda: cpu.parse_cpuinfo(text))

    return pretend


def info(flags: str, model: str = "1", cores: int = 1) -> str:
    head = "processor\t: 0\nvendor_id\t: GenuineTest\ncpu family\t: 6\n"
    block = f"{head}model\t\t: {model}\nmodel name\t: Test: CPU @ 2 GHz\nflags\t\t: {flags}\n"
    return "\n".join([block] * cores)


# ---------------------------------------------------------------------------------------------------------------------- keys


def test_other_features_make_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu, "machine", lambda: "x86_64")
    native, generic = set(), set()
    for flags in FAKE:
        monkeypatch.setattr(cpu, "features", lambda flags=flags: frozenset(flags.split()))
        native.add(cpu.target_key("native"))
        generic.add(cpu.target_key("generic"))
    assert len(native) == 3 and generic == {"generic:x86_64"} and not native & generic


def test_other_descriptions_make_another_key(machine: Pretend) -> None:
    keys = set()
    for text in (*map(info, FAKE), info(FAKE[0], model="2")):
        machine("x86_64", text)
        keys.add(cpu.target_key("native"))
    assert len(keys) == 4


def test_flags_that_choose_no_instructions_do_not_matter(machine: Pretend) -> None:
    machine("x86_64", info("sse2 avx2"))
    before = cpu.target_key("native")
    machine("x86_64", info("avx2 hypervisor ibpb sse2 md_clear constant_tsc", cores=4))
    assert cpu.target_key("native") == before


def test_named_targets_do_not_depend_on_the_machine(machine: Pretend) -> None:
    machine("x86_64", info(V3))
    before = cpu.target_key("x86-64-v3"), cpu.target_key("znver4")
    machine("x86_64", info(V3 + " avx512f", model="2"))
    assert (cpu.target_key("x86-64-v3"), cpu.target_key("znver4")) == before
    assert len({*before, cpu.target_key("native"), cpu.target_key("generic")}) == 4


def test_architectures_differ_even_when_generic(machine: Pretend) -> None:
    machine("x86_64", "")
    here = cpu.target_key("generic")
    machine("aarch64", "")
    assert cpu.target_key("generic") != here


def test_the_key_is_the_same_in_every_process() -> None:
    script = "from tjcore import cpu; print(cpu.target_key('native'))"
    seen = set()
    for seed in ("0", "1"):
        environ = {"PYTHONPATH": str(Path(tjcore.__file__).parents[1]), "PATH": os.environ["PATH"], "PYTHONHASHSEED": seed}
        seen.add(subprocess.run([sys.executable, "-c", script], env=environ, capture_output=True, text=True, check=True).stdout)
    assert seen == {cpu.target_key("native") + "\n"}


# ------------------------------------------------------------------------------------------------------------------ features


def test_only_what_every_core_has_counts(machine: Pretend) -> None:
    machine("x86_64", info("sse2 avx2") + "\n" + info("sse2 avx2 avx512f"))
    assert cpu.features() == {"sse2", "avx2"}
    machine("aarch64", "processor: 0\nFeatures\t: fp asimd sve\nCPU part: 0xd40\n\nprocessor: 1\nFeatures : fp asimd\n\nHardware : board\n")
    assert cpu.features() == {"fp", "asimd"}


@pytest.mark.parametrize(("arch", "expected"), [("x86_64", {"sse", "sse2"}), ("aarch64", {"fp", "asimd"}), ("riscv64", set())])
def test_without_a_description_the_architecture_decides(machine: Pretend, arch: str, expected: set[str]) -> None:
    machine(arch, "")
    assert cpu.features() == expected
    assert cpu.target_key("native").startswith(f"native:{arch}:")


@pytest.mark.skipif(not Path("/proc/cpuinfo").exists(), reason="there is no /proc/cpuinfo")
def test_this_machine_has_what_its_architecture_guarantees() -> None:
    baseline = {"x86_64": {"sse", "sse2"}, "aarch64": {"asimd", "fp"}}.get(cpu.machine(), set())
    assert cpu.features() >= baseline


def test_macos_words_become_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    said = {"machdep.cpu.features": "FPU SSE SSE2 SSE3 SSE4.1 AVX1.0 FMA", "machdep.cpu.leaf7_features": "AVX2 BMI1"}
    monkeypatch.setattr(cpu, "_is_mac", lambda: True)
    monkeypatch.setattr(cpu, "_sysctl", lambda name: said.get(name, ""))
    monkeypatch.setattr(cpu, "_cpuinfo", tuple)
    monkeypatch.setattr(cpu, "machine", lambda: "x86_64")
    assert cpu.features() == {"fpu", "sse", "sse2", "pni", "sse4_1", "avx", "fma", "avx2", "bmi1"}
    assert cpu.vector_bytes("native") == 32
    monkeypatch.setattr(cpu, "machine", lambda: "aarch64")
    assert "asimd" in cpu.features()


# ------------------------------------------------------------------------------------------------------------------- targets


@pytest.mark.parametrize("target", ["", " ", "-O3", "native ", "a b", "x;y", "/bin/sh", "--param=x", "x\ny"])
def test_what_is_no_name_is_refused_everywhere(target: str) -> None:
    for question in (cpu.target_key, cpu.march_flags, cpu.vector_bytes, cpu.check_target):
        with pytest.raises(ToolchainError, match="is not a CPU name"):
            question(target)


def test_a_level_above_this_cpu_is_refused_with_what_is_missing(machine: Pretend) -> None:
    machine("x86_64", info(V3.replace(" fma", "").replace(" bmi2", "")))
    cpu.check_target("x86-64-v2")
    with pytest.raises(ToolchainError, match=r"'x86-64-v3' needs .* lacks: bmi2, fma; use 'native' or 'generic' \(TENSORJIT_TARGET\)"):
        cpu.target_key("x86-64-v3")
    machine("x86_64", info(V3))
    cpu.check_target("x86-64-v3")
    with pytest.raises(ToolchainError, match="avx512bw, avx512cd, avx512dq, avx512f, avx512vl"):
        cpu.march_flags("x86-64-v4")


def test_an_x86_level_elsewhere_is_refused(machine: Pretend) -> None:
    machine("aarch64", "Features: fp asimd\n")
    with pytest.raises(ToolchainError, match="is for x86_64 and this machine is aarch64"):
        cpu.check_target("x86-64-v2")


@pytest.mark.parametrize(("flags", "width"), [("sse2", 16), ("sse2 avx", 16), ("sse2 avx2", 32), ("sse2 avx2 avx512f", 64)])
def test_native_vectors_are_as_wide_as_the_cpu(machine: Pretend, flags: str, width: int) -> None:
    machine("x86_64", info(flags))
    assert (cpu.vector_bytes("native"), cpu.vector_bytes("generic")) == (width, 16)


def test_named_vectors_are_as_wide_as_the_name_says(machine: Pretend) -> None:
    machine("x86_64", info(V3 + " avx512f avx512bw avx512cd avx512dq avx512vl"))
    widths = {name: cpu.vector_bytes(name) for name in ("x86-64-v2", "x86-64-v3", "x86-64-v4", "haswell", "znver4", "unheard-of")}
    assert widths == {"x86-64-v2": 16, "x86-64-v3": 32, "x86-64-v4": 64, "haswell": 32, "znver4": 64, "unheard-of": 16}
    machine("aarch64", "Features: fp asimd sve\n")
    assert cpu.vector_bytes("native") == 16


def test_flags_name_the_target(machine: Pretend) -> None:
    machine("x86_64", info(V3))
    assert [cpu.march_flags(name) for name in ("generic", "native", "x86-64-v3")] == [(), ("-march=native",), ("-march=x86-64-v3",)]
    machine("aarch64", "Features: fp asimd\n")
    expected = {"native": "-mcpu=native", "neoverse-n1": "-mcpu=neoverse-n1", "armv8.2-a": "-march=armv8.2-a"}
    assert {name: cpu.march_flags(name) for name in expected} == {name: (flag,) for name, flag in expected.items()}


# ------------------------------------------------------------------------------------------------------------ caches and cores


def test_cache_sizes_grow_with_the_level() -> None:
    l1, l2, l3 = cpu.cache_sizes()
    assert 1 << 10 <= l1 <= l2 <= l3


def test_cache_sizes_come_from_sysfs_then_from_a_guess(monkeypatch: pytest.MonkeyPatch) -> None:
    def files(table: dict[str, str]) -> None:
        monkeypatch.setattr(cpu, "_read", lambda path: table.get(path.partition("/cache/")[2], ""))
        cpu.cache_sizes.cache_clear()

    monkeypatch.setattr(cpu, "_sysctl", lambda name: "")
    monkeypatch.setattr(os, "sysconf_names", {})
    try:
        split = {"index0/level": "1", "index0/type": "Instruction", "index0/size": "64K"}
        first = {"index1/level": "1", "index1/type": "Data", "index1/size": "48K"}
        second = {"index2/level": "2", "index2/type": "Unified", "index2/size": "2M"}
        files(split | first | second)
        assert cpu.cache_sizes() == (48 << 10, 2 << 20, 2 << 20)  # no third level: the last one repeats
        files({})
        assert cpu.cache_sizes() == (32 << 10, 256 << 10, 256 << 10)
    finally:
        cpu.cache_sizes.cache_clear()


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system has no affinity masks")
def test_cores_follow_the_affinity_mask() -> None:
    mask = os.sched_getaffinity(0)
    assert 1 <= cpu.usable_cores() <= len(mask) and 1 <= cpu.physical_cores() <= len(mask)
    try:
        os.sched_setaffinity(0, {min(mask)})
        assert (cpu.usable_cores(), cpu.physical_cores()) == (1, 1)
    finally:
        os.sched_setaffinity(0, mask)


def test_hyper_threads_share_a_core(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = {f"/sys/devices/system/cpu/cpu{number}/topology/core_cpus_list": f"{number % 4},{number % 4 + 4}" for number in range(8)}
    monkeypatch.setattr(cpu, "_sysctl", lambda name: "")
    monkeypatch.setattr(cpu, "_cpus", lambda: tuple(range(8)))
    monkeypatch.setattr(cpu, "_read", lambda path: pairs.get(path, ""))
    cpu._physical.cache_clear()
    try:
        assert cpu.physical_cores() == 4
    finally:
        cpu._physical.cache_clear()


@pytest.mark.parametrize(
    ("group", "files", "quota"),
    [
        ("0::/\n", {}, 0),
        ("0::/a/b\n", {"a/b/cpu.max": "max 100000", "a/cpu.max": "150000 100000"}, 1.5),
        ("0::/a/b\n", {"a/b/cpu.max": "50000 100000", "a/cpu.max": "150000 100000"}, 0.5),
        ("0::/on/the/host\n", {"cpu.max": "300000 100000"}, 3),  # a container sees its own group at the mount
        ("0::/../sibling\n", {"sibling/cpu.max": "200000 100000"}, 2),
        ("4:memory:/m\n3:cpu,cpuacct:/c\n", {"cpu,cpuacct/c/cpu.cfs_quota_us": "250000", "cpu,cpuacct/c/cpu.cfs_period_us": "100000"}, 2.5),
        ("1:cpu:/c\n", {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, 0),
        ("1:cpuset:/c\n", {"cpuset/c/cpu.cfs_quota_us": "100000", "cpuset/c/cpu.cfs_period_us": "100000"}, 0),
        ("nonsense\n\n", {"cpu.max": "a b"}, 0),
    ],
)
def test_the_quota_of_control_groups(tmp_path: Path, group: str, files: dict[str, str], quota: float) -> None:
    (tmp_path / "self").write_text(group)
    for name, text in files.items():
        (tmp_path / "fs" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "fs" / name).write_text(text + "\n")
    assert cpu._cgroup_quota(str(tmp_path / "self"), str(tmp_path / "fs")) == quota


@pytest.mark.parametrize(("quota", "cores"), [(0.0, 8), (0.5, 1), (1.5, 1), (2.0, 2), (64.0, 8)])
def test_a_quota_bounds_the_cores(monkeypatch: pytest.MonkeyPatch, quota: float, cores: int) -> None:
    monkeypatch.setattr(cpu, "_cpus", lambda: tuple(range(8)))
    monkeypatch.setattr(cpu, "_cgroup_quota", lambda: quota)
    assert cpu.usable_cores() == cores
