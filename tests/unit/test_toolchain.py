"""Compilers as they are found: commands with arguments and odd paths, wrappers, probes that fail or hang, fingerprints; and child processes."""

import os
import shutil
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from tjcore import child, toolchain
from tjcore.errors import ToolchainError, ToolchainUnavailable
from tjcore.toolchain import C11, GNU, CompilerToolchain, Toolchain

ODD = "a folder with späces, 'quotes' and 字"


@pytest.fixture
def cc(monkeypatch):
    monkeypatch.delenv("TENSORJIT_CC9", raising=False)
    return CompilerToolchain(
        name="cc9",
        dialect=C11,
        variable="TENSORJIT_CC9",
        programs=("cc9", "cc8"),
        flags=("-shared",),
        install="install it (Debian: apt-get install cc9)",
    )


def script(path: Path, text: str, mode: int = 0o755) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(mode)
    return path


def on_path(monkeypatch, *folders: Path) -> None:
    monkeypatch.setenv("PATH", os.pathsep.join([*map(str, folders), os.environ["PATH"]]))


# ---------------------------------------------------------------- the value
def test_a_toolchain_is_a_value(cc):
    assert hash(cc) == hash(cc)
    assert cc.unsupported == {} and cc.xfail == {}
    with pytest.raises(AttributeError):
        cc.name = "other"
    with pytest.raises(NotImplementedError, match="defines no command"):
        Toolchain(name="x", dialect=C11).command(Path("a.c"), Path("a.so"), ())
    assert C11.vectors is False and GNU.vectors is True


# ---------------------------------------------------------------- the command
def test_programs_are_tried_in_order(cc, monkeypatch, tmp_path):
    second = script(tmp_path / "bin" / "cc8", "echo eight")
    on_path(monkeypatch, tmp_path / "bin")
    assert cc.prefix() == [str(second)]
    first = script(tmp_path / "bin" / "cc9", "echo nine")
    assert cc.prefix() == [str(first)]
    first.chmod(0o644)  # somebody's file of that name is no program
    assert cc.prefix() == [str(second)]


def test_a_relative_path_entry_becomes_a_full_path(cc, monkeypatch, tmp_path):
    script(tmp_path / "cc9", "echo nine")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "." + os.pathsep + os.environ["PATH"])
    assert cc.prefix() == [str(tmp_path / "cc9")]
    monkeypatch.setenv("TENSORJIT_CC9", "./cc9")
    assert cc.prefix() == [str(tmp_path / "cc9")]
    monkeypatch.setenv("TENSORJIT_CC9", "env ./cc9")
    assert cc.prefix() == [shutil.which("env"), str(tmp_path / "cc9")]


def test_a_path_with_spaces_is_one_word(cc, monkeypatch, tmp_path):
    program = script(tmp_path / ODD / "my cc", "echo mine")
    monkeypatch.setenv("TENSORJIT_CC9", str(program))
    assert cc.prefix() == [str(program)]
    assert cc.probe() == "mine"


def test_a_command_may_have_arguments(cc, monkeypatch, tmp_path):
    wrapper = script(tmp_path / "wrap", 'exec "$@"')
    program = script(tmp_path / ODD / "my cc", 'echo "mine $*"')
    quoted = str(program).replace("'", "'\"'\"'")
    monkeypatch.setenv("TENSORJIT_CC9", f"{wrapper} '{quoted}' -m32")
    assert cc.prefix() == [str(wrapper), str(program), "-m32"]
    assert cc.probe() == "mine -m32 --version"
    assert cc.command(Path("/a b.c"), Path("/a b.so"), ["-I/x y"]) == [
        *(str(wrapper), str(program), "-m32", "-shared", "-I/x y", "-o", "/a b.so", "/a b.c", "-lm")
    ]


def test_home_is_expanded(cc, monkeypatch, tmp_path):
    program = script(tmp_path / "bin" / "mine", "echo mine")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TENSORJIT_CC9", "~/bin/mine")
    assert cc.prefix() == [str(program)]


def test_the_name_a_wrapper_is_called_by_is_kept(cc, monkeypatch, tmp_path):
    """ccache, called by a link named gcc, is gcc; by its real path it is ccache."""
    script(tmp_path / "real" / "masquerade", 'basename "$0"')
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "cc9").symlink_to(tmp_path / "real" / "masquerade")
    on_path(monkeypatch, tmp_path / "bin")
    assert cc.probe() == "cc9"


# ---------------------------------------------------------------- the probe
def test_absent_and_broken_are_told_apart(cc, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolchainUnavailable):
        cc.probe()
    monkeypatch.setenv("TENSORJIT_CC9", "/no/such/cc")
    with pytest.raises(ToolchainError) as caught:
        cc.probe()
    assert not isinstance(caught.value, ToolchainUnavailable), "what somebody has named and is not there is broken, not absent"


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("echo; echo one; echo two", "one"),
        ("echo words >&2", "words"),
        ("echo warning >&2; echo version", "version"),
        ("true", "cc9 (says no version)"),
        (r"printf '\377\376 garbage\033[2J\n'", "\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER} garbage?[2J"),
        ('echo "$LC_ALL"', "C"),
        ("head -c 3000000 /dev/zero | tr '\\0' x", "x" * toolchain.SHOWN_VERSION),
        ("cat", "cc9 (says no version)"),  # which would wait for a terminal
    ],
)
def test_what_a_program_answers(cc, monkeypatch, tmp_path, text, version):
    script(tmp_path / "cc9", text)
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    on_path(monkeypatch, tmp_path)
    assert cc.probe() == version


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("echo no licence >&2; exit 3", "failed with exit code 3: no licence"),
        ("exit 1", "failed with exit code 1: it said nothing"),
        ("kill -9 $$", "failed with signal 9"),
        ("sleep 60 & sleep 60", "did not answer within"),
        ("while :; do echo y; done", "did not answer within"),
    ],
)
def test_a_program_that_does_not_answer_is_broken(cc, monkeypatch, tmp_path, text, words):
    if "answer" in words:
        monkeypatch.setattr(toolchain, "PROBE_SECONDS", 0.3)
    script(tmp_path / "cc9", text)
    on_path(monkeypatch, tmp_path)
    for _ in range(2):
        with pytest.raises(ToolchainError, match=words) as caught:
            cc.probe()
        assert "set TENSORJIT_CC9 to one that works" in str(caught.value)
        assert not isinstance(caught.value, ToolchainUnavailable)


def test_a_probe_is_remembered_until_the_program_changes(cc, monkeypatch, tmp_path):
    log = tmp_path / "log"
    program = script(tmp_path / "cc9", f"echo asked >> {log}; echo one")
    on_path(monkeypatch, tmp_path)
    assert [cc.probe() for _ in range(3)] == ["one"] * 3
    assert log.read_text() == "asked\n"
    script(program, f"echo asked >> {log}; echo another")
    assert cc.probe() == "another"


def test_a_program_that_fails_is_asked_once(cc, monkeypatch, tmp_path):
    log = tmp_path / "log"
    program = script(tmp_path / "cc9", f"echo asked >> {log}; exit 1")
    on_path(monkeypatch, tmp_path)
    for _ in range(3):
        with pytest.raises(ToolchainError):
            cc.probe()
    assert log.read_text() == "asked\n"
    script(program, "echo mended")
    assert cc.probe() == "mended"


# ---------------------------------------------------------------- the fingerprint
def test_the_fingerprint_follows_the_programs_and_the_flags(cc, monkeypatch, tmp_path):
    program = script(tmp_path / "cc9", "echo one")
    wrapper = script(tmp_path / "wrap", 'exec "$@"')
    on_path(monkeypatch, tmp_path)
    plain = cc.fingerprint()
    assert plain == cc.fingerprint()
    monkeypatch.setenv("TENSORJIT_CC9", f"{wrapper} {program}")
    wrapped = cc.fingerprint()
    script(program, "echo one # rebuilt, and of the same version")
    rebuilt = cc.fingerprint()
    monkeypatch.setenv("TENSORJIT_CC9", f"{wrapper} {program} -m32")
    assert len({plain, wrapped, rebuilt, cc.fingerprint()}) == 4
    monkeypatch.delenv("TENSORJIT_CC9")
    other = CompilerToolchain(name="cc9", dialect=C11, variable="TENSORJIT_CC9", programs=("cc9",), flags=("-O2",), install="")
    assert other.fingerprint() != cc.fingerprint()


def test_target_flags_only_where_they_are_understood(cc):
    assert cc.target_flags("native") == ()
    gnu = CompilerToolchain(name="g", dialect=GNU, variable="TENSORJIT_G", programs=("g",), flags=(), install="", march=True)
    assert gnu.target_flags("native") and gnu.target_flags("generic") == ()


# ---------------------------------------------------------------- child processes
proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes through /proc")


def running(group: int) -> list[str]:
    """The living processes of a group; one that is dead and waits to be reaped does not count."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            state, _, pgrp = (entry / "stat").read_text().rpartition(")")[2].split()[:3]
        except (OSError, ValueError):
            continue
        if int(pgrp) == group and state != "Z":
            found.append(entry.name)
    return found


def settled(group: int) -> bool:
    for _ in range(100):
        if not running(group):
            return True
        time.sleep(0.02)
    return False


@proc
def test_a_deadline_takes_the_children_of_a_wrapper_along(tmp_path):
    pid = tmp_path / "pid"
    program = script(tmp_path / "slow", f"echo $$ > {pid}; echo started; sleep 61 & sleep 62")
    start = time.monotonic()
    with pytest.raises(child.TimedOut, match="started"):
        child.run([str(program)], seconds=1)
    assert time.monotonic() - start < 10
    assert settled(int(pid.read_text()))


@proc
def test_ctrl_c_takes_them_along_too(tmp_path):
    pid = tmp_path / "pid"
    program = script(tmp_path / "slow", f"sleep 63 & echo $$ > {pid}.part; mv {pid}.part {pid}; sleep 64")

    def interrupt():
        for _ in range(500):
            if pid.exists():
                break
            time.sleep(0.01)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            child.run([str(program)], seconds=30)
    finally:
        thread.join()
    assert settled(int(pid.read_text()))


def test_a_server_that_stays_behind_holds_nobody_up(tmp_path):
    """A compile server keeps its starter's pipes open; its starter has ended, and that is what counts."""
    program = script(tmp_path / "cc", f"{sys.executable} -c 'import os, time; os.setsid(); time.sleep(5)' & echo done")
    start = time.monotonic()
    assert child.run([str(program)], seconds=30).out == "done\n"
    assert time.monotonic() - start < 4


def test_output_is_bounded_and_drained(tmp_path):
    program = script(tmp_path / "loud", "head -c 5000000 /dev/zero; head -c 3000000 /dev/zero >&2; exit 7")
    done = child.run([str(program)], seconds=30)
    assert (done.code, len(done.out), len(done.err)) == (7, child.MOST_OUTPUT, child.MOST_OUTPUT)


def test_what_a_compiler_sees(tmp_path, monkeypatch):
    for name in ("DEPENDENCIES_OUTPUT", "CCC_OVERRIDE_OPTIONS", "CFLAGS"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    folder = tmp_path / ODD
    folder.mkdir()
    program = script(tmp_path / "cc", 'env; echo "in $(pwd)"; cat')
    said = child.run([str(program)], seconds=30, folder=folder).out.splitlines()
    assert f"in {folder}" in said and f"TMPDIR={folder}" in said and "LC_ALL=C" in said and "CFLAGS=x" in said
    assert not [line for line in said if line.startswith(("DEPENDENCIES_OUTPUT", "CCC_OVERRIDE_OPTIONS"))]


def test_a_killed_child_tells_its_signal(tmp_path):
    assert child.run([str(script(tmp_path / "cc", "kill -TERM $$"))], seconds=30).code == -signal.SIGTERM


@proc
def test_nothing_stays_open(tmp_path):
    program = script(tmp_path / "cc", "true")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        child.run([str(program)], seconds=30)
        with pytest.raises(OSError):
            child.run([str(tmp_path / "none")], seconds=30)
    assert len(os.listdir("/proc/self/fd")) == before
