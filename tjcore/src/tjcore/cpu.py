"""What CPU this is, as far as code generation and the cache need to know.

In: the operating system's own description of the processor. Out: names of instruction-set features, cache sizes, core counts, and for
a *target* (`native`, `generic`, a level such as `x86-64-v3`, or any name the compiler knows) its flags, vector width and cache key.

Law: two machines get the same `target_key(t)` only if code built for `t` on one may run on the other. `native` therefore carries
the features and the model; `generic` carries the architecture alone.
"""

import functools
import math
import os
import platform
import re
import sys
from pathlib import Path

from tjcore.errors import ToolchainError

_TARGET = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")
# The x86 flags that decide which instructions a compiler may emit. The kernel lists many more (bugs, mitigations, virtualisation) that
# change with its version, and a cache key that changed with them would miss for nothing.
_X86_ISA = re.compile(
    r"sse\w*|ssse3|pni|avx\w*|amx_\w*|fma4?|xop|tbm|f16c|bmi[12]|abm|lzcnt|popcnt|movbe|cx16|lahf_lm|aes|vaes|v?pclmulqdq|sha_ni|gfni|adx|"
    r"xsave\w*|rdrand|rdseed|prfchw|3dnow\w*|mmx\w*|cmov|fxsr|clflushopt|clwb|fsgsbase|sm3|sm4|sha512|apx_?f?"
)
_X86_V1 = frozenset({"sse", "sse2"})
_X86_V2 = _X86_V1 | {"cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2", "ssse3"}
_X86_V3 = _X86_V2 | {"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave"}
_X86_V4 = _X86_V3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
_LEVELS: dict[str, frozenset[str]] = {"x86-64": _X86_V1, "x86-64-v2": _X86_V2, "x86-64-v3": _X86_V3, "x86-64-v4": _X86_V4}
# Named x86 processors whose vectors are wider than the baseline. A name missing here costs speed and never correctness, since the
# compiler splits or joins vectors as it must.
_WIDE_64 = re.compile(
    r"x86-64-v4|znver[4-9]|skylake-avx512|cascadelake|cooperlake|cannonlake|icelake.*|tigerlake|rocketlake|"
    r"sapphirerapids|emeraldrapids|graniterapids.*"
)
_WIDE_32 = re.compile(
    r"x86-64-v3|znver[1-3]|bdver4|haswell|broadwell|skylake|alderlake|raptorlake|meteorlake|arrowlake.*|lunarlake|sierraforest|core-avx2"
)


def machine() -> str:
    """The architecture, in one spelling per kind: `x86_64`, `aarch64`, or what the system calls it."""
    name = platform.machine().lower()
    return {"amd64": "x86_64", "x64": "x86_64", "arm64": "aarch64"}.get(name, name or "unknown")


@functools.cache
def _cpuinfo() -> tuple[dict[str, str], ...]:
    """One table per processor of /proc/cpuinfo; empty where there is none."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ()
    return parse_cpuinfo(text)


def parse_cpuinfo(text: str) -> tuple[dict[str, str], ...]:
    """Split the text of /proc/cpuinfo into its blocks, keys in lower case."""
    blocks = []
    for block in re.split(r"\n\s*\n", text.strip()):
        pairs = (line.split(":", 1) for line in block.splitlines() if ":" in line)
        table = {key.strip().lower(): value.strip() for key, value in pairs}
        if table:
            blocks.append(table)
    return tuple(blocks)


def _is_mac() -> bool:
    return platform.system() == "Darwin"


@functools.cache
def _sysctl(name: str) -> str:
    """One value of macOS's sysctl; an empty string elsewhere."""
    if not _is_mac():
        return ""
    import subprocess  # only here: it costs import time

    try:
        done = subprocess.run(["/usr/sbin/sysctl", "-n", name], capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def features() -> frozenset[str]:
    """The instruction-set features that *every* processor of this machine has, in the operating system's spelling, lower case.

    The intersection, because a machine may mix kinds of cores and the scheduler moves threads between them.
    """
    found = [frozenset(block[key].lower().split()) for block in _cpuinfo() for key in ("flags", "features") if key in block]
    if found:
        return frozenset.intersection(*found)
    if _is_mac():
        words = " ".join(_sysctl(f"machdep.cpu.{name}") for name in ("features", "leaf7_features", "extfeatures")).lower().split()
        return frozenset(_mac_name(word) for word in words) | (frozenset({"asimd"}) if machine() == "aarch64" else frozenset())
    # Nothing to read: claim no more than the architecture guarantees.
    return {"x86_64": _X86_V1, "aarch64": frozenset({"asimd", "fp"})}.get(machine(), frozenset())


def _mac_name(word: str) -> str:
    """macOS's spelling of an x86 feature in Linux's words."""
    known = {"avx1.0": "avx", "sse3": "pni", "sse4.1": "sse4_1", "sse4.2": "sse4_2", "lzcnt": "abm", "lahf": "lahf_lm", "rdrand": "rdrand"}
    return known.get(word, word.replace(".", "_"))


def model() -> str:
    """Vendor, family and model as one word: what `-march=native` and `-mcpu=native` choose their tuning by."""
    first = next(iter(_cpuinfo()), {})
    keys = ("vendor_id", "cpu family", "model", "cpu implementer", "cpu architecture", "cpu part", "cpu variant")
    words = [first[key] for key in keys if key in first] or [_sysctl("machdep.cpu.brand_string") or platform.processor() or "unknown"]
    return re.sub(r"[^A-Za-z0-9.]+", "-", " ".join(words)).strip("-")


def check_target(target: str) -> None:
    """Raise `ToolchainError` if `target` is no possible name, or a known level that this CPU does not reach."""
    advice = "use 'native' or 'generic' (TENSORJIT_TARGET)"
    if not _TARGET.fullmatch(target):
        raise ToolchainError(f"target {target!r} is not a CPU name such as 'x86-64-v3'; {advice}")
    needed = _LEVELS.get(target)
    if needed is None:
        return
    if machine() != "x86_64":
        raise ToolchainError(f"target {target!r} is for x86_64 and this machine is {machine()}; {advice}")
    missing = sorted(needed - features())
    if missing:
        raise ToolchainError(f"target {target!r} needs CPU features that this machine lacks: {', '.join(missing)}; {advice}")


def target_key(target: str) -> str:
    """What of this machine goes into a cache key when code is built for `target`. Raises `ToolchainError` as `check_target` does."""
    check_target(target)
    if target == "generic":
        return f"generic:{machine()}"
    if target == "native":
        here = features()
        relevant = sorted(name for name in here if _X86_ISA.fullmatch(name)) if machine() == "x86_64" else sorted(here)
        return f"native:{machine()}:{model()}:{','.join(relevant)}"
    return f"{target}:{machine()}"


def vector_bytes(target: str) -> int:
    """The width in bytes of the vectors worth generating for `target`: 16, 32 or 64."""
    check_target(target)
    if machine() != "x86_64":
        return 16
    if target == "native":
        here = features()
        return 64 if "avx512f" in here else 32 if "avx2" in here else 16
    return 64 if _WIDE_64.fullmatch(target) else 32 if _WIDE_32.fullmatch(target) else 16


def march_flags(target: str) -> tuple[str, ...]:
    """The flags that make a compiler with gcc's or clang's command line generate code for `target`."""
    check_target(target)
    if target == "generic":
        return ()
    if machine() == "x86_64" or re.match(r"armv\d|rv\d", target):
        return (f"-march={target}",)
    # Elsewhere -mcpu names a processor and implies the architecture, while -march takes architecture names only.
    return (f"-mcpu={target}",)


def _read(path: str) -> str:
    """The text of a small system file, or an empty string."""
    try:
        return Path(path).read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""


def _bytes(text: str) -> int:
    """`32K` or `1M` or `4096` in bytes; 0 when it is none of them."""
    match = re.fullmatch(r"(\d+)([KMG]?)", text)
    return int(match[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[match[2]] if match else 0


def _cpus() -> tuple[int, ...]:
    """The numbers of the logical processors that this process may run on, where the system tells."""
    if sys.platform == "linux":
        try:
            return tuple(sorted(os.sched_getaffinity(0)))
        except OSError:
            pass
    return tuple(range(os.cpu_count() or 1))


@functools.cache
def cache_sizes() -> tuple[int, int, int]:
    """Bytes of the first-level data cache, the second and the third level, as one core sees them.

    A level that does not exist repeats the one below, so that the last number always is the last level's size.
    """
    found: dict[int, int] = {}
    folder = f"/sys/devices/system/cpu/cpu{_cpus()[0]}/cache"
    for index in range(8):
        level, kind, size = (_read(f"{folder}/index{index}/{name}") for name in ("level", "type", "size"))
        if level.isdigit() and kind in ("Data", "Unified") and _bytes(size):
            found[int(level)] = _bytes(size)
    for number, mac, posix in (
        (1, "hw.l1dcachesize", "SC_LEVEL1_DCACHE_SIZE"),
        (2, "hw.l2cachesize", "SC_LEVEL2_CACHE_SIZE"),
        (3, "hw.l3cachesize", "SC_LEVEL3_CACHE_SIZE"),
    ):
        if number not in found:
            asked = _bytes(_sysctl(mac)) or (os.sysconf(posix) if posix in os.sysconf_names else 0)
            if asked > 0:
                found[number] = asked
    l1 = found.get(1, 32 << 10)
    l2 = found.get(2) or max(l1, 256 << 10)
    return l1, l2, found.get(3) or l2


@functools.cache
def _physical(cpus: tuple[int, ...]) -> int:
    cores = set()
    for cpu in cpus:
        place = f"/sys/devices/system/cpu/cpu{cpu}/topology"
        siblings = _read(f"{place}/core_cpus_list") or _read(f"{place}/thread_siblings_list")
        cores.add(siblings or str(cpu))
    return max(1, len(cores))


def physical_cores() -> int:
    """How many physical cores lie behind the processors that this process may run on (two hyper-threads of one core count once)."""
    counted = _sysctl("hw.physicalcpu")
    return int(counted) if counted.isdigit() and int(counted) > 0 else _physical(_cpus())


def usable_cores() -> int:
    """How many processors this process can keep busy: its affinity mask, cut down to the quota of its control groups (at least 1).

    A quota of 1.5 processors counts as 1: a thread more than the quota is stopped for the rest of each period, and the others wait for it.
    """
    count = len(_cpus())
    quota = _cgroup_quota()
    return max(1, min(count, math.floor(quota))) if quota else max(1, count)


def _cgroup_quota(proc: str = "/proc/self/cgroup", root: str = "/sys/fs/cgroup") -> float:
    """The tightest CPU quota, in processors, of this process's control group and those above it; 0 for none."""
    quotas: list[float] = []
    for line in _read(proc).splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers and "cpu" not in controllers.split(","):
            continue
        # Inside a container the path may be the host's while the mount shows only the container's part: the walk ends at the mount, which
        # then is the container's own group.
        parts = [part for part in path.split("/") if part not in ("", "..")]
        for depth in range(len(parts), -1, -1):
            mounts, version = ((f"{root}/{controllers}", f"{root}/cpu"), 1) if controllers else ((root,), 2)
            quotas.extend(_quota_of("/".join([mount, *parts[:depth]]), version) for mount in mounts)
    return min((quota for quota in quotas if quota), default=0.0)


def _quota_of(folder: str, version: int) -> float:
    """The quota of one control group, in processors; 0 for none."""
    if version == 2:
        quota, _, period = _read(f"{folder}/cpu.max").partition(" ")
    else:
        quota, period = _read(f"{folder}/cpu.cfs_quota_us"), _read(f"{folder}/cpu.cfs_period_us")
    if quota.isdigit() and period.isdigit() and int(period) > 0:
        return int(quota) / int(period)
    return 0.0
