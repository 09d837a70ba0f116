"""Where the cache lies, and whether that place may be trusted and used.

In: settings and the process's surroundings. Out: a folder, or one of two refusals: `CacheError` for a place that somebody else could have
prepared (a symlink, an owner who is not us, write permission for others), `Unusable` for one that is merely no help (read-only, full,
mounted noexec, no home), which the caller answers by going on in a private temporary folder.

Law: every file that a library is loaded from lies in folders that are ours, are not symlinks, and that only we can write; those we make
have mode 0700 whatever the umask. Given that, nobody but this user can exchange a file between its check and its use. What is *not* guarded
against: programs of the same user, which could as well change the interpreter, and root and the owners of the folders above, who are
taken for the administrators of the place.
"""

import contextlib
import errno
import fcntl
import io
import os
import stat
import sys
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tjcore.errors import CacheError

VARIABLE = "TENSORJIT_CACHE_DIR"
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_PRIVATE = "tensorjit-private-"
_ABANDONED = 24 * 3600.0  # seconds after which a private folder without its sign of life is a wreck


class Unusable(Exception):
    """The place cannot be used, for a harmless reason. The text completes "... is not used: "."""


@dataclass(frozen=True, slots=True)
class Location:
    """Where the cache should lie. Without a folder, `problem` says why there is none."""

    folder: Path | None
    problem: str = ""


def locate(configured: str | None, environ: Mapping[str, str], platform: str = sys.platform) -> Location:
    """The cache folder: `configured` (the setting, or nothing) before the platform's own. Makes nothing; the home folder must exist."""
    if configured:
        try:
            return Location(Path(os.path.normpath(Path(configured).expanduser().absolute())))
        except (RuntimeError, OSError) as error:  # "~" without a home; a working directory that is gone
            return Location(None, f"{configured!r} cannot be made an absolute path ({error})")
    xdg = environ.get("XDG_CACHE_HOME", "")
    if Path(xdg).is_absolute():  # the XDG specification: a relative or an empty value counts as unset
        return Location(Path(xdg) / "tensorjit")
    home = environ.get("HOME", "") or _home_from_passwd()
    if not Path(home).is_absolute():
        return Location(None, f"HOME is not set to an absolute path and user {os.getuid()} has no home in the password database")
    if not os.access(home, os.F_OK):
        return Location(None, f"the home folder {home} does not exist")
    return Location(Path(home) / ("Library/Caches" if platform == "darwin" else ".cache") / "tensorjit")


def _home_from_passwd() -> str:
    import pwd  # rarely needed: HOME is nearly always set

    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return ""


def fault(found: os.stat_result) -> str:
    """What makes a file or folder untrustworthy, or an empty string. `found` must come from lstat or fstat."""
    if stat.S_ISLNK(found.st_mode):
        return "is a symlink"
    if found.st_uid != os.geteuid():
        return f"is owned by user {found.st_uid} and this is user {os.geteuid()}"
    if found.st_mode & _OTHERS_WRITE:
        return f"has permissions {stat.S_IMODE(found.st_mode):04o}, so others can write to it"
    return ""


def same(file: io.FileIO, path: Path) -> bool:
    """Whether the open `file` is still what lies at `path`."""
    try:
        there, here = os.lstat(path), os.fstat(file.fileno())
    except OSError:
        return False
    return (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)


def examine(folder: Path, bypass_foreign: bool = False) -> bool:
    """True for a folder that may be trusted, False where there is nothing. Raises `CacheError` or `Unusable`.

    With `bypass_foreign` a folder of another user is `Unusable`, as after `sudo` or in a container, rather than refused.
    """
    try:
        found = folder.lstat()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise unusable(error) from error
    if not stat.S_ISDIR(found.st_mode) and not stat.S_ISLNK(found.st_mode):
        raise Unusable("it is not a folder")
    wrong = fault(found)
    if wrong and bypass_foreign and stat.S_ISDIR(found.st_mode) and found.st_uid != os.geteuid():
        raise Unusable(f"it {wrong}")
    if wrong:
        link = stat.S_ISLNK(found.st_mode)
        remedy = "Name the folder that it points to" if link else f"Remove it, or make it yours alone (chown, chmod 700 {folder})"
        raise CacheError(f"the cache folder {folder} {wrong}: others could have put code there. {remedy}, or set {VARIABLE} to another")
    return True


def check_mount(folder: Path) -> None:
    """Raise `Unusable` if nothing in the existing `folder` may be executed."""
    if os.statvfs(folder).f_flag & getattr(os, "ST_NOEXEC", 0):
        raise Unusable("it is on a file system mounted noexec, from which no library can be loaded")


def check_parents(folder: Path) -> None:
    """Raise `Unusable` if a folder above lets every user exchange what is below it (world-writable without the sticky bit)."""
    for parent in folder.parents:
        try:
            mode = parent.lstat().st_mode
        except OSError:
            continue
        if stat.S_ISDIR(mode) and mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            raise Unusable(f"every user may write to {parent} above it and so could exchange it (chmod o-w {parent})")


def make(folder: Path) -> None:
    """Make `folder` and what is missing above it with mode 0700, whatever the umask, and judge it as `examine` does.

    Raises `FileNotFoundError` if somebody removes the folders meanwhile.
    """
    missing = []
    for place in (folder, *folder.parents):
        if os.path.lexists(place):
            break
        missing.append(place)
    for place in reversed(missing):
        try:
            place.mkdir(0o700)
            place.chmod(0o700)  # a umask can only take permissions away, yet it can take ours
        except FileExistsError:
            continue  # another process was quicker
        except FileNotFoundError:
            raise
        except OSError as error:
            raise unusable(error) from error
        wrong = fault(place.lstat())
        if wrong:  # made by ourselves this moment: no attack but a file system without owners or permissions
            with contextlib.suppress(OSError):
                place.rmdir()
            raise Unusable(f"its file system keeps no owners or permissions (a new folder {wrong})")
    examine(folder)


def _reason(error: OSError) -> str:
    """An `OSError` as the end of a sentence."""
    words = {
        errno.EROFS: "it is on a read-only file system",
        errno.EACCES: "it cannot be written (permission denied)",
        errno.EPERM: "it cannot be written (operation not permitted)",
        errno.ENOSPC: "its disk is full",
        errno.EDQUOT: "your disk quota is used up",
        errno.ENOTDIR: "a part of its path is not a folder",
        errno.ENOENT: "nothing can be made there",
        errno.ELOOP: "its path is a loop of symlinks",
    }
    text = words.get(error.errno or 0, f"{error.strerror or error}")
    return f"{text} [{error.filename}]" if error.filename else text


def unusable(error: OSError) -> Unusable:
    """The same trouble, said as `Unusable`."""
    return Unusable(_reason(error))


_warned: dict[str, object] = {}


def warn_once(folder: Path | None, problem: str) -> None:
    """Tell the user, once per process and folder, that the cache is bypassed."""
    mine = object()
    if _warned.setdefault(str(folder), mine) is not mine:  # one step, so that of many threads one warns
        return
    subject = f"the cache folder {folder} is not used" if folder else "there is no cache folder"
    warnings.warn(
        f"tensorjit: {subject}: {problem}. Libraries are built in a private temporary folder, which is removed at exit, so the next run "
        f"builds them again. Set {VARIABLE} to a folder of your own, on a disk that has room and allows programs to run.",
        RuntimeWarning,
        stacklevel=3,
    )


def remove(path: Path) -> None:
    """Remove a file or a whole folder, as far as possible."""
    try:
        path.unlink(missing_ok=True)
    except OSError:
        import shutil  # only here: it costs import time

        shutil.rmtree(path, ignore_errors=True)


def make_private() -> tuple[Path, io.FileIO]:
    """A new folder for this process alone, and the open file whose lock is its sign of life. To be removed by `remove_private`."""
    import tempfile  # only here: it costs import time, and most processes have a cache

    tried: list[str] = []
    for base in dict.fromkeys((tempfile.gettempdir(), "/tmp", "/var/tmp", "/dev/shm")):
        try:
            check_parents(Path(base) / _PRIVATE)
            check_mount(Path(base))
            _sweep_private(Path(base))
            folder = Path(tempfile.mkdtemp(prefix=_PRIVATE, dir=base))
            try:
                folder.chmod(0o700)
                return folder, _sign_of_life(folder)
            except BaseException:
                remove(folder)
                raise
        except (OSError, Unusable) as error:
            tried.append(f"{base} ({_reason(error) if isinstance(error, OSError) else error})")
    raise CacheError(f"no folder for built libraries; tried {', '.join(tried)}. Set {VARIABLE} or TMPDIR to a folder of your own with room")


def remove_private(folder: Path, alive: io.FileIO, owner: int) -> None:
    """Remove a private folder, unless this is a forked child: the folder is its parent's, which may still be loading from it."""
    if os.getpid() == owner:
        remove(folder)
    alive.close()


def _sign_of_life(folder: Path) -> io.FileIO:
    """A locked file `alive` in `folder`. It gets that name once it is locked, so that no sweep ever sees it unlocked while we live."""
    file = io.FileIO(folder / "starting", "x", opener=lambda name, flags: os.open(name, flags, 0o600))
    fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    (folder / "starting").rename(folder / "alive")
    return file


def _sweep_private(base: Path) -> None:
    """Remove what killed processes of this user have left in `base`."""
    for folder in base.glob(f"{_PRIVATE}*"):
        with contextlib.suppress(OSError):
            found = folder.lstat()
            if fault(found) or not stat.S_ISDIR(found.st_mode):
                continue
            try:
                with io.FileIO(folder / "alive", "r+") as file:
                    fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
                    remove(folder)
            except FileNotFoundError:
                if time.time() - found.st_mtime > _ABANDONED:  # killed in its first moment: there is nothing else in it
                    (folder / "starting").unlink(missing_ok=True)
                    folder.rmdir()
