"""The suite that tjcore ships, run on tcc, and what is tcc's own."""

from tjcore.conformance.suite import *  # noqa: F403


def test_plain_dialect(toolchain):
    assert not toolchain.dialect.vectors
    assert toolchain.probe().startswith("tcc version")
