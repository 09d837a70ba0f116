"""`python -m tjcore.conformance --backend=NAME [pytest's arguments]`: the suite, in any folder, with no file needed and none left behind.

In: pytest's command line. Out: pytest's exit code. Settings come from this package, so that a pytest.ini nearby changes nothing.
"""

from __future__ import annotations

import os
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent


def main(arguments: list[str]) -> int:
    missing = [name for name in ("pytest", "hypothesis") if find_spec(name) is None]
    if missing:
        print(f"the conformance suite needs {' and '.join(missing)}: pip install 'tjcore[conformance]'", file=sys.stderr)
        return 4
    import pytest

    # The package's path, not --pyargs with its name: pytest takes the name for no path, and reads the conftest of the folder it is started in.
    fixed = ["-p", "tjcore.conformance.plugin", "-c", str(PACKAGE / "pytest.ini"), "--rootdir", str(PACKAGE), str(PACKAGE)]
    with tempfile.TemporaryDirectory(prefix="tjcore-conformance-") as scratch:
        os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(Path(scratch, "hypothesis")))
        return int(pytest.main([*fixed, *arguments]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
