"""Entries in one folder: look one up, build one, evict, sweep.

    <folder>/size                   about how many bytes lie in libraries/, so that not every process must count them
    <folder>/libraries/<key>/       a finished entry
    <folder>/building/<key>.lock    who holds its lock builds <key>
    <folder>/building/<key>.<id>/   an entry being built, or one on its way out

In: a folder (its place judged by `cache_folder`), a key, a function that builds. Out: an `Entry` whose files have been checked.

Laws
- An entry comes into being by one rename of a complete folder and goes by one rename out of the way. A process that dies at any moment
  leaves either a whole entry or something below `building/`, which nothing is ever loaded from.
- Nothing is returned that `cache_entry.read` has not checked in this very call.
- Time of check, time of use: the caller loads by path after the check. The folders are 0700 and ours, so only this user can write in
  between, and this package never writes to a finished entry; it only renames it away, and evicts none whose manifest is held (shared
  lock), as it is while an `Entry` lives. Removing a file that is mapped is harmless on POSIX systems.
- Locks are `flock` on open files: they work between threads as between processes, and the kernel frees them when their holder dies.
"""

import contextlib
import errno
import io
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tjcore import cache_entry, cache_folder
from tjcore.cache_entry import MANIFEST, Entry, Mismatch
from tjcore.cache_folder import Unusable
from tjcore.cache_lock import Lock, try_exclusive, try_lock
from tjcore.errors import CacheError

KEY = re.compile(r"[0-9a-f]{16,128}")
_PROBE = 1 << 20  # a disk that cannot take these bytes is full
_ROUNDS = 20  # how often somebody may remove the folder under our hands before we give it up
_RECOUNT = 256  # builds after which the sum on disk is counted anew
_SIZE_BYTES = 29  # the length of what the file `size` holds
_REFUSED = ".refused"

Build = Callable[[Path], Path]


class Store:
    """The entries below `folder`. Every method may raise `CacheError` (not to be trusted) or `Unusable` (not to be used)."""

    def __init__(self, folder: Path, version: str, bypass_foreign: bool = False) -> None:
        # The parent's symlinks are followed once, here; afterwards only the real path is used, so that exchanging a link changes nothing.
        self.folder = _resolve(folder.parent) / folder.name
        self.version = version
        self.bypass_foreign = bypass_foreign
        self.libraries = self.folder / "libraries"
        self.building = self.folder / "building"
        self._parents_checked = False
        self._swept = False

    def examine(self) -> bool:
        """Whether there is anything to look up; judges the folders."""
        if not self._parents_checked:
            cache_folder.check_parents(self.folder)
            self._parents_checked = True
        if not cache_folder.examine(self.folder, self.bypass_foreign):
            return False
        cache_folder.check_mount(self.folder)
        return cache_folder.examine(self.libraries)

    # -- looking up ------------------------------------------------------------------------------------------------------------------

    def lookup(self, key: str, built: bool = False) -> Entry | None:
        """The entry of `key` if it is whole, ours and of this version; None otherwise, whatever is wrong with it."""
        try:
            if not self.examine():
                return None
            return cache_entry.read(self.libraries / key, key, self.version, built, self)
        except (OSError, Mismatch):
            return None

    # -- building --------------------------------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Make the folders that are missing."""
        self.examine()
        if not cache_folder.examine(self.folder, self.bypass_foreign):
            cache_folder.make(self.folder)
        cache_folder.check_mount(self.folder)
        cache_folder.make(self.libraries)
        cache_folder.make(self.building)

    def fetch(self, key: str, build: Build, about: Mapping[str, str], patience: float) -> Entry:
        """The entry of `key`, from disk or built. One builder at a time; the others wait for its entry, up to `patience` seconds."""
        if not self._swept:
            self._swept = True
            self.sweep()
        for _ in range(_ROUNDS):  # each round is lost only to somebody removing the folder under our hands
            lock = self._wait(key, patience)
            if isinstance(lock, Entry):
                return lock
            with lock:
                entry = self.lookup(key) or self._build(key, build, about)
            if entry:
                return entry
        raise Unusable("entries vanish from it or do not keep what is written")

    def _wait(self, key: str, patience: float) -> "Entry | Lock":
        """Either the finished entry or the right to build it."""
        deadline, pause, vanished = time.monotonic() + patience, 0.001, 0
        while True:
            entry = self.lookup(key)
            if entry:
                return entry
            try:
                self.prepare()
                lock = try_lock(self.building / f"{key}.lock")
            except FileNotFoundError as error:
                lock, vanished = None, vanished + 1  # the folder was removed between two steps: make it again
                pause = 0.001
                if vanished > _ROUNDS:
                    raise cache_folder.unusable(error) from error
            except OSError as error:
                raise cache_folder.unusable(error) from error
            if lock:
                return lock
            if time.monotonic() > deadline:
                raise Busy(f"another process has been building the same library for more than {patience:.0f} seconds")
            time.sleep(pause)
            pause = min(pause * 1.5, 0.05)

    def _build(self, key: str, build: Build, about: Mapping[str, str]) -> Entry | None:
        """Build aside, seal, move into place, look up. None if the folder was removed meanwhile; the caller holds the lock."""
        self._clean(key)
        work = self.building / f"{key}.{os.urandom(8).hex()}"
        try:
            try:
                work.mkdir(0o700)
                work.chmod(0o700)
            except FileNotFoundError:
                return None
            except OSError as error:
                raise cache_folder.unusable(error) from error
            try:
                library = Path(build(work))
                if not os.path.lexists(library):
                    raise CacheError(f"a build returned {library}, and there is no such file")
            except Exception:
                if _gone(work):
                    return None
                _probe(work)  # raises `Unusable` on a full disk, whatever words the compiler had for it
                raise
            try:
                cache_entry.seal(work, key, self.version, library, about)
                self._place(work, self.libraries / key)
            except OSError as error:
                if isinstance(error, FileNotFoundError) or _gone(work):
                    return None
                raise cache_folder.unusable(error) from error
        finally:
            cache_folder.remove(work)
        return self.lookup(key, built=True)

    def _place(self, work: Path, final: Path) -> None:
        """One rename. What lies there already has been found wanting (or is as good as ours) and goes out of the way first."""
        try:
            work.rename(final)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise
            self.discard(final.name)
            work.rename(final)

    # -- removing --------------------------------------------------------------------------------------------------------------------

    def discard(self, key: str) -> None:
        """Take the entry away, whatever state it is in."""
        old = self.libraries / key
        aside = self.building / f"{key}.{os.urandom(8).hex()}"
        try:
            old.rename(aside)
        except OSError:
            if not os.path.lexists(old):
                return
            # A folder of another user cannot change its parent, but it can be renamed within ours.
            aside = self.libraries / f"{aside.name}{_REFUSED}"
            with contextlib.suppress(FileNotFoundError):
                old.rename(aside)
        cache_folder.remove(aside)

    def entries(self) -> Iterator[tuple[float, int, str]]:
        """Last use, bytes and key of each entry."""
        for name in _names(self.libraries):
            if KEY.fullmatch(name):
                total, used = cache_entry.size(self.libraries / name)
                yield used, total, name

    def grown(self, added: int) -> int:
        """About how many bytes the entries take, after one of `added` bytes was built.

        A running sum on disk: counting thousands of entries in each process that builds something would take longer than the compiler. It
        may be off by what was added in the very same moment, or by a process that died, and is put right after a number of builds.
        """
        try:
            with self._open_size() as file:
                if not try_exclusive(file):
                    return 0  # another process adds its own and sees to the limit
                total, builds = _numbers(file.read(_SIZE_BYTES) or b"")
                if builds >= _RECOUNT:
                    total, builds = sum(size for _, size, _ in self.entries()), 0
                else:
                    total, builds = total + added, builds + 1
                _write(file, total, builds)
                return total
        except OSError:
            return 0

    def _note_size(self, total: int, builds: int) -> None:
        with contextlib.suppress(OSError), self._open_size() as file:
            if try_exclusive(file):
                _write(file, total, builds)

    def _open_size(self) -> io.FileIO:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        return io.FileIO(self.folder / "size", "r+", opener=lambda name, _: os.open(name, flags, 0o600))

    def prune(self, max_bytes: int) -> tuple[int, int]:
        """Evict the least recently used entries that nobody holds until at most `max_bytes` remain. Returns bytes left and bytes freed."""
        found = sorted(self.entries())
        left = total = sum(size for _, size, _ in found)
        for _, size, key in found:
            if left <= max_bytes:
                break
            if self._evict(key):
                left -= size
        self._note_size(left, 0)
        return left, total - left

    def clear(self) -> int:
        """Remove every entry, held or not, and every leftover. Returns bytes freed."""
        freed = 0
        (self.folder / "size").unlink(missing_ok=True)
        for _, size, key in self.entries():
            self.discard(key)
            freed += size
        for place in (self.libraries, self.building):
            for name in _names(place):
                if name.endswith(_REFUSED):
                    cache_folder.remove(place / name)
        return freed

    def _evict(self, key: str) -> bool:
        """Discard the entry unless somebody holds it."""
        try:
            manifest = cache_entry.open_own(self.libraries / key / MANIFEST)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                return False  # no fault of the entry's
            self.discard(key)  # broken, so that nobody can hold it, or evicted by another process this moment
            return True
        except Mismatch:
            self.discard(key)
            return True
        with manifest:
            if not try_exclusive(manifest):
                return False
            self.discard(key)
        return True

    def sweep(self) -> None:
        """Remove what dead builders left: everything below `building/` whose key's lock is free."""
        with contextlib.suppress(OSError):  # a folder that is only read, or goes this moment
            if not (self.examine() and cache_folder.examine(self.building)):
                return
            for key in {name.partition(".")[0] for name in _names(self.building)}:
                if not KEY.fullmatch(key):
                    continue  # not one of ours
                lock = try_lock(self.building / f"{key}.lock")
                if not lock:
                    continue  # its builder is alive
                with lock:
                    self._clean(key)

    def _clean(self, key: str) -> None:
        """Remove what earlier builders of `key` left. They are dead: the caller holds the lock."""
        for name in _names(self.building):
            if name.startswith(f"{key}.") and name != f"{key}.lock":
                cache_folder.remove(self.building / name)


class Busy(Unusable):
    """Another process builds the same library and does not come to an end. The folder itself is fine."""


def _resolve(folder: Path) -> Path:
    """The real path of a folder that need not exist."""
    try:
        return folder.resolve()
    except (OSError, RuntimeError):  # a loop of symlinks; whoever opens it will say so
        return folder


def _names(folder: Path) -> list[str]:
    """The names in a folder; none where there is no folder to read."""
    try:
        return [path.name for path in folder.iterdir()]
    except OSError:
        return []


def _numbers(text: bytes) -> tuple[int, int]:
    """Bytes and builds since they were counted, from the file `size`; due to be counted if it is new or spoilt."""
    match = re.fullmatch(rb"(\d{18}) (\d{9})\n", text)
    return (int(match[1]), int(match[2])) if match else (0, _RECOUNT)


def _write(file: io.FileIO, total: int, builds: int) -> None:
    file.seek(0)
    file.write(b"%018d %09d\n" % (total, builds))  # always the same length: nothing old is left behind it


def _gone(folder: Path) -> bool:
    """Whether somebody removes the folder. A removal goes leaf by leaf, so the failure it causes may come a moment before its end."""
    for _ in range(6):
        if not os.path.lexists(folder):
            return True
        time.sleep(0.01)
    return False


def _probe(folder: Path) -> None:
    """Raise `Unusable` if nothing more can be written to `folder`."""
    path = folder / f"probe.{os.urandom(4).hex()}"
    try:
        with io.FileIO(path, "x") as file:
            left = _PROBE
            while left > 0:
                left -= file.write(bytes(left)) or left
    except OSError as error:
        raise cache_folder.unusable(error) from error
    finally:
        with contextlib.suppress(OSError):
            path.unlink()
