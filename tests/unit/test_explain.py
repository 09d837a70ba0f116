"""Explaining a graph: its kernels, and its workspace drawn over their schedule, in a terminal and as a file."""

import json
import re
import xml.etree.ElementTree as ElementTree

import pytest

from tjcore import CallError, CompiledGraph, Dim, input, show_graph
from tjcore.drawing import draw
from tjcore.explain import explain, show_loops
from tjcore.layout import Layout
from tjcore.program import compile_plan
from tjcore.questions import Questions

click_testing = pytest.importorskip("click.testing", reason="the command line needs click")

N = Dim("N", 1, 64)


def model():
    x, w = input("x", (N, 32)), input("w", (32, 32))
    h = (x @ w).relu()
    return [((h @ w) + h).sum(1), (h + 1.0) @ w]


def drawing(n, **options):
    plan = compile_plan(model(), **options)
    layout = Layout(plan, options.get("reuse", True))
    return draw(plan, layout, Questions(layout, plan.symbols, 2**28), {"N": n})


def test_each_kernel_has_a_row():
    plan = compile_plan(model())
    table = explain(plan)
    assert len(table.kernels) == len(plan.kernels)
    text = str(table)
    assert "matmul" in text and "over (32)" in text and "256*N" in text
    at_sizes = str(explain(plan, {"N": 10}))
    assert "at N=10" in at_sizes and "10 x 32 over 32" in at_sizes and "N" not in at_sizes.replace("N=10", "")
    first = explain(plan, {"N": 10}).kernels[0]
    assert first.bytes == (10 * 32 + 32 * 32 + 10 * 32) * 4, "the first product reads x and w and writes a tensor as large as x"
    assert first.flops == 10 * 32 * (2 * 32 + 1), "multiply-adds, and relu"
    assert first.intensity == pytest.approx(first.flops / first.bytes, abs=1e-4)


def test_each_kernel_says_why_it_is_one():
    plan = compile_plan(model())
    text = str(explain(plan))
    for kernel in plan.kernels:
        assert kernel.reason and kernel.reason in text


def test_operations_are_counted_by_hand_worked_sums():
    x, w = input("x", (N, 32)), input("w", (32, 5))
    for outputs, flops in (
        ([x + x * 2.0], "64*N"),  # a product and a sum for each of 32 N
        ([x.exp().sum(1)], "64*N"),  # a function and a step of the fold
        ([(x @ w) * 3.0], "325*N"),  # 5 N elements of 32 multiply-adds each, and one more product
        ([x.less(0.0).where(x, 1.0)], 0),
        ([x.cumulative_sum(1)], "32*N"),
        ([input("s", (4,)) + 1.0], 4),
    ):
        (row,) = explain(compile_plan(outputs)).kernels
        assert row.flops == flops and row.intensity is None, row


def test_the_same_as_json():
    plan = compile_plan(model())
    for sizes in (None, {"N": 12}):
        data = json.loads(explain(plan, sizes).json())
        assert [row["name"] for row in data["kernels"]] == [k.name for k in plan.kernels]
        assert all(isinstance(row["bytes"], str if sizes is None else int) for row in data["kernels"])
        assert {"ops", "loops", "reads", "writes", "flops", "intensity", "reason", "chain", "number"} < set(data["kernels"][0])


def test_loops_say_what_is_shared_and_what_takes_lanes():
    (kernel,) = compile_plan([input("x", (N, 32)) * 2.0]).kernels
    assert show_loops(kernel.loops.body) == "32*N threads lanes"
    (kernel,) = compile_plan([input("x", (N, 32)).sum(1)]).kernels
    assert show_loops(kernel.loops.body, {"N": 4}) == "4 threads x (add over 32)"


@pytest.mark.toolchain
def test_a_compiled_graph_explains_itself():
    f = CompiledGraph(model(), reuse=True)
    assert str(f.explain()) == str(explain(f.plan)) and "at N=7" in str(f.explain(N=7))
    assert f.draw_memory(N=7) == drawing(7)
    with pytest.raises(CallError, match=r"explain: expected N in 1\.\.64, got 65"):
        f.explain(N=65)


@pytest.mark.parametrize("n", [1, 3, 64])
def test_the_drawing_holds_every_temporary_where_it_lies(n):
    d = drawing(n)
    assert {b.name for b in d.boxes} == {a.name for a in d.report.allocations}
    assert max(d.live) == d.report.lower_bound
    text = d.text()
    for a in d.report.allocations:
        assert re.search(rf"\b{a.name} +{a.offset:,} +{a.nbytes:,} ", text), a
    assert f"{d.report.temporary_bytes:,} |" in text and "lower bound" in text
    width = {len(line) for line in text.splitlines() if re.match(r" +[\d,]+ [|+]", line) for line in [line.rsplit("|", 1)[0]]}
    assert len(width) <= 2, "lines of equal length"
    assert len([line for line in text.splitlines() if " |" in line]) <= 16


def test_letters_stand_where_their_temporaries_are():
    d = drawing(64, reuse=False)
    rows = [line for line in d.text().splitlines() if re.match(r" +[\d,]+ \|", line)]
    bottom = rows[-1].split("|")[1]
    lowest = min(range(len(d.boxes)), key=lambda i: d.boxes[i].low)
    letter = "abcdefgh"[lowest]
    per_kernel = len(bottom) // len(d.kernels)
    box = d.boxes[lowest]
    assert bottom.strip() == letter * ((box.last - box.first + 1) * per_kernel)


def test_colours_go_around_letters():
    text = drawing(64).text(lambda piece, number: f"<{number}:{piece}>")
    assert re.search(r"<0:a+>", text)


def test_outputs_that_lend_are_named():
    x, w = input("x", (N, 32)), input("w", (32, 32))
    plan = compile_plan([((x @ w).relu() @ w).relu() @ w @ w])
    layout = Layout(plan)
    d = draw(plan, layout, Questions(layout, plan.symbols, 2**28), {"N": 5})
    assert d.lent == (("out0", 1),) and "out0 lends its memory to 1 temporary" in d.text()
    assert drawing(5, reuse=False).lent == ()


def test_many_kernels_share_columns():
    x, w = input("x", (N, 8)), input("w", (8, 8))
    for _ in range(300):
        x = x @ w
    plan = compile_plan([x])
    layout = Layout(plan)
    d = draw(plan, layout, Questions(layout, plan.symbols, 2**28), {"N": 64})
    assert max(len(line) for line in d.text().splitlines()) < 140
    ElementTree.fromstring(d.svg())


def test_the_file_is_svg_with_a_box_for_each():
    d = drawing(64)
    root = ElementTree.fromstring(d.svg())
    names = "{http://www.w3.org/2000/svg}"
    titles = [t.text for t in root.iter(f"{names}title")]
    for box in d.boxes:
        assert any(t.startswith(f"{box.name}: ") for t in titles)
    text = " ".join("".join(t.itertext()) for t in root.iter(f"{names}text"))
    assert "lower bound" in text and f"{d.report.temporary_bytes:,}" in text and "N=64" in text
    height = float(root.get("height"))
    for rect in list(root.iter(f"{names}rect"))[1:]:
        assert 0 <= float(rect.get("y")) <= float(rect.get("y")) + float(rect.get("height")) <= height


def test_a_graph_without_temporaries_has_an_empty_drawing():
    plan = compile_plan([input("x", (N,)) * 2.0])
    layout = Layout(plan)
    d = draw(plan, layout, Questions(layout, plan.symbols, 2**28), {"N": 4})
    assert d.boxes == () and "workspace" in d.text()
    ElementTree.fromstring(d.svg())


# --------------------------------------------------------------------------------------------------------- command line


def run(*arguments):
    from tjcore.cli import main

    return click_testing.CliRunner().invoke(main, ["explain", *map(str, arguments)])


def test_the_command_reads_a_graph_from_a_file(tmp_path, monkeypatch):
    monkeypatch.setenv("TENSORJIT_REUSE", "1")
    file = tmp_path / "model.tj"
    file.write_text(show_graph(model()), encoding="utf-8")
    plain = run(file)
    assert plain.exit_code == 0 and plain.output.rstrip() == str(explain(compile_plan(model()))).rstrip()
    drawn = run(file, "--memory", "--size", "N=12", "--svg", tmp_path / "memory.svg")
    assert drawn.exit_code == 0, drawn.output
    assert "memory at N=12" in drawn.output and "as formulas" in drawn.output and "lower bound" in drawn.output
    ElementTree.parse(tmp_path / "memory.svg")
    unshared = run(file, "--memory", "--size", "N=12", "--no-reuse", "--no-fuse", "--threads", 2)
    assert unshared.exit_code == 0 and "sizes that were not given" not in unshared.output
    assert "sizes that were not given are at their upper bounds" in run(file, "--memory").output


def test_the_command_finds_a_graph_in_a_module():
    done = run("tjcore.demo:training_step", "--memory", "--size", "N=64")
    assert done.exit_code == 0, done.output
    assert "memory at N=64" in done.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere.tj"], "there is no file 'nowhere.tj', and it is no module:attribute"),
        (["tjcore.demo:nothing"], "'tjcore.demo:nothing' cannot be loaded"),
        (["no_such_module_at_all:x"], "cannot be loaded: No module named"),
        (["tjcore.demo:training_step", "--size", "N"], "expected NAME=SIZE such as N=64, got 'N'"),
        (["tjcore.demo:training_step", "--size", "N=100000"], "expected N in 1..512, got 100000"),
        (["tjcore.demo:training_step", "--size", "Q=1"], "the graph has no symbol 'Q'; its symbols: N"),
        (["tjcore.demo:SEED"], "'tjcore.demo:SEED' is of type int; expected an Expr"),
    ],
)
def test_what_the_command_cannot_do_is_said(arguments, words):
    done = run(*arguments)
    assert done.exit_code != 0 and isinstance(done.exception, SystemExit), "a message, no traceback"
    assert words in done.output


def test_each_kernel_says_what_fusing_saved_it_and_why_it_is_in_no_chain():
    x, w = input("x", (N, 300)), input("w", (300, 300))
    product, folded = explain(compile_plan([((x * 2) @ w + 1).relu().sum(1)])).kernels
    assert (product.saved, folded.saved) == ("2400*N", "4800*N"), "x * 2; then what 1 is added to, and its relu, each stored and read"
    assert (product.apart, folded.apart) == ("", "the product before it packs its right operand once, not for every tile")
    assert product.flops == "180300*N", "as if each element were packed once"
    rows = explain(compile_plan([x / x.sum(1).expand_dims(1)])).kernels
    assert [row.apart for row in rows] == ["", ""] and {row.chain for row in rows} == {0}
    assert all(row.apart == "fusion is off" for row in explain(compile_plan([x.exp() + x], fuse=False)).kernels[1:])
