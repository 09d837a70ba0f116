"""`python -m tjcore` shows the demo; `python -m tjcore COMMAND`, like `tensorjit COMMAND`, is the command line."""

from __future__ import annotations

import sys


def main() -> None:
    """The console script. Without the extra `cli`, the demo still runs."""
    try:
        from .cli import main as command
    except ImportError as error:
        if error.name != "click":
            raise
        if sys.argv[1:] not in ([], ["demo"]):
            sys.exit("tensorjit: this command needs click: pip install 'tjcore[cli]'")
        from .demo import run

        run()
        return
    command(prog_name="tensorjit")


if __name__ == "__main__":
    if len(sys.argv) == 1:
        sys.argv.append("demo")
    main()
