"""The disk cache of built libraries, as the rest of tjcore sees it.

In: a key (`digest` of everything the library depends on) and a function that builds it. Out: an `Entry`, a checked library on disk.

Law: `fetch` gives a library that this user built for exactly this key, or raises. Whatever the disk holds (truncated, stale, foreign,
half-written, deleted meanwhile) costs at most a build. A folder that is merely unusable is bypassed with one warning; one that others could
have prepared is refused with `CacheError`.
"""

import hashlib
import os
import sys
import threading
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tjcore import cache_folder
from tjcore.cache_entry import Entry
from tjcore.cache_folder import Location, Unusable, locate
from tjcore.cache_store import KEY, Build, Busy, Store
from tjcore.errors import CacheError

__all__ = ["DEFAULT_BYTES", "Cache", "Entry", "Info", "Location", "digest", "locate", "open_cache"]

DEFAULT_BYTES = 1 << 30
_ROOM = 0.9  # evicting goes down to this share of the limit, so that a full cache is not searched at every build

_T = TypeVar("_T")


def digest(parts: Mapping[str, str | bytes]) -> str:
    """The key of named parts: sha256 in hex over names in sorted order, each name and value preceded by its kind and length.

    Lengths make it unambiguous (no two different mappings give the same bytes), sorting makes it independent of the order of insertion.
    """
    running = hashlib.sha256(b"tensorjit-cache-key-1\n")
    for name in sorted(parts):
        for part in (name, parts[name]):
            kind, data = (b"b", part) if isinstance(part, bytes) else (b"s", part.encode("utf-8", "surrogatepass"))
            running.update(b"%s%d:" % (kind, len(data)))
            running.update(data)
    return running.hexdigest()


@dataclass(frozen=True, slots=True)
class Info:
    """What `tensorjit cache info` tells."""

    folder: Path | None
    entries: int
    bytes: int
    limit: int
    problem: str
    """Why the folder is refused or bypassed; empty when it serves."""
    hits: int
    """Libraries that this process found."""
    builds: int
    """Libraries that this process built."""


def open_cache(
    where: Location | Path | None,
    *,
    version: str,
    enabled: bool = True,
    max_bytes: int = DEFAULT_BYTES,
    patience: float = 600.0,
    bypass_foreign: bool = False,
) -> "Cache":
    """A cache in the folder `where` (see `locate`). Touches nothing yet: folders are judged and made when needed.

    `version` is tjcore's; entries of another version are stale. With `enabled=False` libraries go to a private temporary folder, silently.
    `patience` is how many seconds to wait for another process that builds the same library before building it privately. With
    `bypass_foreign` a folder that another user owns is bypassed with a warning, like an unusable one, instead of refused.
    """
    if max_bytes < 0:
        raise CacheError(f"the limit of the cache must be a number of bytes, 0 or more, and is {max_bytes}")
    location = where if isinstance(where, Location) else Location(where, "" if where else "no folder was given")
    shared = Store(location.folder, version, bypass_foreign) if location.folder and enabled else None
    return Cache(location, shared, version, enabled, max_bytes, patience)


class Cache:
    """Built libraries on disk. Safe to use from many threads and processes at once, and after a fork."""

    def __init__(self, location: Location, shared: Store | None, version: str, enabled: bool, max_bytes: int, patience: float) -> None:
        self.location = location
        self.version = version
        self.enabled = enabled
        self.max_bytes = max_bytes
        self.patience = patience
        self._shared = shared
        self._may_build = True  # False: the shared folder is only read, having proved unfit to write to
        self._problem = "" if location.folder else location.problem
        self._unfit: set[str] = set()  # entries that do not load, in a folder from which we cannot remove them
        self._private: Store | None = None
        self._private_owner = 0
        self._lock = threading.Lock()
        self._hits = self._builds = 0
        _all.add(self)

    # -- the way in ------------------------------------------------------------------------------------------------------------------

    def fetch(self, key: str, build: Build, *, about: Mapping[str, str] | None = None) -> Entry:
        """The library of `key`, found or built by `build(folder)`, which writes into `folder` and returns the library's path there.

        Every regular file that `build` leaves becomes part of the entry (`source` is the first `.c`). What `build` raises passes through
        and leaves nothing behind. `about` is written to the manifest for people to read (toolchain, target).
        """
        if not KEY.fullmatch(key):
            raise CacheError(f"a cache key is 16 to 128 lower-case hex digits, as `digest` makes them; got {key!r}")
        entry = self._fetch_shared(key, build, about or {}) or self._fetch_private(key, build, about or {})
        with self._lock:
            self._builds += entry.built
            self._hits += not entry.built
        _log("DEBUG", "%s %s", "built" if entry.built else "found", entry.library)
        return entry

    def load(self, key: str, build: Build, opener: Callable[[Path], _T], *, about: Mapping[str, str] | None = None) -> _T:
        """`opener(path)` (such as dlopen) on the library of `key`, which cannot be evicted meanwhile.

        Once more if `opener` raises `OSError` on a library from disk: somebody removed it, or it needs a shared library that is gone
        since it was built. An `OSError` on a library built just now is the caller's to see.
        """
        for attempt in range(3):
            with self.fetch(key, build, about=about) as entry:
                try:
                    return opener(entry.library)
                except OSError as error:
                    vanished = not os.path.lexists(entry.library)
                    if attempt == 2 or (entry.built and not vanished):
                        raise
                    if not vanished:
                        _log("INFO", "cannot load %s (%s); building it again", entry.library, error)
                        self._drop(entry)
        raise AssertionError("not reached")

    def _drop(self, entry: Entry) -> None:
        """Take an entry that does not load out of the way."""
        store = self._shared if self._shared and entry.folder.parent == self._shared.libraries else self._private
        try:
            if store:
                store.discard(entry.key)
        except OSError:
            self._unfit.add(entry.key)

    def _fetch_shared(self, key: str, build: Build, about: Mapping[str, str]) -> Entry | None:
        """From the user's folder; None where that is to be bypassed."""
        if not self._shared:
            if self.enabled:
                cache_folder.warn_once(None, self._problem)
            return None
        try:
            if key in self._unfit:
                return None
            if not self._may_build:
                return self._shared.lookup(key)  # what lies in a full or read-only folder may still serve
            entry = self._shared.fetch(key, build, about, self.patience)
        except Busy as problem:
            _log("INFO", "%s; building it privately", problem)
            return None
        except Unusable as problem:
            self._problem = str(problem)
            self._may_build = False
            cache_folder.warn_once(self.location.folder, self._problem)
            return None
        if entry.built:
            self._bound(self._shared, entry)
        return entry

    def _fetch_private(self, key: str, build: Build, about: Mapping[str, str]) -> Entry:
        """From a folder of this process alone."""
        try:
            return self._private_store().fetch(key, build, about, self.patience)
        except Unusable as problem:
            folder = self._private.folder if self._private else "?"
            self._private = None  # the next call makes a new one, perhaps elsewhere
            message = f"the private temporary folder {folder} cannot be used: {problem}. Set TMPDIR to a folder with room"
            raise CacheError(message) from problem

    def _private_store(self) -> Store:
        with self._lock:
            # A forked child makes its own: the parent's is removed when the parent exits.
            if not self._private or self._private_owner != os.getpid():
                folder, alive = cache_folder.make_private()
                self._private, self._private_owner = Store(folder, self.version), os.getpid()
                # Runs at exit, or once neither this cache nor any entry needs the folder.
                weakref.finalize(self._private, cache_folder.remove_private, self._private.folder, alive, self._private_owner)
            return self._private

    # -- its size --------------------------------------------------------------------------------------------------------------------

    def _bound(self, store: Store, entry: Entry) -> None:
        """After a build: keep the folder within its limit. The new entry is held by its caller and so survives."""
        if store.grown(entry.bytes) <= self.max_bytes:
            return
        try:
            left, freed = store.prune(int(self.max_bytes * _ROOM))
        except OSError as error:  # an entry that cannot be removed is no reason to fail a call whose library is ready
            _log("INFO", "cannot evict from %s: %s", store.folder, error)
        else:
            _log("INFO", "evicted %d bytes from %s, %d are left", freed, store.folder, left)

    def info(self) -> Info:
        """The state of the folder. Raises nothing: trouble is in `problem`."""
        problem, found = self._problem, []
        if self._shared:
            try:
                if self._shared.examine():
                    found = list(self._shared.entries())
            except (CacheError, Unusable, OSError) as trouble:
                problem = str(trouble)
        return Info(self.location.folder, len(found), sum(size for _, size, _ in found), self.max_bytes, problem, self._hits, self._builds)

    def prune(self, max_bytes: int | None = None) -> int:
        """Evict least recently used entries until at most `max_bytes` (or the cache's limit) remain; none in use. Returns bytes freed."""
        return self._shrink(lambda store: store.prune(self.max_bytes if max_bytes is None else max_bytes)[1])

    def clear(self) -> int:
        """Remove every entry, in use or not (a loaded library stays loaded), and all leftovers. Returns bytes freed."""
        return self._shrink(lambda store: store.clear())

    def _shrink(self, step: Callable[[Store], int]) -> int:
        if not self._shared:
            return 0
        try:
            if not self._shared.examine():
                return 0
            self._shared.sweep()
            return step(self._shared)
        except (OSError, Unusable) as problem:
            raise CacheError(f"the cache folder {self.location.folder} cannot be changed: {problem}") from problem


def _log(level: str, message: str, *args: object) -> None:
    """To the logger `tensorjit.cache`, unless nobody can be listening: importing `logging` takes longer than finding a library."""
    logging = sys.modules.get("logging")
    if logging:
        logging.getLogger("tensorjit.cache").log(getattr(logging, level), message, *args)


_all: "weakref.WeakSet[Cache]" = weakref.WeakSet()


def _renew_locks() -> None:
    """A fork may happen while another thread holds the lock; that thread does not exist in the child."""
    for cache in _all:
        cache._lock = threading.Lock()


os.register_at_fork(after_in_child=_renew_locks)
