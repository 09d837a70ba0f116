"""The shipped digits are the published ones: shape, range, every byte, every class; and reading them is safe and fresh."""

import hashlib
from importlib.resources import files

import numpy as np

from tjcore.data import load_digits


def test_shape_and_range() -> None:
    images, labels = load_digits()
    assert images.shape == (1797, 64) and images.dtype == np.uint8
    assert labels.shape == (1797,) and labels.dtype == np.uint8
    assert (images.min(), images.max()) == (0, 16)
    assert images.flags.c_contiguous and images.flags.writeable


def test_label_counts_are_the_publishers() -> None:
    assert np.bincount(load_digits()[1]).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


def test_every_byte() -> None:
    images, labels = load_digits()
    digest = hashlib.sha256(images.tobytes() + labels.tobytes()).hexdigest()
    assert digest == "87ff0c9e40dc7e2c0e34e7257799c2e3f3aec1a016363bb11cad869ec428a826"


def test_images_lie_row_by_row() -> None:
    first = load_digits()[0][0].reshape(8, 8)
    # The first image is a zero: an empty middle, ink on both sides, nothing in the corners.
    assert first[3:5, 3:5].max() == 0 and first[3:5, 1:3].max() >= 8 and first[3:5, 5:7].max() >= 8
    assert first[[0, 0, -1, -1], [0, -1, 0, -1]].max() == 0


def test_each_call_gives_fresh_arrays() -> None:
    images, labels = load_digits()
    images[:], labels[:] = 7, 7
    again = load_digits()
    assert again[0].max() == 16 and again[1].max() == 9


def test_small_and_attributed() -> None:
    folder = files("tjcore.data")
    assert len(folder.joinpath("digits.npz").read_bytes()) < 100_000
    attribution = folder.joinpath("digits.LICENSE.txt").read_text(encoding="utf-8")
    for fact in ("Alpaydin", "Kaynak", "10.24432/C50P49", "CC BY 4.0", "What was changed"):
        assert fact in attribution
