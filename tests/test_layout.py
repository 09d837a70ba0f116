"""The rules of the house that no linter knows: what lies where, what goes into the wheels, what each file must and must not say."""

import ast
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path

import pytest

import tjcore

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("tjcore", "tjbackend_gcc", "tjbackend_clang")
LINES = 400

# Files that are longer, each with its reason. A long file is a question, not a fault: does it hold more than one decision?
LONG: dict[str, str] = {
    "tests/test_field_cases.py": "one test per fault, and the lists of what is held elsewhere or not yet: split, nobody could see what is missing",
    "tests/test_tensorjit.py": "one test per promise of the design's page, in its order: splitting it would hide what is missing",
    "tests/unit/test_cache.py": "every promise of one folder, with the counting builder that they share",
    "tests/unit/test_cache_places.py": "every place a cache can lie in or be refused, with the builder that they share",
    "tjcore/src/tjcore/loops.py": "loop IR as a whole: its grammar, verifier and printed form change together, with each kind of statement",
    "tjcore/src/tjcore/memory/search.py": "one search: every step works on the same state and its trail of changes",
    "tjcore/src/tjcore/native/pack.c": "the same search, step for step, in the order of memory/search.py",
}

# Modules that users touch, or that stand where users stand: only these may import what the package's face offers.
ABOVE_THE_FACE = ("__main__.py", "cli.py", "explain.py", "demo.py", "conformance")


@cache
def files() -> tuple[Path, ...]:
    """Every file of the repository that a person wrote, without what tools leave behind."""

    def walk(folder: Path) -> Iterator[Path]:
        for path in sorted(folder.iterdir()):
            if path.name in ("__pycache__", "build", "dist") or (path.name.startswith(".") and path.name != ".ci"):
                continue
            if path.is_dir():
                yield from walk(path)
            elif path.suffix in (".py", ".md", ".toml", ".ini", ".c", ".h", ".txt") or path.name in ("Makefile", "run", "LICENSE"):
                yield path

    return tuple(walk(ROOT))


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def sources(package: str) -> list[Path]:
    folder = ROOT / package / "src"
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]


def project(package: str) -> dict[str, object]:
    with (ROOT / package / "pyproject.toml").open("rb") as file:
        table: dict[str, object] = tomllib.load(file)["project"]
    return table


# ------------------------------------------------------------------------------------------------------ where things lie


def test_no_init_file_turns_a_folder_into_a_second_package() -> None:
    # An __init__.py in tjcore/ beside tjcore/src/tjcore/ would win over the real package wherever the root is on sys.path.
    wrong = [f"{name}/__init__.py" for name in PACKAGES if (ROOT / name / "__init__.py").exists()]
    for path in files():
        top, *below = path.relative_to(ROOT).parts
        if top in ("tests", "bench") and path.name == "__init__.py" and not below[0].startswith("plugin_"):  # distributions of their own
            wrong.append(named(path))
    assert not wrong, f"remove {wrong}: these folders must stay plain folders"


def test_no_file_is_named_after_nothing() -> None:
    wrong = [named(path) for path in files() if path.stem in ("utils", "util", "common", "helpers", "misc", "manager2")]
    assert not wrong, f"name {wrong} after the decision each holds"


def test_licence_is_the_same_everywhere() -> None:
    for name in PACKAGES:
        assert (ROOT / name / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes(), f"{name}/LICENSE differs from LICENSE"


def test_ci_calls_what_the_readme_promises() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    steps = script.read_text(encoding="utf-8").splitlines()
    assert "make test" in steps and "make demo" in steps


# ------------------------------------------------------------------------------------------------------------ the wheels


def build(project_folder: Path, out: Path, target: str) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(out)]
    done = subprocess.run(command, cwd=project_folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = out.iterdir()
    return built


def contents(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.mark.parametrize("package", PACKAGES)
def test_wheel_and_sdist_hold_every_file(package: str, tmp_path: Path) -> None:
    expected = {path.relative_to(ROOT / package / "src").as_posix() for path in sources(package)}
    wheel = build(ROOT / package, tmp_path / "wheel", "wheel")
    held = contents(wheel)
    assert expected <= held, f"not in the wheel: {sorted(expected - held)}"
    extra = {name for name in held - expected if ".dist-info/" not in name}
    assert not extra, f"in the wheel, though not in {package}/src: {sorted(extra)}"
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in held)
    assert f"{package}/py.typed" in held

    sdist = build(ROOT / package, tmp_path / "sdist", "sdist")
    with tarfile.open(sdist) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # early 3.11 has no filters, 3.12 warns without
        archive.extractall(tmp_path / "unpacked")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    again = build(unpacked, tmp_path / "again", "wheel")
    assert contents(again) == held, "the sdist builds another wheel than the repository"


# --------------------------------------------------------------------------------------------------------------- versions


def test_one_version() -> None:
    here = tjcore.__version__
    assert version("tjcore") == here, "the installed tjcore is another one than the imported; run `make test`"
    assert project("tjcore").get("dynamic") == ["version"], "tjcore's version is written in its __init__.py alone"
    for name in PACKAGES[1:]:
        assert project(name)["version"] == here, f"{name} and tjcore are released together"
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## \[(.+?)\]", changelog, re.MULTILINE)
    assert newest and newest[1] == here, f"the newest heading of CHANGELOG.md is not [{here}]"


def test_toolchains_ask_for_the_core_they_were_made_for() -> None:
    major, minor, _ = tjcore.__version__.split(".")
    for name in PACKAGES[1:]:
        assert project(name)["dependencies"] == [f"tjcore>={major}.{minor},<{major}.{int(minor) + 1}"]


# ------------------------------------------------------------------------------------------------------ what files say


def test_long_files_have_a_reason() -> None:
    lengths = {named(path): len(path.read_text(encoding="utf-8").splitlines()) for path in files() if path.suffix in (".py", ".c", ".h")}
    long = {name: lines for name, lines in lengths.items() if lines > LINES}
    new = {name: lines for name, lines in long.items() if name not in LONG}
    assert not new, f"over {LINES} lines: {new}; split by decision, or give LONG a reason"
    stale = sorted(set(LONG) - set(long))
    assert not stale, f"no longer over {LINES} lines, or gone: {stale}; take them out of LONG"


@pytest.mark.parametrize("package", PACKAGES)
def test_every_module_says_what_it_is(package: str) -> None:
    bare = [named(path) for path in sources(package) if path.suffix == ".py" and not ast.get_docstring(ast.parse(path.read_bytes()))]
    assert not bare, f"no docstring: {bare}; say what goes in, what comes out, and which law holds"


def test_no_module_imports_the_face() -> None:
    # The face imports every room; a room that imports the face works or fails by the order in which modules happen to load.
    package = ROOT / "tjcore" / "src" / "tjcore"
    rooms = {path.stem for path in package.iterdir()}
    wrong = []
    for path in sources("tjcore"):
        if path.suffix != ".py" or path == package / "__init__.py" or path.relative_to(package).parts[0] in ABOVE_THE_FACE:
            continue
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Import) and any(alias.name == "tjcore" for alias in node.names):
                wrong.append(f"{named(path)}:{node.lineno} import tjcore")
            depth = len(path.relative_to(package).parts)  # `from . import x` in a module of depth 1 asks the face, too
            if isinstance(node, ast.ImportFrom) and (node.module, node.level) in (("tjcore", 0), (None, depth)):
                faces = {alias.name for alias in node.names} - rooms - {"__version__"}
                wrong += [f"{named(path)}:{node.lineno} from tjcore import {name}" for name in sorted(faces)]
    assert not wrong, f"import from the module that holds it: {wrong}"


# Facts that hold for one machine or one moment only, and so tell a later reader nothing.
PASSING = {
    "a path of one machine": re.compile(r"(?<![\w.~}/\"-])/(?:home|root|Users|work)/\w"),
    "a number in a tracker": re.compile(r"\bissues? #?\d+\b", re.IGNORECASE),
}


@pytest.mark.parametrize("kind", PASSING)
def test_files_say_what_stays_true(kind: str) -> None:
    wrong = []
    for path in set(files()) - {Path(__file__).resolve()}:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if PASSING[kind].search(line):
                wrong.append(f"{named(path)}:{number} {line.strip()}")
    assert not wrong, f"{kind}: {sorted(wrong)}"


def test_what_passes_is_recognised() -> None:
    path, number = PASSING["a path of one machine"], PASSING["a number in a tracker"]
    assert path.search("see /home/me/x") and path.search("`/root/x`")
    assert not path.search("~/home/x") and not path.search("{tox_root}/root/x")
    assert number.search("fixes Issue 12") and not number.search("one issue, 12 files")
