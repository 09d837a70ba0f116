"""One entry of the cache: what lies in its folder, how it is sealed and how it is checked.

    <key>/manifest.json    format, key, tjcore, created, about, library (a name), files: name -> bytes, sha256
    <key>/<library>        and whatever else the build left, usually the source

In: a folder. Out: the same folder sealed (`seal`), or an `Entry` of it (`read`).

Law: `read` returns an entry only if its manifest names this key and this version, and every file it lists is a regular file of ours, which
others cannot write, with the size and the hash it lists. Since that is checked at every use, nothing needs to be flushed to disk: what a
power cut mangles is built again.
"""

import contextlib
import hashlib
import io
import json
import os
import stat
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from tjcore import cache_folder
from tjcore.cache_lock import share
from tjcore.errors import CacheError

MANIFEST = "manifest.json"
_FORMAT = 1
_MANIFEST_MAX = 1 << 20  # bytes; a real one has a few hundred
_TOUCH_AFTER = 60.0  # seconds between two notes of use


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
    hold: io.FileIO = field(repr=False, compare=False)
    """The open manifest, whose shared lock keeps the entry from being evicted."""
    keeper: object = field(repr=False, compare=False)
    """What must live as long as the entry does: a private folder goes with its owner."""

    @property
    def bytes(self) -> int:
        """The size of all its files together."""
        return size(self.folder)[0]

    def release(self) -> None:
        """Let other processes evict the entry. The files may vanish from now on; a loaded library stays."""
        self.hold.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.release()

    def __del__(self) -> None:
        self.hold.close()


class Mismatch(Exception):
    """What lies there is not the entry that was asked for."""


def read(folder: Path, key: str, version: str, built: bool, keeper: object) -> Entry:
    """The checked entry in `folder`. Raises `Mismatch` or `OSError` for anything else."""
    hold = open_own(folder / MANIFEST)
    try:
        if not share(hold):
            raise Mismatch  # being evicted
        manifest, library = _check(folder, key, version, hold)
        if not cache_folder.same(hold, folder / MANIFEST):
            raise Mismatch  # moved aside while we were reading
        _note_use(hold)
    except BaseException:
        hold.close()
        raise
    source = next((name for name in _files(manifest) if name.endswith(".c")), None)
    return Entry(key, folder, folder / library, folder / source if source else None, manifest, built, hold, keeper)


def _check(folder: Path, key: str, version: str, hold: io.FileIO) -> tuple[Mapping[str, object], str]:
    """The manifest and the library's name, once everything in the manifest has proved true."""
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or cache_folder.fault(found):
        raise Mismatch
    try:
        manifest = json.loads(hold.read(_MANIFEST_MAX) or b"")
    except (ValueError, RecursionError):  # no JSON, not even text, or made to exhaust the parser
        raise Mismatch from None
    expected = {"format": _FORMAT, "key": key, "tjcore": version}
    if not isinstance(manifest, dict) or any(manifest.get(name) != value for name, value in expected.items()):
        raise Mismatch
    files, library = _files(manifest), manifest.get("library")
    if not isinstance(library, str) or library not in files:
        raise Mismatch
    for name, said in files.items():
        if "/" in name or "\0" in name or name in ("", ".", "..") or not isinstance(said, dict):
            raise Mismatch
        with open_own(folder / name) as file:
            if os.fstat(file.fileno()).st_size != said.get("bytes") or _hash(file) != said.get("sha256"):
                raise Mismatch
    return manifest, library


def seal(work: Path, key: str, version: str, library: Path, about: Mapping[str, str]) -> None:
    """Make every file in `work` private, drop what is no file, and write the manifest."""
    if library.parent != work or not stat.S_ISREG(library.lstat().st_mode):
        raise CacheError(f"a build must return a regular file directly in the folder it was given ({work}); it returned {library}")
    files: dict[str, dict[str, object]] = {}
    for path in sorted(work.iterdir()):
        if path.name == MANIFEST or not stat.S_ISREG(path.lstat().st_mode):
            cache_folder.remove(path)
            continue
        path.chmod(0o600)
        with open_own(path) as file:
            files[path.name] = {"bytes": os.fstat(file.fileno()).st_size, "sha256": _hash(file)}
    manifest = {
        "format": _FORMAT,
        "key": key,
        "tjcore": version,
        "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "about": dict(sorted(about.items())),
        "library": library.name,
        "files": files,
    }
    with (work / MANIFEST).open("x", encoding="utf-8") as text:
        json.dump(manifest, text, indent=1)
    (work / MANIFEST).chmod(0o600)


def open_own(path: Path) -> io.FileIO:
    """A regular file of ours, open for reading; never through a symlink, never blocking on a pipe."""
    file = io.FileIO(path, "r", opener=lambda name, _: os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC))
    found = os.fstat(file.fileno())
    if stat.S_ISREG(found.st_mode) and not cache_folder.fault(found):
        return file
    file.close()
    raise Mismatch


def size(folder: Path) -> tuple[int, float]:
    """The bytes of an entry and its last use; what is missing or broken counts nothing and is the oldest."""
    total, used = 0, 0.0
    with contextlib.suppress(OSError), os.scandir(folder) as files:
        for file in files:
            found = file.stat(follow_symlinks=False)
            total += found.st_size
            if file.name == MANIFEST:
                used = found.st_mtime
    return total, used


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
