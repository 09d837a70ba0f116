"""Running a compiler: a child process without input, in the C locale, with a deadline and bounded output.

In: a command line. Out: `Finished`, its exit code and its words. Law: when `run` raises, whatever it is (KeyboardInterrupt included), the
child and all that it started in its process group are gone.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess

MOST_OUTPUT = 2**20
"""Bytes that are kept of each stream; a compiler may say more, but nobody reads it."""
_PAUSE = 0.1
# What makes gcc or clang write further files, or changes their command line behind our back and the cache's.
_UNWANTED = ("DEPENDENCIES_OUTPUT", "SUNPRO_DEPENDENCIES", "GCC_COMPARE_DEBUG", "CCC_OVERRIDE_OPTIONS")


@dataclass(frozen=True, slots=True)
class Finished:
    """How a child ended: `code` is its exit code, or minus the number of the signal that killed it."""

    code: int
    out: str
    err: str


class TimedOut(Exception):
    """The child was killed at its deadline. `words` is what it had said."""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        self.words = words


def run(command: Sequence[str], *, seconds: float, folder: Path | None = None) -> Finished:
    """Run to the end. OSError where the program cannot be started, TimedOut after `seconds`. `folder` is where it works and keeps scratch files."""
    import subprocess  # here, because most processes find all they need in the cache and start no compiler

    environment = {name: value for name, value in os.environ.items() if name not in _UNWANTED}
    environment["LC_ALL"] = "C"
    if folder is not None:
        environment["TMPDIR"] = str(folder)
    # A group of its own: a wrapper's children can be killed with it, and Ctrl-C reaches them through us, once.
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=environment,
        start_new_session=True,
    )
    try:
        out, err = _listen(process, time.monotonic() + seconds)
        return Finished(process.wait(), _text(out), _text(err))
    except BaseException:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        process.wait()
        raise
    finally:
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def _listen(process: subprocess.Popen[bytes], deadline: float) -> tuple[bytearray, bytearray]:
    """What the child says until it has ended: not until its pipes close, for a compile server that it started may hold them open."""
    import selectors
    import subprocess

    heard: dict[IO[bytes], bytearray] = {stream: bytearray() for stream in (process.stdout, process.stderr) if stream is not None}
    with selectors.DefaultSelector() as selector:
        for stream in heard:
            selector.register(stream, selectors.EVENT_READ)
        while selector.get_map():
            ended = process.poll() is not None
            ready = selector.select(0 if ended else _PAUSE)
            for key, _ in ready:
                piece = os.read(key.fd, 65536)
                if not piece:
                    selector.unregister(key.fileobj)
                said = heard[key.fileobj]  # type: ignore[index]  # what was registered above
                said += piece[: MOST_OUTPUT - len(said)]
            if ended and not ready:
                break
            if time.monotonic() > deadline and not ended:
                raise TimedOut(_words(*heard.values()))
    out, err = heard.values()
    try:
        process.wait(max(deadline - time.monotonic(), 0))  # it may have closed its pipes and work on
    except subprocess.TimeoutExpired:
        raise TimedOut(_words(out, err)) from None
    return out, err


def _words(*said: bytes | bytearray) -> str:
    return "\n".join(map(_text, said)).strip()


def _text(said: bytes | bytearray) -> str:
    return said.decode("utf-8", "replace")
