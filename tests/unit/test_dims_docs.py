"""The page about sizes says what the code does."""

import doctest
from pathlib import Path


def test_sizes_page():
    page = Path(__file__).parents[2] / "docs" / "sizes.md"
    outcome = doctest.testfile(str(page), module_relative=False)
    assert outcome.attempted > 15 and outcome.failed == 0
