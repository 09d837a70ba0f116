"""The whole suite under one name, for a plugin's own tests: `from tjcore.conformance.suite import *`.

In: nothing. Out: the test classes. To adjust a test, subclass the class that holds it under the same name, after the star import.
"""

from .test_calls import TestBounds, TestMemory, TestObject
from .test_contract import TestBuilding, TestInstallation, TestOpening
from .test_gradients import TestGradients
from .test_numerics import TestNumericContract, TestRandomGraphs
from .test_ops import TestComposed, TestElementwise, TestLeaves, TestPeers, TestProducts, TestReductions, TestScans, TestTable, TestViews

__all__ = [
    "TestBounds",
    "TestBuilding",
    "TestComposed",
    "TestElementwise",
    "TestGradients",
    "TestInstallation",
    "TestLeaves",
    "TestMemory",
    "TestNumericContract",
    "TestObject",
    "TestOpening",
    "TestPeers",
    "TestProducts",
    "TestRandomGraphs",
    "TestReductions",
    "TestScans",
    "TestTable",
    "TestViews",
]
