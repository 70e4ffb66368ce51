"""Sheets of digits as SVG: the first images of a set, and a model's predictions for them.

They are the same sheets as those of the levels' `--plot`. The module only needs NumPy.
"""

from __future__ import annotations

import base64
import struct
import zlib
from pathlib import Path

import numpy as np

import dumps
import mnist
import training
from failures import Failure

COUNT = 40
"""The number of images on a sheet."""
COLUMNS = 10
CELL = (64, 84)
"""Width and height of an image with its text, in pixels."""
WRONG = "#c0392b"
"""The colour of a prediction that is not the label."""


def png(ink: np.ndarray) -> bytes:
    """ink [height, width], 0 to 255 -> a PNG of dark ink on white paper."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        checksum = zlib.crc32(kind + content)
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", checksum)

    height, width = ink.shape
    # 8 bits a pixel, grey. Each row begins with 0: it is not filtered.
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = b"".join(b"\0" + row.tobytes() for row in 255 - ink.astype(np.uint8))
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(kind, content) for kind, content in chunks)


def sheet(images: np.ndarray, labels: np.ndarray, predictions: np.ndarray) -> str:
    """images [N, height, width], labels [N], predictions [N] -> SVG.

    The prediction is below its image, with the label where the two differ.
    """
    width, height = COLUMNS * CELL[0], -(-len(images) // COLUMNS) * CELL[1]
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="14" '
        'text-anchor="middle">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for i, (image, label, predicted) in enumerate(zip(images, labels, predictions, strict=True)):
        x, y = i % COLUMNS * CELL[0], i // COLUMNS * CELL[1]
        data = base64.b64encode(png(image)).decode()
        text, fill = f"{predicted}", "black"
        if predicted != label:
            text, fill = f"{predicted} (is {label})", WRONG
        lines.append(
            f'<image x="{x + 4}" y="{y + 4}" width="56" height="56" '
            f'style="image-rendering:pixelated" href="data:image/png;base64,{data}"/>'
            f'<text x="{x + CELL[0] // 2}" y="{y + 76}" fill="{fill}">{text}</text>'
        )
    return "\n".join([*lines, "</svg>", ""])


def write(
    folder: Path,
    model: training.Model,
    normalisation: str,
    training_set: mnist.Samples,
    test_set: mnist.Samples,
) -> None:
    """Writes `training.svg` and `predictions.svg`: the first images of both sets.

    Raises `Failure` when a file can't be written.
    """
    first, tested = training_set.first(COUNT), test_set.first(COUNT)
    predictions = model.outputs(tested.x).argmax(axis=1)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, samples, shown in [
            ("training.svg", first, first.labels),
            ("predictions.svg", tested, predictions),
        ]:
            images = mnist.pixels(samples.x, normalisation).reshape(len(samples), 28, 28)
            svg = sheet(images, samples.labels, shown)
            dumps.write_atomically(folder / name, svg.encode())
    except OSError as error:
        raise Failure(f"can't write pictures to {folder}: {error}") from error
