"""Subinterpreters are refused with a reason, before NumPy is imported, and the main interpreter goes on."""

import subprocess
import sys

SCRIPT = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
run = getattr(interpreters, "exec", None) or interpreters.run_string
code = '''
try:
    import tjcore
except ImportError as error:
    import sys
    print(error, "numpy" in sys.modules, flush=True)
'''
run(interpreters.create(), code)
import tjcore
run(interpreters.create(), code)
print(tjcore.evaluate_graph([tjcore.constant(2.0)], {}, {})[0])
"""


def test_a_subinterpreter_is_refused():
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", SCRIPT], capture_output=True, text=True, check=True)
    first, second, value = done.stdout.splitlines()
    assert first == second and first.startswith("tjcore cannot be imported in a subinterpreter") and first.endswith("False")
    assert "use threads" in first and "processes" in first
    assert float(value) == 2.0
