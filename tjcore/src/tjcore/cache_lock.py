"""Locks that die with their holder.

In: a path, or an open file. Out: a lock or the news that another holds it; nothing here waits.

Law: a lock belongs to an open file (`flock`), so it excludes threads as well as processes, and the kernel frees it when its holder ends,
however it ends. A forked child never keeps a lock that its parent's thread holds.
"""

import contextlib
import fcntl
import io
import os
import weakref
from pathlib import Path
from types import TracebackType

from tjcore import cache_folder


class Lock:
    """An exclusive lock that a file's name stands for. The file goes when the lock does, so none pile up."""

    def __init__(self, file: io.FileIO, path: Path) -> None:
        self._file = file
        self._path = path
        _held.add(file)

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if cache_folder.same(self._file, self._path):
            with contextlib.suppress(OSError):
                self._path.unlink()
        self._file.close()


_held: "weakref.WeakSet[io.FileIO]" = weakref.WeakSet()


def _close_in_child() -> None:
    """A forked child inherits open files and with them the locks, but not the thread that would release them."""
    for file in list(_held):
        file.close()


os.register_at_fork(after_in_child=_close_in_child)


def try_lock(path: Path) -> Lock | None:
    """The lock, or None while another holds it. Raises `OSError` where there are no locks."""
    while True:
        # A file object rather than a descriptor: it closes itself (and frees the lock) if an interrupt arrives in the wrong moment.
        file = io.FileIO(path, "r+", opener=lambda name, _: os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
        try:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return None
        except BaseException:
            file.close()
            raise
        if cache_folder.same(file, path):
            return Lock(file, path)
        file.close()  # the holder before us removed the file with its lock: another round


def share(file: io.FileIO) -> bool:
    """A shared lock on an entry's manifest; False if it is being evicted. Where there are no locks nothing is ever built, nor evicted."""
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def try_exclusive(file: io.FileIO) -> bool:
    """An exclusive lock on an open file; False while anybody shares or holds it, or where there are no locks."""
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
