"""Entries in one folder: look one up, build one, evict, sweep.

    <folder>/libraries/<key>/       a finished entry: the library, its source, manifest.json
    <folder>/building/<key>.lock    who holds its lock builds <key>
    <folder>/building/<key>.<id>/   an entry being built, or one on its way out

In: a folder (its place judged by `cache_folder`), a key, a function that builds. Out: an `Entry` whose files have been checked.

Laws
- An entry comes into being by one rename of a complete folder and goes by one rename out of the way. A process that dies at any moment leaves
  either a whole entry or something below `building/`, which nothing is ever loaded from.
- Nothing is returned unless its manifest names this key and this version and every file is ours and has the size and hash that the manifest
  says. Since that is checked at every lookup, nothing needs to be flushed to disk: what a power cut mangles is built again.
- Time of check, time of use: the caller loads by path after the check. The folders are 0700 and ours, so only this user can write in between, and
  this package never writes to a finished entry; it only renames it away, and not while its manifest is held (shared lock), as it is
  while an `Entry` lives. Removing a file that is mapped is harmless on POSIX systems.
- Locks are `flock` on open files: they work between threads as between processes, and the kernel frees them when their holder dies.
"""

import contextlib
import errno
import hashlib
import io
import json
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from tjcore import cache_folder
from tjcore.cache_folder import Unusable
from tjcore.cache_lock import Lock, share, try_exclusive, try_lock
from tjcore.errors import CacheError

KEY = re.compile(r"[0-9a-f]{16,128}")
MANIFEST = "manifest.json"
_FORMAT = 1
_MANIFEST_MAX = 1 << 20  # bytes; a real one has a few hundred
_PROBE = 1 << 20  # a disk that cannot take these bytes is full
_REFUSED = ".refused"
_TOUCH_AFTER = 60.0  # seconds between two notes of use

Build = Callable[[Path], Path]


@dataclass(frozen=True, slots=True)
class Entry:
    """A checked library on disk. While it lives and is not released, no process evicts it; release it once the library is loaded."""

    key: str
    folder: Path
    library: Path
    source: Path | None
    manifest: Mapping[str, object]
    built: bool
    """Whether this call built it, rather than finding it."""
    _hold: io.FileIO = field(repr=False, compare=False)
    store: "Store" = field(repr=False, compare=False)
    """Where it lies; a private folder lasts as long as entries in it are in use."""

    def release(self) -> None:
        """Let other processes evict the entry. The files may vanish from now on; a loaded library stays."""
        self._hold.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.release()

    def __del__(self) -> None:
        self._hold.close()


class Store:
    """The entries below `folder`. Every method may raise `CacheError` (not to be trusted) or `Unusable` (not to be used)."""

    def __init__(self, folder: Path, version: str) -> None:
        # The parent's symlinks are followed once, here; afterwards only the real path is used, so that exchanging a link changes nothing.
        self.folder = Path(os.path.realpath(folder.parent)) / folder.name
        self.version = version
        self.libraries = self.folder / "libraries"
        self.building = self.folder / "building"
        self._parents_checked = False
        self._swept = False

    def examine(self) -> bool:
        """Whether there is anything to look up; judges the folders."""
        if not self._parents_checked:
            cache_folder.check_parents(self.folder)
            self._parents_checked = True
        if not cache_folder.examine(self.folder):
            return False
        cache_folder.check_mount(self.folder)
        return cache_folder.examine(self.libraries)

    # -- looking up ------------------------------------------------------------------------------------------------------------------

    def lookup(self, key: str, built: bool = False) -> Entry | None:
        """The entry of `key` if it is whole, ours and of this version; None otherwise, whatever is wrong with it."""
        folder = self.libraries / key
        try:
            if not self.examine():
                return None
            hold = _open(folder / MANIFEST)
        except (OSError, _Mismatch):
            return None
        try:
            if not share(hold):
                raise _Mismatch
            manifest, library = self._verify(key, folder, hold)
            if not cache_folder.same(hold, folder / MANIFEST):  # moved aside while we were reading
                raise _Mismatch
            _note_use(hold)
        except (OSError, _Mismatch):
            hold.close()
            return None
        except BaseException:
            hold.close()
            raise
        source = next((name for name in _files(manifest) if name.endswith(".c")), None)
        return Entry(key, folder, folder / library, folder / source if source else None, manifest, built, hold, self)

    def _verify(self, key: str, folder: Path, hold: io.FileIO) -> tuple[Mapping[str, object], str]:
        """Read the manifest and check everything it says. Raises `_Mismatch` or `OSError`."""
        found = os.lstat(folder)
        if not stat.S_ISDIR(found.st_mode) or cache_folder.fault(found):
            raise _Mismatch
        try:
            manifest = json.loads(hold.read(_MANIFEST_MAX) or b"")
        except ValueError:  # includes undecodable bytes
            raise _Mismatch from None
        if not isinstance(manifest, dict) or (manifest.get("format"), manifest.get("key"), manifest.get("tjcore")) != (_FORMAT, key, self.version):
            raise _Mismatch
        files, library = _files(manifest), manifest.get("library")
        if not isinstance(library, str) or library not in files:
            raise _Mismatch
        for name, said in files.items():
            if "/" in name or name in ("", ".", "..") or not isinstance(said, dict):
                raise _Mismatch
            with _open(folder / name) as file:
                if os.fstat(file.fileno()).st_size != said.get("bytes") or _hash(file) != said.get("sha256"):
                    raise _Mismatch
        return manifest, library

    # -- building --------------------------------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Make the folders that are missing."""
        self.examine()
        cache_folder.make(self.folder)
        cache_folder.check_mount(self.folder)
        cache_folder.make(self.libraries)
        cache_folder.make(self.building)

    def fetch(self, key: str, build: Build, about: Mapping[str, str], patience: float) -> Entry:
        """The entry of `key`, from disk or built. One builder at a time; the others wait for its entry, up to `patience` seconds."""
        if not self._swept:
            self._swept = True
            self.sweep()
        for _ in range(8):  # each round is lost only to somebody removing the folder under our hands
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
        deadline, pause = time.monotonic() + patience, 0.001
        while True:
            entry = self.lookup(key)
            if entry:
                return entry
            try:
                self.prepare()
                lock = try_lock(self.building / f"{key}.lock")
            except FileNotFoundError:
                lock = None  # the folder was removed between two steps: make it again
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
        work = self.building / f"{key}.{secrets.token_hex(8)}"
        try:
            try:
                os.mkdir(work, 0o700)
                os.chmod(work, 0o700)
            except OSError as error:
                if _gone(self.building):
                    return None
                raise cache_folder.unusable(error) from error
            try:
                library = build(work)
                if not os.path.lexists(library):
                    raise CacheError(f"a build returned {library}, and there is no such file")
            except Exception:
                if _gone(work):
                    return None
                _probe(work)  # raises `Unusable` on a full disk, whatever words the compiler had for it
                raise
            try:
                self._seal(work, key, library, about)
                self._place(work, self.libraries / key)
            except OSError as error:
                if _gone(work):
                    return None
                raise cache_folder.unusable(error) from error
        finally:
            _remove(work)
        return self.lookup(key, built=True)

    def _seal(self, work: Path, key: str, library: Path, about: Mapping[str, str]) -> None:
        """Make every file private, drop what is no file, and write the manifest."""
        library = Path(library)
        if library.parent != work or not stat.S_ISREG(os.lstat(library).st_mode):
            raise CacheError(f"a build must return a regular file directly in the folder it was given ({work}); it returned {library}")
        files: dict[str, dict[str, object]] = {}
        for item in sorted(os.scandir(work), key=lambda item: item.name):
            if not item.is_file(follow_symlinks=False) or item.name == MANIFEST:
                _remove(Path(item.path))
                continue
            os.chmod(item.path, 0o600)
            with _open(work / item.name) as file:
                files[item.name] = {"bytes": os.fstat(file.fileno()).st_size, "sha256": _hash(file)}
        manifest = {
            "format": _FORMAT,
            "key": key,
            "tjcore": self.version,
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "about": dict(sorted(about.items())),
            "library": library.name,
            "files": files,
        }
        with open(work / MANIFEST, "x", encoding="utf-8") as text:
            json.dump(manifest, text, indent=1)
        os.chmod(work / MANIFEST, 0o600)

    def _place(self, work: Path, final: Path) -> None:
        """One rename. What lies there already has been found wanting (or is as good as ours) and goes out of the way first."""
        try:
            os.rename(work, final)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise
            self.discard(final.name)
            os.rename(work, final)

    # -- removing --------------------------------------------------------------------------------------------------------------------

    def discard(self, key: str) -> None:
        """Take the entry away, whatever state it is in."""
        old = self.libraries / key
        aside = self.building / f"{key}.{secrets.token_hex(8)}"
        try:
            os.rename(old, aside)
        except FileNotFoundError:
            return
        except OSError:
            # A folder of another user cannot change its parent, but it can be renamed within ours.
            aside = self.libraries / f"{aside.name}{_REFUSED}"
            os.rename(old, aside)
        _remove(aside)

    def entries(self) -> Iterator[tuple[float, int, str]]:
        """Last use, bytes and key of each entry."""
        try:
            items = list(os.scandir(self.libraries))
        except OSError:
            return
        for item in items:
            if not KEY.fullmatch(item.name):
                continue
            used, total = 0.0, 0
            with contextlib.suppress(OSError):
                if item.is_dir(follow_symlinks=False):
                    for file in os.scandir(item.path):
                        found = file.stat(follow_symlinks=False)
                        total += found.st_size
                        used = found.st_mtime if file.name == MANIFEST else used
            yield used, total, item.name

    def prune(self, max_bytes: int) -> tuple[int, int]:
        """Evict the least recently used entries that nobody holds until at most `max_bytes` remain. Returns bytes left and bytes freed."""
        found = sorted(self.entries())
        left = total = sum(size for _, size, _ in found)
        for _, size, key in found:
            if left <= max_bytes:
                break
            if self._evict(key):
                left -= size
        return left, total - left

    def clear(self) -> int:
        """Remove every entry, held or not, and every leftover. Returns bytes freed."""
        freed = 0
        for _, size, key in self.entries():
            self.discard(key)
            freed += size
        for place in (self.libraries, self.building):
            for name in os.listdir(place) if os.path.isdir(place) else ():
                if name.endswith(_REFUSED):
                    _remove(place / name)
        return freed

    def _evict(self, key: str) -> bool:
        """Discard the entry unless somebody holds it."""
        try:
            manifest = _open(self.libraries / key / MANIFEST)
        except (OSError, _Mismatch):
            self.discard(key)  # broken (nobody can hold it), or evicted by another process this moment
            return True
        with manifest:
            if not try_exclusive(manifest):
                return False
            self.discard(key)
        return True

    def sweep(self) -> None:
        """Remove what dead builders left: everything below `building/` whose key's lock is free."""
        with contextlib.suppress(OSError):
            for key in {name.split(".")[0] for name in os.listdir(self.building)}:
                lock = try_lock(self.building / f"{key}.lock")
                if not lock:
                    continue  # its builder is alive
                with lock:
                    for name in os.listdir(self.building):
                        if name.startswith(f"{key}.") and name != f"{key}.lock":
                            _remove(self.building / name)


class Busy(Unusable):
    """Another process builds the same library and does not come to an end. The folder itself is fine."""


class _Mismatch(Exception):
    """What lies there is not the entry that was asked for."""


def _open(path: Path) -> io.FileIO:
    """A regular file of ours, open for reading; never through a symlink, never blocking on a pipe."""
    file = io.FileIO(path, "r", opener=lambda name, _: os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC))
    found = os.fstat(file.fileno())
    if stat.S_ISREG(found.st_mode) and not cache_folder.fault(found):
        return file
    file.close()
    raise _Mismatch


def _hash(file: io.FileIO) -> str:
    return hashlib.file_digest(file, "sha256").hexdigest()


def _files(manifest: Mapping[str, object]) -> dict[str, object]:
    files = manifest.get("files")
    return files if isinstance(files, dict) else {}


def _note_use(manifest: io.FileIO) -> None:
    """The manifest's time of change is the entry's last use."""
    age = time.time() - os.fstat(manifest.fileno()).st_mtime
    if not 0 <= age < _TOUCH_AFTER:
        with contextlib.suppress(OSError):  # a read-only folder
            os.utime(manifest.fileno())


def _gone(folder: Path) -> bool:
    """Whether somebody removes the folder. A removal goes leaf by leaf, so the failure it causes may come a moment before its end."""
    for _ in range(10):
        if not os.path.lexists(folder):
            return True
        time.sleep(0.01)
    return False


def _probe(folder: Path) -> None:
    """Raise `Unusable` if nothing more can be written to `folder`."""
    path = folder / f"probe.{secrets.token_hex(4)}"
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


def _remove(path: Path) -> None:
    """Remove a file or a whole folder, as far as possible."""
    try:
        path.unlink(missing_ok=True)
    except OSError:
        shutil.rmtree(path, ignore_errors=True)
