"""The conformance suite: what every toolchain must do, as pytest files that ship with tjcore (extra `tjcore[conformance]`).

In: the name of an installed toolchain. Out: pytest's verdict. Run `python -m tjcore.conformance --backend=NAME` in any folder, or import
`tjcore.conformance.suite` into a plugin's own tests; docs/conformance.md says how. Law: a toolchain that passes gives, for every graph, the bits
that the reference evaluator defines, and the bits of every other toolchain that passes.
"""
