"""The settings `dump` and `dump_dir`: every stage can be shown, where and when it should be."""

import re

import numpy as np
import pytest

import tjcore
from tjcore.errors import CompileError, GraphError
from tjcore.options import STAGES, configure, names, settings

N = tjcore.Dim("N", 1, 64)


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    for name in names():
        if name != "cache_dir":
            monkeypatch.delenv(f"TENSORJIT_{name.upper()}", raising=False)
    yield
    configure(dump=None, dump_dir=None)


def outputs():
    """Two kernels, one temporary, and something to simplify."""
    x, w = tjcore.input("x", (N, 4)), tjcore.input("w", (4, 3))
    return [((x * 1) @ w).relu().sum(1).sum(0)]


def build(**options):
    return tjcore.CompiledGraph(outputs(), **({"backend": "reference"} | options))


def sections(text):
    parts = re.split(r"^--- tensorjit (\w{12}(?:-unfused)?): (\w+)\n", text, flags=re.MULTILINE)
    assert parts[0] == ""
    return dict(zip(parts[2::3], parts[3::3], strict=True)), set(parts[1::3])


def test_nothing_is_shown_unless_it_is_asked_for(capsys):
    build()
    assert capsys.readouterr() == ("", "")


def test_every_stage_in_order(monkeypatch, capsys):
    monkeypatch.setenv("TENSORJIT_DUMP", "all")
    graph = build()
    out, err = capsys.readouterr()
    shown, graphs = sections(err)
    assert out == "" and tuple(shown) == STAGES and len(graphs) == 1
    assert shown["graph"] == tjcore.show_graph(graph.plan.outputs)
    assert "mul" in shown["graph"] and "mul" not in shown["simplified"].replace("matmul", "")
    assert tjcore.show_graph(tjcore.read_graph(shown["simplified"])) == shown["simplified"]
    for kernel in graph.plan.kernels:
        assert f"{kernel.name}: " in shown["groups"] and kernel.reason in shown["groups"]
        assert f"kernel {kernel.name}(" in shown["loops"] and f"kernel {kernel.name}(" in shown["scheduled"]
    assert "share" in shown["scheduled"] and "share" not in shown["loops"]
    assert shown["source"] == graph.source


def test_the_memory_stage_gives_formulas_that_hold(capsys):
    with settings(dump="memory"):
        graph = build()
    arena = re.search(r"^arena: (.*) bytes, at most ([\d,]+)$", capsys.readouterr().err, re.MULTILINE)
    assert arena is not None
    for n in (1, 5, 64):
        graph(x=np.ones((n, 4), np.float32), w=np.ones((4, 3), np.float32))
        formula = eval(arena[1], {"ceil": lambda value: -int(-value // 1), "max": max, "N": n})
        assert formula == graph.last_memory.temporary_bytes <= int(arena[2].replace(",", ""))


def test_chains_are_shown_with_their_scratch(capsys):
    x = tjcore.input("x", (N, 4))
    e = x.exp()
    with settings(dump="groups"):
        graph = tjcore.CompiledGraph([e / e.sum(1).expand_dims(1)], backend="reference")
    (chain,) = graph.plan.program.chains
    names = " ".join(kernel.name for kernel in graph.plan.kernels[chain.first : chain.last + 1])
    shown = capsys.readouterr().err
    assert f"chain: {names}, tile by tile over rows (N,); scratch for t0" in shown


def test_some_stages_for_a_block_of_code(capsys):
    with settings(dump=" source , graph "):
        build()
    assert tuple(sections(capsys.readouterr().err)[0]) == ("graph", "source")
    build()
    assert capsys.readouterr().err == ""


def test_unfused_graphs_go_by_another_name(capsys):
    with settings(dump="groups"):
        build()
        build(fuse=False)
    shown = re.findall(r"^--- tensorjit (\S+): groups$", capsys.readouterr().err, re.MULTILINE)
    assert shown[1] == shown[0] + "-unfused"


def test_a_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TENSORJIT_DUMP", "all")
    monkeypatch.setenv("TENSORJIT_DUMP_DIR", str(tmp_path / "made for it"))
    graph = build()
    assert capsys.readouterr().err == ""
    (folder,) = (tmp_path / "made for it").iterdir()
    files = {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}
    assert sorted(files) == [f"{i}-{stage}.txt" for i, stage in enumerate(STAGES[:-1], 1)] + ["7-source-reference.txt"]
    assert files["1-graph.txt"] == tjcore.show_graph(graph.plan.outputs)


@pytest.mark.toolchain
def test_the_source_of_a_compiler(tmp_path):
    with settings(dump="source", dump_dir=tmp_path):
        graph = tjcore.CompiledGraph(outputs())
    (file,) = tmp_path.glob("*/*")
    assert file.name == f"7-source-{graph.backend}.c" and file.read_text(encoding="utf-8") == graph.source


@pytest.mark.toolchain
def test_what_was_planned_is_shown_though_the_compiler_refuses(tmp_path, monkeypatch):
    backend = tjcore.CompiledGraph(outputs()).backend
    command = tmp_path / "refuses"
    command.write_text("#!/bin/sh\ncase $1 in --version) echo 1.0 ;; *) echo no >&2; exit 1 ;; esac\n")
    command.chmod(0o755)
    monkeypatch.setenv(f"TENSORJIT_{backend.upper()}", str(command))
    with settings(dump="scheduled,source", dump_dir=tmp_path / "out"), pytest.raises(CompileError):
        tjcore.CompiledGraph(outputs(), backend=backend)
    assert [path.name for path in (tmp_path / "out").glob("*/*")] == ["5-scheduled.txt"]


@pytest.mark.parametrize("value", ["loop", "loops;source", ",", "graph,nothing"])
def test_no_such_stage(monkeypatch, value):
    monkeypatch.setenv("TENSORJIT_DUMP", value)
    with pytest.raises(GraphError, match=r"TENSORJIT_DUMP: expected stages such as .*graph, simplified, .*got"):
        build()


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with settings(dump="graph", dump_dir=tmp_path / "file"), pytest.raises(GraphError, match=r"dump_dir: cannot write .*1-graph\.txt"):
        build()
