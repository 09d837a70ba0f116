"""What a product needs beside its operands: packed blocks of an operand, and finished blocks that wait for an epilogue, in bytes per thread.

In: the sizes of a product. Out: bytes as an expression in the dims, for the memory plan. Law: the same as
`tj_contract_scratch` in native/contract.h gives, for every size (a test compares them).
"""

from __future__ import annotations

from .dims import Size, minimum
from .dtypes import DType

BLOCK = 256
"""Products per chain and rows of a packed block: TJ_CONTRACT_BLOCK."""
SMALL = 2 << 20
"""Up to so many multiply-adds nothing is packed: TJ_CONTRACT_SMALL."""
ROWS = 240
"""Rows that wait for an epilogue: TJ_CONTRACT_ROWS."""
L2_BYTES = 1 << 20
"""The cache that a core is taken to have to itself: TJ_L2. A packed block takes half of it."""


def packing_bytes(dtype: DType, rows: Size, cols: Size, inner: Size, epilogue: bool) -> Size:
    """Bytes that each thread needs for a product of `rows` x `inner` by `inner` x `cols`; 0 where it is small."""
    item = dtype.itemsize
    unit = 64 // item
    wide = minimum((cols + unit - 1) // unit * unit, L2_BYTES // 2 // BLOCK // 192 * 192 // item)
    each = minimum(inner, BLOCK) + (minimum(rows, ROWS) if epilogue else 0)
    large = minimum(1, rows * cols * inner // (SMALL + 1))
    return large * (wide * each * item)
