"""Dumps: all tensors of one training step, as JSON, plain or gzipped.

The same format and the same checks as in `crates/tensor/src/dump.rs`.
"""

from __future__ import annotations

import gzip
import json
import math
import os
import re
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from failures import BadInput, Failure
from presets import LOSSES, NORMALISATIONS, current_name

FORMAT = "four-levels-dump"
VERSION = 1
DTYPES = ("f32", "f64", "tf32", "bf16")

_NAME = re.compile(r"x|y|p|loss|(?:w|b|z|a|dz|dw|db|da)[1-9][0-9]*|[wb][1-9][0-9]*_next", re.ASCII)
_WORDS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}

Tensors = dict[str, np.ndarray]
"""Tensors by name, in the order of computation."""


@dataclass
class Header:
    """The origin of a dump."""

    level: str
    device: str
    preset: str
    loss: str | None
    dtype: str
    seed: int
    step: int
    learning_rate: float
    """A `float32` value, even if the arithmetic is `float64`."""
    not_materialised: list[str] = field(default_factory=list)
    steps: int | None = None
    """Number of steps of the run that this step belongs to."""
    rank: int | None = None
    """The rank that made the dump, which then holds that rank's share of the batch."""
    world_size: int | None = None
    """Number of ranks that computed the step together."""
    digits: int | None = None
    """Number of significant decimal digits to which results are rounded."""
    mnist: dict[str, Any] | None = None
    """The samples of MNIST's training set that `x` and `y` hold: their `rows`, and the
    `normalisation` of their pixels."""


@dataclass
class Dump:
    """One training step. The elements are `float64` in memory, which holds any `float32`."""

    header: Header
    tensors: Tensors


def tensor_names(layers: int) -> list[str]:
    """Every tensor of a training step with `layers` layers, in the order of computation."""
    names = ["x", "y"]
    for n in range(1, layers + 1):
        names += [f"w{n}", f"b{n}"]
    for n in range(1, layers):
        names += [f"z{n}", f"a{n}"]
    names += [f"z{layers}", "p", "loss"]
    for n in range(layers, 0, -1):
        names += [f"dz{n}", f"dw{n}", f"db{n}"]
        if n > 1:
            names.append(f"da{n - 1}")
    for n in range(1, layers + 1):
        names += [f"w{n}_next", f"b{n}_next"]
    return names


def layer_sizes(dump: Dump, path: str | Path) -> list[int]:
    """`n0, n1, …, nL` of the batch and the parameters in a dump, whose shapes must fit together.

    Raises `BadInput` if `x`, `y` or a parameter is missing, has the wrong shape, or holds a value
    that is not finite.
    """

    def check(name: str, shape: list[int | None]) -> tuple[int, ...]:
        tensor = dump.tensors.get(name)
        if tensor is None:
            raise _content(path, f"it has no tensor {name}, which the step starts from")
        fits = len(shape) == tensor.ndim and 0 not in tensor.shape
        if not fits or any(n not in (None, m) for n, m in zip(shape, tensor.shape, strict=True)):
            wanted = ", ".join("any" if n is None else str(n) for n in shape)
            raise _content(path, f"{name} has the shape {list(tensor.shape)}, not [{wanted}]")
        if not np.isfinite(tensor).all():
            raise _content(path, f"{name} holds a value that is not finite")
        return tensor.shape

    batch, inputs = check("x", [None, None])
    sizes = [inputs]
    while len(sizes) == 1 or f"w{len(sizes)}" in dump.tensors:
        layer = len(sizes)
        outputs, _ = check(f"w{layer}", [None, sizes[-1]])
        check(f"b{layer}", [outputs])
        sizes.append(outputs)
    check("y", [batch, sizes[-1]])
    return sizes


def read(path: str | Path) -> Dump:
    """Reads a dump, plain or gzipped: the content decides, not the file's name.

    If `a.json` is missing, `a.json.gz` is read. Raises `BadInput` if the file can't be read, is
    truncated, is not JSON, is not a dump of version 1, has a duplicate tensor or one whose shape
    doesn't match its elements, or holds several steps.
    """
    run = read_run(path)
    if len(run) > 1:
        raise _content(path, f"it holds {len(run)} steps, but a single step is needed")
    return run[0]


def read_run(path: str | Path) -> list[Dump]:
    """Reads the dumps of a file: one, or the consecutive steps of a run."""
    try:
        file = Path(path)
        packed = file.with_name(file.name + ".gz")
        content = (packed if packed.exists() and not file.exists() else file).read_bytes()
        if content.startswith(b"\x1f\x8b"):
            content = gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise BadInput(f"can't read the dump {path}: {error}") from error
    # Each dump ends with a line `]}`, so a run can be split without parsing its numbers twice.
    documents = [part for part in re.split(rb"(?<=^\]\}\n)", content, flags=re.MULTILINE) if part]
    run = [from_json(document, path) for document in documents or [content]]
    for before, after in zip(run, run[1:]):
        if after.header.step != before.header.step + 1:
            steps = f"step {after.header.step} follows step {before.header.step}"
            raise _content(path, f"{steps}: a run has consecutive steps")
    return run


def from_json(content: bytes, path: str | Path) -> Dump:
    """Reads a dump from JSON. Errors name `path` as its origin."""

    def no_json(word: str) -> NoReturn:
        raise ValueError(f'{word} is not JSON: it is written as the string "{word}"')

    try:
        file = json.loads(content.decode(), parse_constant=no_json)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path} is not a dump: {error}") from error
    if not isinstance(file, dict):
        raise BadInput(f"{path} is not a dump: it is not a JSON object")
    # The format is checked first, so that other JSON files are not called dumps with a wrong field.
    stamp = (file.get("format", ""), file.get("version", 0))
    if stamp != (FORMAT, VERSION) or isinstance(stamp[1], bool):
        raise _content(
            path,
            f"its format is {stamp[0]!r} version {stamp[1]!r}, but this program reads "
            f"{FORMAT!r} version {VERSION}",
        )
    header = _header(file, path)
    tensors: Tensors = {}
    for entry in _field(file, "tensors", list, path):
        if not isinstance(entry, dict):
            raise _content(path, f"{entry!r:.40} in its tensors is not a JSON object")
        name = _name(_field(entry, "name", str, path), path)
        if name in tensors:
            raise _content(path, f"{name} comes twice")
        shape = _field(entry, "shape", list, path)
        if not all(type(axis) is int and axis >= 0 for axis in shape):
            raise _content(path, f"{name}: {shape!r:.40} is not a shape")
        data = _numbers(_field(entry, "data", list, path), name, path)
        if math.prod(shape) != data.size:
            raise _content(path, f"{name}: the shape {shape} does not hold {data.size} elements")
        if header.dtype != "f64":
            # The text is the shortest form of a float32: 0.1 stands for 0.100000001490116….
            with np.errstate(over="ignore"):
                data = data.astype(np.float32).astype(np.float64)
        tensors[name] = data.reshape(shape)
    return Dump(header, tensors)


def write(dump: Dump, path: str | Path) -> None:
    """Writes a dump, gzipped if the name ends in `.gz`, whole or not at all.

    Raises `Failure` if the file can't be written.
    """
    write_run([dump], path)


def write_run(run: list[Dump], path: str | Path) -> None:
    """Writes the dumps of a run, as `write` does."""
    content = "".join(map(to_json, run)).encode()
    if str(path).endswith(".gz"):
        content = gzip.compress(content, mtime=0)
    try:
        write_atomically(Path(path), content)
    except OSError as error:
        raise Failure(f"can't write the dump {path}: {error}") from error


def to_json(dump: Dump) -> str:
    """A dump as JSON, one tensor per line, with the fewest digits that read back exactly."""
    header = {"format": FORMAT, "version": VERSION} | vars(dump.header)
    single = dump.header.dtype != "f64"
    header["learning_rate"] = _shortest(dump.header.learning_rate, single=True)
    for optional in ("loss", "not_materialised", "steps", "world_size", "digits", "mnist"):
        if not header[optional]:
            del header[optional]
    if header["rank"] is None:  # the first one is 0
        del header["rank"]
    lines = []
    for name, tensor in dump.tensors.items():
        data = [_shortest(value, single) for value in np.asarray(tensor, np.float64).flat]
        entry = {"name": name, "shape": list(tensor.shape), "data": data}
        lines.append(json.dumps(entry, separators=(",", ":")))
    head = json.dumps(header, separators=(",", ":"), ensure_ascii=False)
    return head[:-1] + ',"tensors":[\n' + ",\n".join(lines) + "\n]}\n"


def rounded(tensor: np.ndarray, digits: int) -> np.ndarray:
    """Rounds each element to `digits` significant decimal digits."""
    flat = [float(f"{value:.{digits - 1}e}") for value in np.asarray(tensor, np.float64).flat]
    return np.array(flat, np.float64).reshape(np.shape(tensor))


def to_single(value: float) -> float:
    """The `float32` nearest to a number, as every level uses for the learning rate."""
    with np.errstate(over="ignore"):
        return float(np.float32(_to_float(value)))


def write_atomically(path: Path, content: bytes) -> None:
    """Writes a file under a temporary name next to `path`, then renames it.

    So a full disk or Ctrl-C never leaves a partial file, and never damages an existing one. Special
    files, such as `/dev/stdout`, are written directly.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        path.write_bytes(content)
        return
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _content(path: str | Path, reason: str) -> BadInput:
    return BadInput(f"{path} is not a usable dump: {reason}")


def _field(entry: dict[str, Any], key: str, kind: type, path: str | Path) -> Any:
    if key not in entry:
        raise _content(path, f"the field {key!r} is missing")
    value = entry[key]
    # Python's True is an int, but JSON's true is not a number.
    if not isinstance(value, kind) or isinstance(value, bool):
        raise _content(path, f"its field {key!r} is {value!r:.40}")
    return value


def _name(name: str, path: str | Path) -> str:
    if not _NAME.fullmatch(name):
        raise _content(path, f"{name!r} is not the name of a tensor")
    return name


def _header(file: dict[str, Any], path: str | Path) -> Header:
    rate = file.get("learning_rate")
    learning_rate = to_single(rate) if type(rate) in (int, float) else math.nan
    if not math.isfinite(learning_rate):
        raise _content(path, f"its field 'learning_rate' is {rate!r:.40}")
    header = Header(
        level=_field(file, "level", str, path),
        device=_field(file, "device", str, path),
        preset=current_name(_field(file, "preset", str, path)),
        loss=file.get("loss"),
        dtype=_field(file, "dtype", str, path),
        seed=_field(file, "seed", int, path),
        step=_field(file, "step", int, path),
        learning_rate=learning_rate,
        not_materialised=[_name(str(n), path) for n in file.get("not_materialised") or []],
        steps=file.get("steps"),
        rank=file.get("rank"),
        world_size=file.get("world_size"),
        digits=file.get("digits"),
        mnist=_samples(file.get("mnist"), path),
    )
    if header.rank is not None and (type(header.rank) is not int or header.rank < 0):
        raise _content(path, f"its field 'rank' is {header.rank!r:.40}")
    optional = {name: getattr(header, name) for name in ("steps", "world_size", "digits")}
    for key, number in optional.items():
        if number is not None and (type(number) is not int or number <= 0):
            raise _content(path, f"its field {key!r} is {number!r:.40}")
    for key, value, known in [
        ("loss", header.loss, (None, *LOSSES)),
        ("dtype", header.dtype, DTYPES),
    ]:
        if value not in known:
            names = ", ".join(name for name in known if name)
            raise _content(path, f"its field {key!r} is {value!r:.40}, which is not one of {names}")
    for key, count in [("seed", header.seed), ("step", header.step)]:
        if not 0 <= count < 2**64:
            raise _content(path, f"its field {key!r} is {count}")
    return header


def _samples(samples: Any, path: str | Path) -> dict[str, Any] | None:
    if samples is None:
        return None
    if not isinstance(samples, dict):
        raise _content(path, f"its field 'mnist' is {samples!r:.40}")
    normalisation = _field(samples, "normalisation", str, path)
    rows = _field(samples, "rows", list, path)
    if not all(type(row) is int and 0 <= row < 2**32 for row in rows):
        raise _content(path, "its field 'mnist' names rows that are not indices of samples")
    if normalisation not in NORMALISATIONS:
        raise _content(path, f"its field 'mnist' has the normalisation {normalisation!r:.40}")
    return {"normalisation": normalisation, "rows": rows}


def _numbers(values: list[Any], name: str, path: str | Path) -> np.ndarray:
    """Decodes numbers, and the words for NaN and infinities, as `float64`."""
    numbers = []
    for value in values:
        kind = type(value)
        if kind is float or kind is int:
            number = _to_float(value)
            if math.isinf(number):
                raise _content(path, f"{name} holds {value!r:.40}, which is too large for float64")
        elif kind is str and value in _WORDS:
            number = _WORDS[value]
        else:
            raise _content(
                path,
                f'{name} holds {value!r:.40}: expected a number, "NaN", "Infinity" or "-Infinity"',
            )
        numbers.append(number)
    return np.array(numbers, np.float64)


def _to_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer of more than 308 digits
        return math.inf


def _shortest(value: float, single: bool) -> float | str:
    """The JSON value for a number, which Python writes with the fewest digits."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return float(str(np.float32(value))) if single else float(value)
