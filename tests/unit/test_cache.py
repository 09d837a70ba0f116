"""The cache in one process: keys, hits, damage, failing builds, size."""

import errno
import fcntl
import hashlib
import json
import os
import shutil
import threading
import time
from pathlib import Path

import pytest

from tjcore import cache_store
from tjcore.cache import Cache, digest, open_cache
from tjcore.errors import CacheError

LIBRARY = b"\x7fELF" + bytes(range(256)) * 40


class Builder:
    """A build that counts its calls and writes a library of a chosen size beside its source."""

    def __init__(self, data: bytes = LIBRARY) -> None:
        self.data = data
        self.calls = 0

    def __call__(self, folder: Path) -> Path:
        self.calls += 1
        (folder / "kernel.c").write_text("int answer(void) { return 42; }\n")
        (folder / "kernel.so").write_bytes(self.data)
        return folder / "kernel.so"


def key(name: str) -> str:
    return digest({"name": name})


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return open_cache(tmp_path / "cache", version="1.0")


def again(cache: Cache) -> Cache:
    """The same folder as another process would open it."""
    return open_cache(cache.location, version=cache.version)


def left_over(cache: Cache) -> list[str]:
    """Everything in the folder but whole entries."""
    assert cache.location.folder
    return sorted(str(path) for path in cache.location.folder.glob("building/*"))


# ---------------------------------------------------------------------------------------------------------------------- keys


def test_digest_is_sha256_of_an_encoding_that_does_not_change() -> None:
    # The value is that of sha256sum over the bytes below. A change of it loses every cache on disk, so it must be meant.
    encoded = b"tensorjit-cache-key-1\ns5:flagss3:-O2s5:graphb6:y = x\n"
    assert digest({"graph": b"y = x\n", "flags": "-O2"}) == hashlib.sha256(encoded).hexdigest()
    assert hashlib.sha256(encoded).hexdigest().startswith("2ebb4dba6fa8becd")


def test_digest_ignores_order_and_separates_everything_else() -> None:
    assert digest({"a": "1", "b": "2"}) == digest({"b": "2", "a": "1"})
    empty: list[dict[str, str | bytes]] = [{}, {"a": ""}, {"a": b""}]
    full: list[dict[str, str | bytes]] = [{"a": "1"}, {"a": b"1"}, {"a1": ""}, {"a": "1", "b": ""}, {"a": "1s0:"}, {"ab": "c"}, {"a": "bc"}]
    different = empty + full
    assert len({digest(parts) for parts in different}) == len(different)
    assert digest({"path": "caf\u00e9/\udcff"}) != digest({"path": "caf\u00e9/\udcfe"})  # names of files need not be text


@pytest.mark.parametrize("bad", ["", "../../etc", "ABCDEF0123456789", "xyz", "0" * 15, "0" * 129, "0" * 64 + "/"])
def test_other_keys_are_refused(cache: Cache, bad: str) -> None:
    with pytest.raises(CacheError, match="hex digits"):
        cache.fetch(bad, Builder())


# ---------------------------------------------------------------------------------------------------------------------- hits


def test_a_library_is_built_once_and_found_ever_after(cache: Cache) -> None:
    build = Builder()
    first = cache.fetch(key("a"), build, about={"toolchain": "gcc 12.2"})
    second = again(cache).fetch(key("a"), build)
    assert (first.built, second.built, build.calls) == (True, False, 1)
    assert (first.library, first.source) == (second.library, second.source)
    assert second.library.read_bytes() == LIBRARY
    assert second.source is not None and "answer" in second.source.read_text()
    assert second.manifest["about"] == {"toolchain": "gcc 12.2"}
    assert second.bytes == sum(path.stat().st_size for path in second.folder.iterdir())
    assert left_over(cache) == []


def test_the_manifest_tells_what_lies_there(cache: Cache) -> None:
    entry = cache.fetch(key("a"), Builder())
    said = json.loads((entry.folder / "manifest.json").read_text())
    assert said["key"] == key("a") and said["tjcore"] == "1.0" and said["library"] == "kernel.so"
    assert said["files"]["kernel.so"]["bytes"] == len(LIBRARY) and len(said["files"]["kernel.so"]["sha256"]) == 64
    assert set(said["files"]) == {"kernel.c", "kernel.so"}


def test_other_keys_have_other_entries(cache: Cache) -> None:
    one, two = cache.fetch(key("a"), Builder(b"one")), cache.fetch(key("b"), Builder(b"two"))
    assert (one.library.read_bytes(), two.library.read_bytes()) == (b"one", b"two")
    assert cache.info().entries == 2


def test_info_counts_what_this_process_did_and_what_lies_there(cache: Cache) -> None:
    assert (cache.info().entries, cache.info().bytes, cache.info().problem) == (0, 0, "")
    entry = cache.fetch(key("a"), Builder())
    cache.fetch(key("a"), Builder())
    info = cache.info()
    assert (info.entries, info.bytes, info.hits, info.builds) == (1, entry.bytes, 1, 1)
    assert info.folder == cache.location.folder


def test_opening_touches_nothing(tmp_path: Path) -> None:
    open_cache(tmp_path / "cache", version="1").info()
    assert list(tmp_path.iterdir()) == []


# -------------------------------------------------------------------------------------------------------------------- damage

DAMAGE = {
    "truncated": lambda entry: os.truncate(entry.library, 100),
    "emptied": lambda entry: entry.library.write_bytes(b""),
    "one bit": lambda entry: entry.library.write_bytes(LIBRARY[:50] + bytes([LIBRARY[50] ^ 1]) + LIBRARY[51:]),
    "longer": lambda entry: entry.library.write_bytes(LIBRARY + b"\0"),
    "source changed": lambda entry: entry.source.write_text("int answer(void) { return 43; }\n"),
    "library gone": lambda entry: entry.library.unlink(),
    "library a folder": lambda entry: (entry.library.unlink(), entry.library.mkdir()),
    "library a pipe": lambda entry: [make(entry.library) for make in (os.unlink, os.mkfifo)],
    "library writable by all": lambda entry: entry.library.chmod(0o666),
    "folder writable by group": lambda entry: entry.folder.chmod(0o770),
    "no manifest": lambda entry: (entry.folder / "manifest.json").unlink(),
    "empty manifest": lambda entry: (entry.folder / "manifest.json").write_text(""),
    "half a manifest": lambda entry: os.truncate(entry.folder / "manifest.json", 60),
    "binary manifest": lambda entry: (entry.folder / "manifest.json").write_bytes(b"\xff\xfe\x00"),
    "a list": lambda entry: (entry.folder / "manifest.json").write_text("[]"),
    "deep nesting": lambda entry: (entry.folder / "manifest.json").write_text("[" * 100_000),
    "empty folder": lambda entry: [path.unlink() for path in entry.folder.iterdir()],
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_a_damaged_entry_is_rebuilt_and_never_served(cache: Cache, damage: object) -> None:
    build = Builder()
    entry = cache.fetch(key("a"), build)
    entry.release()
    damage(entry)  # type: ignore[operator]
    found = again(cache).fetch(key("a"), build)
    assert found.built and build.calls == 2 and found.library.read_bytes() == LIBRARY
    assert not again(cache).fetch(key("a"), build).built
    assert left_over(cache) == []


def rewrite(entry: object, **changes: object) -> None:
    path = entry.folder / "manifest.json"  # type: ignore[attr-defined]
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"format": 2},
        {"key": "0" * 64},
        {"tjcore": "0.9"},
        {"library": "../x.so"},
        {"library": "missing.so"},
        {"library": None},
        {"files": {}},
        {"files": []},
        {"files": {"kernel.so": 1}},
        {"files": {"../kernel.so": {"bytes": 0, "sha256": ""}, "kernel.so": {}}},
    ],
)
def test_a_manifest_that_says_something_else_is_not_believed(cache: Cache, changes: dict[str, object]) -> None:
    entry = cache.fetch(key("a"), Builder())
    rewrite(entry, **changes)
    assert again(cache).fetch(key("a"), Builder()).built


def test_an_entry_copied_to_another_key_is_not_served(cache: Cache) -> None:
    entry = cache.fetch(key("a"), Builder(b"a"))
    entry.folder.rename(entry.folder.with_name(key("b")))
    found = cache.fetch(key("b"), Builder(b"b"))
    assert found.built and found.library.read_bytes() == b"b"


def test_an_entry_of_another_version_is_stale(cache: Cache) -> None:
    cache.fetch(key("a"), Builder(b"old"))
    newer = open_cache(cache.location, version="2.0")
    assert newer.fetch(key("a"), Builder(b"new")).library.read_bytes() == b"new"


@pytest.mark.parametrize("kind", ["library", "folder", "manifest"])
def test_symlinks_are_never_followed(cache: Cache, tmp_path: Path, kind: str) -> None:
    entry = cache.fetch(key("a"), Builder())
    path = {"library": entry.library, "folder": entry.folder, "manifest": entry.folder / "manifest.json"}[kind]
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    before = sorted((tmp_path / "elsewhere").rglob("*")), (tmp_path / "elsewhere").lstat().st_size
    found = again(cache).fetch(key("a"), Builder())
    assert found.built and not found.library.is_symlink() and not found.folder.is_symlink()
    assert (sorted((tmp_path / "elsewhere").rglob("*")), (tmp_path / "elsewhere").lstat().st_size) == before  # and their targets left alone


def test_a_file_in_the_place_of_an_entry_gives_way(cache: Cache) -> None:
    entry = cache.fetch(key("a"), Builder())
    other = entry.folder.with_name(key("b"))
    other.write_text("planted")
    assert cache.fetch(key("b"), Builder()).built and other.is_dir()


# ------------------------------------------------------------------------------------------------------------- failing builds


@pytest.mark.parametrize("error", [ValueError("bad"), KeyboardInterrupt(), SystemExit(3), OSError(errno.EACCES, "no compiler")])
def test_what_a_build_raises_passes_and_leaves_nothing(cache: Cache, error: BaseException) -> None:
    def build(folder: Path) -> Path:
        (folder / "kernel.c").write_text("x")
        (folder / "more").mkdir()
        raise error

    with pytest.raises(type(error)) as caught:
        cache.fetch(key("a"), build)
    assert caught.value is error
    assert left_over(cache) == [] and cache.info().entries == 0 and cache.info().problem == ""
    assert cache.fetch(key("a"), Builder()).built


def test_a_build_must_return_a_file_of_its_folder(cache: Cache, tmp_path: Path) -> None:
    (tmp_path / "stray.so").write_bytes(b"x")

    def link(folder: Path) -> Path:
        (folder / "link.so").symlink_to(tmp_path / "stray.so")
        return folder / "link.so"

    for wrong in (lambda folder: tmp_path / "stray.so", lambda folder: folder / "nothing.so", lambda folder: folder, link):
        with pytest.raises(CacheError, match="build"):
            cache.fetch(key("a"), wrong)
    assert left_over(cache) == [] and cache.info().entries == 0 and (tmp_path / "stray.so").exists()


def test_an_entry_keeps_files_only_and_only_for_us(cache: Cache, tmp_path: Path) -> None:
    (tmp_path / "target").write_text("kept")

    def build(folder: Path) -> Path:
        (folder / "debug").mkdir()
        (folder / "link").symlink_to(tmp_path / "target")
        (folder / "manifest.json").write_text("{}")
        return Builder()(folder)

    old = os.umask(0)
    try:
        entry = cache.fetch(key("a"), build)
    finally:
        os.umask(old)
    assert sorted(path.name for path in entry.folder.iterdir()) == ["kernel.c", "kernel.so", "manifest.json"]
    assert (tmp_path / "target").read_text() == "kept"
    assert cache.location.folder
    for path in (cache.location.folder, *cache.location.folder.rglob("*")):
        assert path.stat().st_mode & 0o077 == 0, path


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077, 0o277, 0o777])
def test_the_umask_changes_nothing(tmp_path: Path, mask: int) -> None:
    cache = open_cache(tmp_path / "deep" / "er" / "cache", version="1")

    def build(folder: Path) -> Path:
        os.umask(0o022)  # a compiler cannot work under the odder masks; what counts is the folders made before
        try:
            return Builder()(folder)
        finally:
            os.umask(mask)

    old = os.umask(mask)
    try:
        assert cache.fetch(key("a"), build).built
        assert not cache.fetch(key("a"), build).built
    finally:
        os.umask(old)
    folders = [tmp_path / "deep", *(path for path in (tmp_path / "deep").rglob("*") if path.is_dir())]
    assert {path.stat().st_mode & 0o777 for path in folders} == {0o700}


# ---------------------------------------------------------------------------------------------------------------------- size


def fill(cache: Cache, names: str, size: int = 10_000) -> None:
    """Entries named by letters, the first one used longest ago."""
    for age, name in enumerate(reversed(names)):
        entry = cache.fetch(key(name), Builder(bytes(size)))
        then = time.time() - 1000 * (age + 1)
        os.utime(entry.folder / "manifest.json", (then, then))


def present(cache: Cache, names: str) -> str:
    assert cache.location.folder
    return "".join(name for name in names if (cache.location.folder / "libraries" / key(name)).exists())


def test_prune_evicts_the_least_recently_used_first(cache: Cache) -> None:
    fill(cache, "abcdef")
    again(cache).fetch(key("b"), Builder())  # used just now
    freed = cache.prune(35_000)
    assert present(cache, "abcdef") == "bef"
    assert 30_000 < freed < 35_000 and left_over(cache) == []
    assert cache.prune(0) > 0 and present(cache, "abcdef") == "" and cache.info().bytes == 0


def test_a_use_is_noted_at_most_once_a_minute(cache: Cache) -> None:
    manifest = cache.fetch(key("a"), Builder()).folder / "manifest.json"
    for ago, noted in ((30, False), (90, True), (-1000, True)):  # the last: a clock that ran ahead
        then = time.time() - ago
        os.utime(manifest, (then, then))
        cache.fetch(key("a"), Builder())
        assert (abs(manifest.stat().st_mtime - then) > 1) == noted, ago


def test_a_build_keeps_the_folder_within_its_limit(tmp_path: Path) -> None:
    cache = open_cache(tmp_path / "cache", version="1", max_bytes=100_000)
    for count in range(40):
        cache.fetch(key(str(count)), Builder(bytes(10_000)))
        assert cache.info().bytes <= 100_000
    assert cache.info().entries >= 5
    assert not cache.fetch(key("39"), Builder()).built  # the newest are still there


@pytest.mark.parametrize("spoilt", ["", "nonsense", "-1 0\n", "9" * 64, None])
def test_a_spoilt_sum_of_bytes_is_counted_anew(tmp_path: Path, spoilt: str | None) -> None:
    cache = open_cache(tmp_path / "cache", version="1", max_bytes=100_000)
    fill(cache, "abcdefgh")
    size = tmp_path / "cache" / "size"
    assert int(size.read_text().split()[0]) == cache.info().bytes
    size.unlink()
    if spoilt is not None:
        size.write_text(spoilt)
    for name in "ijkl":
        again(cache).fetch(key(name), Builder(bytes(10_000)))
    unlimited = open_cache(cache.location, version=cache.version)
    unlimited.fetch(key("m"), Builder(bytes(10_000)))
    assert int(size.read_text().split()[0]) == cache.info().bytes == 13 * (cache.info().bytes // 13)
    cache.fetch(key("n"), Builder(bytes(10_000)))
    assert cache.info().bytes <= 90_000


def test_the_sum_of_bytes_is_counted_anew_now_and_then(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_store, "_RECOUNT", 3)
    fill(cache, "abc")
    shutil.rmtree(cache.fetch(key("a"), Builder()).folder)  # behind the cache's back
    fill(cache, "defgh")
    assert cache.location.folder
    total, builds = map(int, (cache.location.folder / "size").read_text().split())
    assert 0 <= builds <= 3 and total == cache.info().bytes


def test_an_entry_larger_than_the_limit_serves_its_call(tmp_path: Path) -> None:
    cache = open_cache(tmp_path / "cache", version="1", max_bytes=1000)
    with cache.fetch(key("a"), Builder()) as entry:
        assert entry.library.read_bytes() == LIBRARY
    cache.fetch(key("b"), Builder(b"small"))
    assert present(cache, "ab") == "b"


def test_an_entry_in_use_is_not_evicted(cache: Cache) -> None:
    fill(cache, "abc")
    held = cache.fetch(key("a"), Builder())
    os.utime(held.folder / "manifest.json", (1, 1))
    again(cache).prune(0)
    assert present(cache, "abc") == "a" and held.library.exists()
    held.release()
    again(cache).prune(0)
    assert present(cache, "abc") == ""


def test_what_is_broken_is_evicted_too(cache: Cache) -> None:
    fill(cache, "ab")
    entry = cache.fetch(key("a"), Builder())
    (entry.folder / "manifest.json").unlink()
    cache.prune(15_000)
    assert present(cache, "ab") == "b"


def test_clear_removes_entries_and_leftovers_and_nothing_else(cache: Cache) -> None:
    fill(cache, "abc")
    held = cache.fetch(key("a"), Builder())
    folder = cache.location.folder
    assert folder
    (folder / "building" / f"{key('z')}.0123").mkdir()
    (folder / "building" / f"{key('z')}.0123" / "kernel.c").write_text("x")
    (folder / "building" / f"{key('y')}.lock").write_text("")
    (folder / "notes.txt").write_text("mine")
    (folder / "libraries" / "mine").mkdir()
    assert cache.clear() > 30_000
    assert sorted(str(path.relative_to(folder)) for path in folder.rglob("*")) == ["building", "libraries", "libraries/mine", "notes.txt"]
    del held
    assert cache.fetch(key("a"), Builder()).built


def test_a_negative_limit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CacheError, match="number of bytes"):
        open_cache(tmp_path, version="1", max_bytes=-1)


# ------------------------------------------------------------------------------------------------------- loading, waiting, sweeping


def test_load_builds_again_what_does_not_load(cache: Cache) -> None:
    build = Builder()
    seen: list[Path] = []

    def opener(path: Path) -> bytes:
        seen.append(path)
        if len(seen) == 2:
            raise OSError("libgomp.so.1: cannot open shared object file")
        return path.read_bytes()

    assert cache.load(key("a"), build, opener) == LIBRARY  # built
    assert again(cache).load(key("a"), build, opener) == LIBRARY  # found, does not load, built again
    assert (build.calls, len(seen)) == (2, 3)


def test_load_survives_a_clear_in_between(cache: Cache) -> None:
    build = Builder()
    tries = 0

    def opener(path: Path) -> bytes:
        nonlocal tries
        tries += 1
        if tries == 1:
            again(cache).clear()
        return path.read_bytes()

    assert cache.load(key("a"), build, opener) == LIBRARY
    assert (build.calls, tries) == (2, 2)


def test_load_passes_on_what_a_fresh_library_raises(cache: Cache) -> None:
    build = Builder()

    def opener(path: Path) -> None:
        raise OSError("undefined symbol: answer")

    with pytest.raises(OSError, match="undefined symbol"):
        cache.load(key("a"), build, opener)
    assert build.calls == 1


def test_a_builder_that_never_ends_is_not_waited_for_forever(tmp_path: Path) -> None:
    cache = open_cache(tmp_path / "cache", version="1", patience=0.2)
    cache.fetch(key("b"), Builder())
    with (tmp_path / "cache" / "building" / f"{key('a')}.lock").open("w") as stuck:
        fcntl.flock(stuck, fcntl.LOCK_EX)
        entry = cache.fetch(key("a"), Builder())
        assert entry.built and not entry.library.is_relative_to(tmp_path)
    assert cache.fetch(key("c"), Builder()).library.is_relative_to(tmp_path)  # the folder itself is fine


def test_leftovers_of_the_dead_are_swept_and_those_of_the_living_are_not(cache: Cache) -> None:
    cache.fetch(key("a"), Builder())
    assert cache.location.folder
    building = cache.location.folder / "building"
    for name in ("dead", "alive"):
        (building / f"{key(name)}.01").mkdir()
        (building / f"{key(name)}.01" / "kernel.c").write_text("x")
        (building / f"{key(name)}.lock").write_text("")
    (building / "mine.txt").write_text("")
    with (building / f"{key('alive')}.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        again(cache).fetch(key("a"), Builder())  # a mere hit sweeps as well
        assert sorted(path.name for path in building.iterdir()) == sorted([f"{key('alive')}.01", f"{key('alive')}.lock", "mine.txt"])
    again(cache).fetch(key("a"), Builder())
    assert [path.name for path in building.iterdir()] == ["mine.txt"]


def test_many_threads_one_build(cache: Cache) -> None:
    build = Builder()
    start = threading.Barrier(8)
    results: list[bytes] = []

    def slow(folder: Path) -> Path:
        time.sleep(0.05)
        return build(folder)

    def work() -> None:
        start.wait()
        for name in "ab":
            with cache.fetch(key(name), slow) as entry:
                results.append(entry.library.read_bytes())

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [LIBRARY] * 16 and build.calls == 2
    assert (cache.info().builds, cache.info().hits) == (2, 14)


def test_a_folder_removed_while_building_costs_one_more_build(cache: Cache) -> None:
    build = Builder()

    def unlucky(folder: Path) -> Path:
        library = build(folder)
        if build.calls == 1:
            shutil.rmtree(folder.parent.parent)
        return library

    assert cache.fetch(key("a"), unlucky).library.read_bytes() == LIBRARY
    assert build.calls == 2 and cache.info().problem == ""


def test_descriptors_do_not_pile_up(cache: Cache) -> None:
    cache.fetch(key("a"), Builder()).release()
    before = len(os.listdir("/dev/fd"))
    for count in range(30):
        cache.fetch(key(str(count % 7)), Builder()).release()
        cache.fetch(key(str(count % 5)), Builder())
    assert len(os.listdir("/dev/fd")) <= before
