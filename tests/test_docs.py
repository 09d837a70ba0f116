"""The README and docs/ say what is so: their Python runs and prints what they show, and their links, commands and settings exist.

A block marked `python` runs, those of one page in order and in one namespace. A block marked `text` or `c` directly below it is what
it prints, to the letter; a block that prints must have one. `python tests/test_docs.py` writes the present output into the pages.
"""

import contextlib
import io
import os
import re
import sys
import tempfile
import traceback
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import tjcore
from tjcore import demo, numerics, options
from tjcore.errors import TensorJitError
from tjcore.native.functions import FUNCTIONS
from tjcore.ops import OPS

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("tj*/README.md"), ROOT / "bench" / "peers" / "README.md"])
CODE = re.compile(r"^```python\n(?P<code>.*?)^```\n(?:\n?^```(?:text|c)\n(?P<shown>.*?)^```\n)?", re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^```.*?^```\n", re.MULTILINE | re.DOTALL)


def named(page):
    return page.relative_to(ROOT).as_posix()


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def run(page):
    """Runs a page's Python. Gives, per block: its line, what it printed, what the page shows (None: nothing); and the namespace."""
    text = page.read_text(encoding="utf-8")
    space = {"__name__": "page"}
    blocks = []
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for block in CODE.finditer(text):
            line = text.count("\n", 0, block.start("code"))
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile("\n" * line + block["code"], named(page), "exec"), space)
            blocks.append((line, out.getvalue(), block["shown"]))
    return blocks, space


@cache
def namespace(name):
    return run(ROOT / name)[1]


RUNNABLE = [page for page in PAGES if CODE.search(page.read_text(encoding="utf-8"))]


@pytest.mark.toolchain
@pytest.mark.parametrize("page", RUNNABLE, ids=named)
def test_python_runs_and_prints_what_the_page_shows(page):
    blocks, _ = run(page)
    for line, printed, shown in blocks:
        assert printed == (shown or ""), f"{named(page)}:{line}: if the new output is right, run `python tests/test_docs.py`"


def test_there_is_something_to_run():
    assert {named(page) for page in RUNNABLE} >= {
        "README.md",
        "docs/tour.md",
        "docs/architecture.md",
        "docs/numerics.md",
        "docs/running.md",
    }


# ------------------------------------------------------------------------------------------------- links, commands, settings


def anchors(page):
    """The names under which a page's headings can be linked to, as GitHub makes them."""
    prose = FENCE.sub("", page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in re.findall(r"^#+ (.+)$", prose, re.MULTILINE)}


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_somewhere(page):
    wrong = []
    for target in re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"https?:", target):
            continue
        path, _, anchor = target.partition("#")
        there = page.parent / path if path else page
        if not there.exists() or (anchor and anchor not in anchors(there)):
            wrong.append(target)
    assert not wrong


def test_every_page_is_in_the_index():
    index = text_of("docs/README.md")
    pages = [page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").glob("*.md") if page.name != "README.md"]
    assert [page for page in pages if f"]({page})" not in index] == []
    records = [page.name for page in (ROOT / "docs" / "decisions").glob("*.md") if page.name != "README.md"]
    assert [name for name in records if f"]({name})" not in text_of("docs/decisions/README.md")] == []


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_commands_exist(page):
    text = page.read_text(encoding="utf-8")
    rules = set(re.findall(r"^(\w+):", text_of("Makefile"), re.MULTILINE))
    assert set(re.findall(r"(?:`|^    |^\| `)make ([a-z]+)", text, re.MULTILINE)) <= rules
    for module in set(re.findall(r"python3? -m ([\w.]+)", text)):
        file = ROOT / (module.replace(".", "/") + ".py")
        assert file.exists() if module.startswith("bench") else module == "hatchling" or find_spec(module), f"python -m {module}"
    for script in set(re.findall(r"python3? ((?:tests|bench|docs)/[\w/.]+\.py)", text)):
        assert (ROOT / script).exists(), script


def command_words(text):
    """The words after `tensorjit` wherever it stands in code."""
    return [words.split() for words in re.findall(r"(?:`|\$ |^    )(?:\w+=\S+ )*tensorjit ([a-z][a-z ]*)", text, re.MULTILINE)]


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_commands_of_the_command_line_exist(page):
    cli = pytest.importorskip("tjcore.cli", reason="the command line needs click")
    for words in command_words(page.read_text(encoding="utf-8")):
        command = cli.main
        for word in words:
            if not hasattr(command, "commands"):
                break
            assert word in command.commands, f"tensorjit {' '.join(words)}"
            command = command.commands[word]


def test_the_readme_has_every_command():
    cli = pytest.importorskip("tjcore.cli", reason="the command line needs click")
    known = set()
    for name, command in cli.main.commands.items():
        known |= {f"{name} {below}" for below in command.commands} if hasattr(command, "commands") else {name}
    assert {" ".join(words) for words in command_words(text_of("README.md"))} >= known


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_settings_exist(page):
    known = {f"TENSORJIT_{name.upper()}" for name in options.names()} | {"TENSORJIT_GCC", "TENSORJIT_CLANG", "TENSORJIT_TCC"}
    assert set(re.findall(r"\bTENSORJIT_[A-Z_]+\b", page.read_text(encoding="utf-8"))) <= known


def test_the_readme_has_every_setting():
    table = set(re.findall(r"^\| `(TENSORJIT_\w+)`", text_of("README.md"), re.MULTILINE))
    assert table >= {f"TENSORJIT_{name.upper()}" for name in options.names()}


def test_the_folder_map_is_of_what_is_there():
    rows = re.findall(r"^\| `([\w/.]+/)` \|", text_of("README.md"), re.MULTILINE)
    assert len(rows) > 5 and [row for row in rows if not (ROOT / row).is_dir()] == []


def test_modules_that_pages_name_exist():
    files = [f"/{named(path)}" for folder in ("tjcore", "tests", "bench") for path in (ROOT / folder).rglob("*.py")]
    wrong = []
    for page in PAGES:
        for name in re.findall(r"`([a-z][a-z_/]*\.py)`", page.read_text(encoding="utf-8")):
            if name != "utils.py" and not any(file.endswith(f"/{name}") for file in files):  # which must not exist
                wrong.append(f"{named(page)}: {name}")
    assert not wrong


def test_the_changelog_tells_of_every_distribution_and_command():
    text = text_of("CHANGELOG.md")
    for word in ("tjcore.conformance", "python -m tjcore", "tensorjit doctor", "bench/peers", "grad", "TENSORJIT_DUMP"):
        assert word in text, word


# --------------------------------------------------------------------------------------------------------- the demo's output


@pytest.fixture(scope="module")
def demo_output():
    out = io.StringIO()
    demo.run(out)
    return out.getvalue()


def comparable(line):
    """A line of the demo without what differs from machine to machine."""
    line = re.sub(r"built in .*", "built in ...", line)
    return re.sub(r"\d+\.\d+ s|\(\d+\.\d+ times as \w+\)", "...", line).rstrip()


@pytest.mark.toolchain
def test_the_readme_shows_what_the_demo_prints(demo_output):
    blocks = re.findall(r"^```text\n(digits: .*?)^```", text_of("README.md"), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 1
    shown, _, elsewhere = blocks[0].partition("the same training elsewhere")
    printed = [comparable(line) for line in demo_output.splitlines()]
    at = 0
    for line in shown.splitlines():
        if line.strip() == "..." or not line.strip():
            continue
        assert comparable(line) in printed[at:], f"the demo prints no {line!r} here"
        at += printed[at:].index(comparable(line)) + 1
    for line in elsewhere.splitlines()[1:]:  # which toolchains are installed differs
        assert re.fullmatch(r"  \w+ +same bits after \d+ (epochs|steps)", line)


# ------------------------------------------------------------------------------------------------------------ what pages define


@pytest.mark.toolchain
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_sum_of_the_page_on_numerics_is_the_sum(dtype):
    tree_sum = namespace("docs/numerics.md")["tree_sum"]
    built = tjcore.CompiledGraph([tjcore.input("x", (tjcore.Dim("N", 0, 10**6),), dtype).sum(0)])
    rng = np.random.default_rng(3)
    edges = [edge + step for edge in (0, 1, 32, 64, 512, 1024, 2048, 3072, 65536) for step in (-1, 0, 1) if edge + step >= 0]
    for count in [*edges, 100_003, 999_999]:
        x = (rng.standard_normal(count) * 10.0 ** rng.integers(-8, 8, count)).astype(dtype)
        assert tree_sum(x).tobytes() == built(x=x)[0].tobytes() == np.asarray(numerics.fold(np.add, -0.0, 0, x, 0)).tobytes(), count


@pytest.mark.toolchain
def test_the_product_of_the_page_on_numerics_is_the_product():
    chain = namespace("docs/numerics.md")["chain"]
    m, k, n = (tjcore.Dim(name, 0, 2048) for name in "mkn")
    built = tjcore.CompiledGraph([tjcore.input("a", (m, k)) @ tjcore.input("b", (k, n))])
    rng = np.random.default_rng(4)
    for inner in (1, 2, 255, 256, 257, 512, 700):
        a, b = rng.standard_normal((3, inner), np.float32), rng.standard_normal((inner, 5), np.float32)
        (got,) = built(a=a, b=b)
        for row in range(3):
            for column in range(5):
                assert chain(a[row], b[:, column]).tobytes() == got[row, column].tobytes(), inner


def test_the_list_of_ops_is_complete():
    listed = set(re.findall(r"^\| `(\w+)`", text_of("docs/ops.md"), re.MULTILINE))
    assert {name for name, op in OPS.items() if op.kind != "leaf"} == listed
    assert not set(FUNCTIONS) - set(OPS), "code for a function is there, but no op"


def test_errors_that_pages_name_exist():
    for page in PAGES:
        for name in set(re.findall(r"`(?:tj\.|tjcore\.)?([A-Z]\w+Error)`", page.read_text(encoding="utf-8"))):
            known = getattr(tjcore, name, None) or getattr(tjcore.errors, name, None)
            assert (known is not None and issubclass(known, TensorJitError)) or name in ("ValueError", "RuntimeError", "TypeError"), name


def test_headings_have_one_level_at_a_time():
    for page in PAGES:
        levels = [len(marks) for marks in re.findall(r"^(#+) ", FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)]
        assert levels[:1] == [1] and levels.count(1) == 1, named(page)
        assert all(below - above <= 1 for above, below in pairwise(levels)), named(page)


# -------------------------------------------------------------------------------------------------------------------- writing


def write():
    """Puts what the code prints into the pages."""
    for page in RUNNABLE:
        text = page.read_text(encoding="utf-8")
        try:
            printed = iter([out for _, out, _ in run(page)[0]])
        except Exception:  # of one page, whose traceback names the line; the others are written all the same
            traceback.print_exc()
            continue

        def renewed(block, printed=printed):
            out = next(printed)
            if block["shown"] is None:
                return block[0] + (f"\n```text\n{out}```\n" if out else "")
            start, end = block.span("shown")
            return block[0][: start - block.start()] + out + block[0][end - block.start() :]

        new = CODE.sub(renewed, text)
        if new != text:
            page.write_text(new, encoding="utf-8")
            print(f"{named(page)} written")


if __name__ == "__main__":
    os.environ.setdefault("TENSORJIT_CACHE_DIR", tempfile.mkdtemp(prefix="tjcore-docs-"))
    sys.exit(write())
