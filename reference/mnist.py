"""The MNIST digits, from the four IDX files or from one `.npz`, normalised to `float32`."""

from __future__ import annotations

import gzip
import os
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from failures import BadInput

CLASSES = 10


@dataclass
class Samples:
    """Images and their labels."""

    x: np.ndarray
    """Normalised pixels, `float32`, [N, n0]."""
    labels: np.ndarray
    """Digits, `int64`, [N]."""

    def __len__(self) -> int:
        return len(self.labels)

    def first(self, count: int) -> Samples:
        """The first samples, as a view."""
        return Samples(self.x[:count], self.labels[:count])

    def y(self) -> np.ndarray:
        """One-hot targets, `float32`, [N, 10]."""
        return np.eye(CLASSES, dtype=np.float32)[self.labels]


def load(
    normalisation: str, folder: Path | None = None, npz: Path | None = None
) -> tuple[Samples, Samples]:
    """Training and test samples, from an `.npz` if given, else from a folder or `MNIST_DIR`."""
    if npz is not None:
        images, labels, test_images, test_labels = _read_npz(npz)
    else:
        folder = folder or _folder_from_environment()
        images, labels = _read_idx(folder, "train-images", 3), _read_idx(folder, "train-labels", 1)
        test_images = _read_idx(folder, "t10k-images", 3)
        test_labels = _read_idx(folder, "t10k-labels", 1)
    origin = npz or folder
    return (
        _samples(images, labels, normalisation, f"the training set in {origin}"),
        _samples(test_images, test_labels, normalisation, f"the test set in {origin}"),
    )


def normalise(pixels: np.ndarray, normalisation: str) -> np.ndarray:
    """Pixels 0..255 of any shape -> `float32`, every step of it in `float32`."""
    unit = np.arange(256, dtype=np.float32) / np.float32(255)
    if normalisation == "mean-std":
        return ((unit - np.float32(0.1307)) / np.float32(0.3081))[pixels]
    return unit[pixels]


def pixels(x: np.ndarray, normalisation: str) -> np.ndarray:
    """The inverse of `normalise`: x -> the pixels, 0..255."""
    return np.searchsorted(normalise(np.arange(256), normalisation), x).astype(np.uint8)


def _folder_from_environment() -> Path:
    folder = os.environ.get("MNIST_DIR")
    if not folder:
        raise BadInput(
            "no digits: name the folder of the four MNIST files with --data-dir or MNIST_DIR, "
            "or an .npz with --data-npz"
        )
    return Path(folder)


def _read_idx(folder: Path, stem: str, axes: int) -> np.ndarray:
    """The bytes of an IDX file, plain or gzipped, in its shape: [N, 28, 28] or [N]."""
    name = f"{stem}-idx{axes}-ubyte"
    path = next((p for p in (folder / name, folder / f"{name}.gz") if p.exists()), folder / name)
    try:
        content = path.read_bytes()
        if content.startswith(b"\x1f\x8b"):
            content = gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise BadInput(f"can't read {path}: {error}") from error
    # Two zeros, the type (8: bytes), the number of axes, then a big-endian length for each.
    if content[:4] != bytes([0, 0, 8, axes]):
        found, wanted = content[:4].hex(), f"000008{axes:02x}"
        raise BadInput(f"{path} is not such an IDX file: it begins with {found}, not {wanted}")
    body = content[4 + 4 * axes :]
    shape = np.frombuffer(content[4 : 4 + 4 * axes], ">u4") if body else np.zeros(axes, int)
    if not body or int(np.prod(shape, dtype=object)) != len(body):
        raise BadInput(f"{path} declares the shape {shape.tolist()} but holds {len(body)} bytes")
    return np.frombuffer(body, np.uint8).reshape(shape)


def _read_npz(path: Path) -> list[np.ndarray]:
    names = ("x_train", "y_train", "x_test", "y_test")
    try:
        with np.load(path, allow_pickle=False) as file:
            return [file[name] for name in names]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise BadInput(f"{path} is not an .npz with {', '.join(names)}: {error}") from error


def _samples(images: np.ndarray, labels: np.ndarray, normalisation: str, origin: str) -> Samples:
    if images.dtype != np.uint8 or images.ndim < 2 or labels.shape != images.shape[:1]:
        raise BadInput(
            f"{origin} has {images.dtype} images of shape {list(images.shape)} and labels of shape "
            f"{list(labels.shape)}: expected bytes, and a label for each image"
        )
    if labels.size == 0 or labels.min() < 0 or labels.max() >= CLASSES:
        raise BadInput(f"{origin} has no labels, or a label that is not a digit from 0 to 9")
    x = normalise(images.reshape(len(images), -1), normalisation)
    return Samples(x, labels.astype(np.int64))
