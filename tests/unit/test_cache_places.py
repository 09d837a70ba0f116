"""Where the cache lies, what is refused there and what is bypassed."""

import contextlib
import errno
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

import tjcore
from tjcore import cache_entry, cache_folder, cache_lock, cache_store
from tjcore.cache import Location, digest, locate, open_cache
from tjcore.errors import CacheError

KEY = digest({"name": "a"})
OTHER = 65534  # a user who is not the one running the tests
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")


def build(folder: Path) -> Path:
    (folder / "kernel.c").write_text("source")
    (folder / "kernel.so").write_bytes(b"library")
    return folder / "kernel.so"


@pytest.fixture
def shared_place() -> Iterator[Path]:
    """A folder that other users can reach (the one of the test run is closed to them)."""
    place = Path(tempfile.mkdtemp(prefix="tjcore-test-", dir="/tmp"))
    place.chmod(0o755)
    try:
        yield place
    finally:
        shutil.rmtree(place)


def child(script: str, *args: object, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a fresh interpreter, as `from tjcore.cache import ...` needs it."""
    source = str(Path(tjcore.__file__).parents[1])
    return subprocess.run(
        [sys.executable, "-c", script, *map(str, args)],
        env={"PYTHONPATH": source, "PATH": os.environ["PATH"], **environ},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@contextlib.contextmanager
def mounted(place: Path, options: str) -> Iterator[Path]:
    """A small file system in memory, or a skip where mounting is not allowed."""
    place.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(place)], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"cannot mount: {done.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


# -------------------------------------------------------------------------------------------------------------------- where


def test_the_setting_comes_first() -> None:
    environ = {"HOME": "/", "XDG_CACHE_HOME": "/xdg"}
    assert locate("/some/../where", environ) == Location(Path("/where"))
    assert locate("relative", environ).folder == Path.cwd() / "relative"
    assert locate("~/own", environ).folder == Path("~/own").expanduser()


def test_the_platform_decides_otherwise(tmp_path: Path) -> None:
    home = str(tmp_path)
    assert locate("", {"XDG_CACHE_HOME": "/xdg", "HOME": home}) == Location(Path("/xdg/tensorjit"))
    for unset in ("", "relative/path"):
        assert locate(None, {"XDG_CACHE_HOME": unset, "HOME": home}, "linux") == Location(tmp_path / ".cache/tensorjit")
    assert locate(None, {"HOME": home}, "darwin") == Location(tmp_path / "Library/Caches/tensorjit")


def test_a_home_that_is_missing_is_not_made(tmp_path: Path) -> None:
    found = locate(None, {"HOME": str(tmp_path / "nobody")})
    assert found.folder is None and "nobody does not exist" in found.problem
    assert not (tmp_path / "nobody").exists()


def test_without_home_the_password_database_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_folder, "_home_from_passwd", lambda: str(tmp_path))
    assert locate(None, {}, "linux").folder == tmp_path / ".cache/tensorjit"
    monkeypatch.setattr(cache_folder, "_home_from_passwd", lambda: "")
    found = locate(None, {})
    assert found.folder is None and "HOME" in found.problem


@as_root
def test_a_user_without_password_entry_still_compiles() -> None:
    script = """
import os, pwd, shutil, sys, tempfile, traceback
from tjcore.cache import *
os.setgroups([]); os.setgid(54321); os.setuid(54321)  # after the imports: the interpreter may be closed to others
def build(folder):
    (folder / "k.so").write_bytes(b"x")
    return folder / "k.so"
cache = open_cache(locate(None, os.environ), version="1")
for name in "ab":
    print(cache.fetch(digest({"n": name}), build).library.read_bytes())
"""
    done = child(script)
    assert done.stdout == "b'x'\nb'x'\n", done.stderr
    assert done.stderr.count("RuntimeWarning") == 1 and "54321" in done.stderr and "TENSORJIT_CACHE_DIR" in done.stderr


# ------------------------------------------------------------------------------------------------------------------- refused


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o1777, 0o757])
def test_a_folder_that_others_can_write_is_refused(tmp_path: Path, mode: int) -> None:
    place = tmp_path / "cache"
    place.mkdir()
    place.chmod(mode)
    cache = open_cache(place, version="1")
    with pytest.raises(CacheError, match=rf"{place} has permissions {mode:04o}.*chmod 700.*TENSORJIT_CACHE_DIR"):
        cache.fetch(KEY, build)
    with pytest.raises(CacheError, match="permissions"):
        cache.clear()
    assert list(place.iterdir()) == [] and "permissions" in cache.info().problem


def test_a_folder_that_is_a_symlink_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "cache").symlink_to(tmp_path / "real")
    with pytest.raises(CacheError, match="is a symlink"):
        open_cache(tmp_path / "cache", version="1").fetch(KEY, build)
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    with pytest.raises(CacheError, match="is a symlink"):
        open_cache(tmp_path / "dangling", version="1").fetch(KEY, build)
    assert list((tmp_path / "real").iterdir()) == [] and not (tmp_path / "nowhere").exists()


def test_a_symlink_above_is_followed_once(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir(mode=0o700)
    (tmp_path / "two").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "one")
    cache = open_cache(tmp_path / "link" / "cache", version="1")
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to(tmp_path / "two")
    assert cache.fetch(KEY, build).library.is_relative_to(tmp_path / "one")
    assert list((tmp_path / "two").iterdir()) == []


@pytest.mark.parametrize("inner", ["libraries", "building"])
def test_the_folders_inside_are_judged_as_well(tmp_path: Path, inner: str) -> None:
    cache = open_cache(tmp_path / "cache", version="1")
    cache.fetch(KEY, build).release()
    place = tmp_path / "cache" / inner
    place.chmod(0o777)
    with pytest.raises(CacheError, match=inner):
        open_cache(tmp_path / "cache", version="1").fetch(digest({"name": "b"}), build)
    place.chmod(0o700)
    place.rename(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / f"{KEY}.0").write_text("")
    place.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CacheError, match="symlink"):
        open_cache(tmp_path / "cache", version="1").fetch(digest({"name": "b"}), build)
    assert (tmp_path / "elsewhere" / f"{KEY}.0").exists()


@as_root
def test_a_folder_of_another_user_is_refused_or_on_demand_bypassed(tmp_path: Path) -> None:
    place = tmp_path / "cache"
    open_cache(place, version="1").fetch(KEY, build).release()
    os.chown(place, OTHER, -1)
    with pytest.raises(CacheError, match=f"{place} is owned by user {OTHER} and this is user 0"):
        open_cache(place, version="1").fetch(KEY, build)
    lenient = open_cache(place, version="1", bypass_foreign=True)
    with pytest.warns(RuntimeWarning, match=f"owned by user {OTHER}"):
        entry = lenient.fetch(KEY, build)
    assert entry.built and not entry.library.is_relative_to(place)


@as_root
@pytest.mark.parametrize("part", ["folder", "library", "manifest", "source"])
def test_an_entry_of_another_user_is_rebuilt(tmp_path: Path, part: str) -> None:
    cache = open_cache(tmp_path / "cache", version="1")
    entry = cache.fetch(KEY, build)
    manifest = entry.folder / "manifest.json"
    os.chown({"folder": entry.folder, "library": entry.library, "manifest": manifest, "source": entry.source}[part] or "", OTHER, -1)
    again = open_cache(tmp_path / "cache", version="1").fetch(KEY, build)
    assert again.built and {path.stat().st_uid for path in again.folder.iterdir()} == {0}


@as_root
def test_a_foreign_folder_that_cannot_be_moved_away_gives_way(shared_place: Path) -> None:
    # Without root's powers a folder of another user cannot be moved to another parent, and what is in it not be removed.
    cache = shared_place / "cache"
    (cache / "libraries" / KEY).mkdir(parents=True)
    (cache / "libraries" / KEY / "planted.so").write_bytes(b"evil")
    for path in (cache, cache / "libraries"):
        path.chmod(0o700)
        os.chown(path, OTHER, -1)
    script = """
import os, shutil, sys, tempfile, traceback
from pathlib import Path
from tjcore.cache import *
os.setgroups([]); os.setuid(65534)
def build(folder):
    (folder / "k.so").write_bytes(b"good")
    return folder / "k.so"
print(open_cache(Path(sys.argv[1]), version="1").fetch(sys.argv[2], build).library.read_bytes())
print(open_cache(Path(sys.argv[1]), version="1").fetch(sys.argv[2], build).built)
"""
    done = child(script, cache, KEY)
    assert (done.stdout, done.stderr) == ("b'good'\nFalse\n", "")


# ------------------------------------------------------------------------------------------------------------------ bypassed


def bypassed(place: Path | Location | None, match: str) -> None:
    """Two calls work, with one warning, outside the place."""
    cache = open_cache(place, version="1")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        first, second = cache.fetch(KEY, build), cache.fetch(KEY, build)
        other = open_cache(place, version="1").fetch(digest({"name": "b"}), build)
    assert [warning.category for warning in caught] == [RuntimeWarning]
    text = str(caught[0].message)
    assert match in text and "TENSORJIT_CACHE_DIR" in text and (not isinstance(place, Path) or str(place) in text)
    assert first.library == second.library and (first.built, second.built) == (True, False)
    for entry in (first, other):
        assert entry.library.read_bytes() == b"library"
        if isinstance(place, Path):
            assert not entry.library.is_relative_to(place)
        private = entry.folder.parents[1]
        for path in (private, *private.rglob("*")):
            assert path.stat().st_mode & 0o077 == 0
    assert match in cache.info().problem


def test_no_folder_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_folder, "_warned", {})
    bypassed(Location(None, "the home folder /nowhere/x does not exist"), "/nowhere/x does not exist")


def test_a_file_where_the_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    bypassed(tmp_path / "cache", "not a folder")
    (tmp_path / "file").write_text("")
    bypassed(tmp_path / "file" / "cache", "not a folder")


def test_a_place_where_nothing_can_be_made() -> None:
    if not Path("/proc/self").exists():
        pytest.skip("there is no /proc")
    bypassed(Path("/proc/self/tensorjit"), "nothing can be made there")


def test_a_parent_that_everybody_can_write(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    bypassed(tmp_path / "open" / "cache", "every user may write")
    (tmp_path / "open").chmod(0o1777)  # sticky, like /tmp: only owners can rename
    assert open_cache(tmp_path / "open" / "cache", version="1").fetch(KEY, build).library.is_relative_to(tmp_path)


def test_a_loop_of_symlinks(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    bypassed(tmp_path / "loop" / "cache", "loop of symlinks")


@as_root
@pytest.mark.parametrize("mode", [0o555, 0o500, 0o000])
def test_a_folder_without_permission_to_write(shared_place: Path, mode: int) -> None:
    place = shared_place / "cache"
    place.mkdir()
    os.chown(place, OTHER, -1)
    place.chmod(mode)
    script = """
import os, shutil, sys, tempfile, traceback
from pathlib import Path
from tjcore.cache import *
os.setgroups([]); os.setuid(65534)
def build(folder):
    (folder / "k.so").write_bytes(b"x")
    return folder / "k.so"
cache = open_cache(Path(sys.argv[1]), version="1")
for name in "aba":
    entry = cache.fetch(digest({"n": name}), build)
    print(entry.built, entry.library.read_bytes())
"""
    done = child(script, place)
    assert done.stdout == "True b'x'\nTrue b'x'\nFalse b'x'\n", done.stderr
    assert done.stderr.count("RuntimeWarning") == 1 and str(place) in done.stderr and "permission denied" in done.stderr
    assert list(place.iterdir()) == []


def test_a_read_only_file_system_still_serves_what_it_has(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "size=1m,mode=0700") as disk:
        open_cache(disk / "cache", version="1").fetch(KEY, build).release()
        if subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=False).returncode:
            pytest.skip("cannot remount")
        cache = open_cache(disk / "cache", version="1")
        assert not cache.fetch(KEY, build).built
        with pytest.warns(RuntimeWarning, match="read-only"):
            entry = cache.fetch(digest({"name": "b"}), build)
        assert entry.built and not entry.library.is_relative_to(disk)
        assert cache.fetch(KEY, build).library.is_relative_to(disk)
        # An entry that does not load there cannot be removed, and so is built privately.
        tries: list[Path] = []

        def opener(path: Path) -> Path:
            tries.append(path)
            if path.is_relative_to(disk):
                raise OSError("libmissing.so: cannot open shared object file")
            return path

        assert not cache.load(KEY, build, opener).is_relative_to(disk) and len(tries) == 2
        with pytest.raises(CacheError, match="cannot be changed"):
            cache.clear()


def test_a_noexec_file_system(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "size=1m,mode=0700,noexec") as disk:
        bypassed(disk / "cache", "noexec")


@pytest.mark.parametrize("size", ["4k", "64k", "256k"])
def test_a_full_disk(tmp_path: Path, size: str) -> None:
    words: list[str] = []

    def hungry(folder: Path) -> Path:
        """Like a compiler that has its own words for a full disk."""
        try:
            (folder / "kernel.so").write_bytes(bytes(300_000))
        except OSError as error:
            words.append(str(error))
            raise RuntimeError("assembler: something went wrong") from None
        return folder / "kernel.so"

    with mounted(tmp_path / "disk", f"size={size},mode=0700") as disk:
        cache = open_cache(disk / "cache", version="1")
        with pytest.warns(RuntimeWarning, match="disk is full") as caught:
            entry = cache.fetch(KEY, hungry)
            assert not cache.fetch(KEY, hungry).built
        assert len(caught) == 1 and len(words) <= 1
        assert entry.bytes > 300_000 and not entry.library.is_relative_to(disk)
        assert list((disk / "cache").glob("building/*")) == []


def test_a_disk_that_fills_while_sealing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def seal(work: Path, *rest: object) -> None:
        if work.is_relative_to(tmp_path):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(work, *rest)  # type: ignore[arg-type]

    real = cache_entry.seal
    monkeypatch.setattr(cache_entry, "seal", seal)
    bypassed(tmp_path / "cache", "disk is full")
    assert list((tmp_path / "cache").glob("building/*")) == []


def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def try_lock(path: Path) -> object:
        if path.is_relative_to(tmp_path):
            raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))
        return real(path)

    real = cache_lock.try_lock
    monkeypatch.setattr(cache_store, "try_lock", try_lock)
    bypassed(tmp_path / "cache", os.strerror(errno.ENOLCK))


def test_a_file_system_without_permissions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Path.lstat

    def lstat(path: Path) -> os.stat_result:
        found = real(path)
        if not path.is_relative_to(tmp_path / "usb") or path == tmp_path / "usb":
            return found
        return os.stat_result((found.st_mode | 0o777, *found[1:]))

    (tmp_path / "usb").mkdir(mode=0o700)
    monkeypatch.setattr(Path, "lstat", lstat)
    bypassed(tmp_path / "usb" / "cache", "keeps no owners or permissions")


def test_no_place_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def check_mount(folder: Path) -> None:
        raise cache_folder.Unusable("it is mounted noexec")

    monkeypatch.setattr(cache_folder, "check_mount", check_mount)
    monkeypatch.setattr(cache_folder, "warn_once", lambda *args: None)
    with pytest.raises(CacheError, match=r"tried .*noexec.*TMPDIR"):
        open_cache(tmp_path / "cache", version="1").fetch(KEY, build)


# ------------------------------------------------------------------------------------------------------------------- private

SWITCHED_OFF = """
import os, sys
from pathlib import Path
from tjcore.cache import *
def build(folder):
    (folder / "k.so").write_bytes(b"x")
    return folder / "k.so"
def broken(folder):
    (folder / "k.c").write_bytes(b"x")
    raise RuntimeError("no")
cache = open_cache(Path(sys.argv[1]), version="1", enabled=False)
for count in range(30):
    try:
        entry = cache.fetch(digest({"n": str(count)}), broken if count % 2 else build)
    except RuntimeError:
        pass
print(entry.library.parents[2])
print(oct(os.stat(entry.library.parents[2]).st_mode & 0o777), flush=True)
if len(sys.argv) > 2:
    pid = os.fork()
    if not pid:
        child = cache.fetch(digest({"n": "child"}), build)
        assert child.library.parents[2] != entry.library.parents[2]
        sys.exit(0)
    os.waitpid(pid, 0)
    assert entry.library.exists()
"""


@pytest.mark.parametrize("fork", [(), ("fork",)], ids=["plain", "fork"])
def test_switched_off_is_silent_and_leaves_nothing(tmp_path: Path, fork: tuple[str, ...]) -> None:
    (tmp_path / "tmp").mkdir(mode=0o700)
    done = child(SWITCHED_OFF, tmp_path / "cache", *fork, TMPDIR=str(tmp_path / "tmp"))
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    where, mode = done.stdout.split()
    assert Path(where).parent == tmp_path / "tmp" and mode == "0o700"
    assert list((tmp_path / "tmp").iterdir()) == [] and not (tmp_path / "cache").exists()


def test_private_folders_of_killed_processes_are_swept(tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir(mode=0o700)
    killed = SWITCHED_OFF + "\nimport signal\nos.kill(os.getpid(), signal.SIGKILL)"
    child(killed, tmp_path / "cache", TMPDIR=str(temporary))
    (left,) = temporary.iterdir()
    stranger = temporary / "tensorjit-private-notes"
    stranger.mkdir()
    (stranger / "notes").write_text("mine")
    done = child(SWITCHED_OFF, tmp_path / "cache", TMPDIR=str(temporary))
    assert done.returncode == 0 and not left.exists() and [path.name for path in temporary.iterdir()] == [stranger.name]


def test_a_private_folder_goes_with_its_last_user(tmp_path: Path) -> None:
    cache = open_cache(None, version="1", enabled=False)
    entry = cache.fetch(KEY, build)
    private = entry.folder.parents[1]
    assert stat.S_IMODE(private.stat().st_mode) == 0o700
    del cache
    assert entry.library.exists()
    del entry
    assert not private.exists()


def test_a_private_folder_that_was_cleaned_away_is_made_again() -> None:
    cache = open_cache(None, version="1", enabled=False)
    shutil.rmtree(cache.fetch(KEY, build).folder.parents[1])
    entry = cache.fetch(KEY, build)
    assert entry.built and entry.library.exists()
