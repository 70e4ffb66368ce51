"""The command line that PyTorch, NumPy and nvmath-python share: `train` and `dump`."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import dumps
import mnist
import pictures
import presets
import training
from dumps import Dump, Tensors
from failures import BadInput, Failure
from presets import FIXTURES, PRESETS, Preset


@dataclass(frozen=True)
class Program:
    """The differences between PyTorch, NumPy and nvmath-python."""

    level: str
    """The name in dumps and reports."""
    about: str
    """One line for `--help`."""
    model: Callable[[Preset, str, int, Tensors | None], training.Model]
    """Makes a network from a preset, a dtype (`f64` or `f32`), a seed, and the parameters
    `w1 b1 …` to start from, if any."""
    step: Callable[[Tensors, Sequence[int], str, float, str], Tensors]
    """One training step from `x y w1 b1 …`, the layer sizes, the loss, the learning rate and the
    dtype. Returns every tensor that it materialises, in the order of computation."""
    threads: Callable[[int], None] | None = None
    """Sets the number of threads, if the library supports that."""
    device: Callable[[], str] = lambda: "cpu"
    """The name of the device. Raises `Failure` if no device can be used."""
    dtypes: tuple[str, ...] = ("f64", "f32")
    """The supported types; the first is the default for a dump."""


def main(program: Program) -> int:
    """Runs the program. Returns its exit code: 0 success, 1 failure, 2 bad input."""
    arguments = _parser(program).parse_args()
    if program.threads and arguments.threads:
        program.threads(arguments.threads)
    try:
        if arguments.command == "dump":
            _dump(program, arguments)
        else:
            _train(program, arguments)
    except Failure as failure:
        print(f"error: {failure}", file=sys.stderr)
        return failure.exit_code
    return 0


def add_data_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options for the location of the digits."""
    parser.add_argument(
        "--data-dir", type=Path, metavar="DIR", help="the four MNIST files (default: MNIST_DIR)"
    )
    parser.add_argument(
        "--data-npz", type=Path, metavar="FILE", help="an .npz with x_train y_train x_test y_test"
    )


def positive(text: str) -> int:
    """Parses an integer above 0, for argparse."""
    if (number := int(text)) <= 0:
        raise ValueError
    return number


def _parser(program: Program) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=program.about)
    commands = parser.add_subparsers(dest="command", required=True)

    dump = commands.add_parser("dump", help="run a training step and write its tensors")
    dump.add_argument(
        "--inputs",
        type=Path,
        required=True,
        metavar="FILE",
        help="take batch, parameters, loss, seed and learning rate from this dump (from a run: the "
        "batch of each step)",
    )
    dump.add_argument(
        "--from-mnist",
        action="store_true",
        help="take x and y of each step from MNIST, not from the dump: the preset's samples in "
        "order, or those that the header names",
    )
    add_data_options(dump)
    dump.add_argument("--out", type=Path, required=True, metavar="FILE", help="the dump to write")
    dump.add_argument("--dtype", choices=program.dtypes, default=program.dtypes[0])
    dump.add_argument(
        "--digits", type=positive, metavar="N", help="round results to N digits"
    )

    train = commands.add_parser("train", help="train on MNIST and test the accuracy")
    train.add_argument("--preset", type=presets.current_name, choices=PRESETS, default="small")
    add_data_options(train)
    train.add_argument("--seed", type=int, default=1, metavar="N")
    train.add_argument(
        "--inputs", type=Path, metavar="FILE", help="start from the parameters of this dump"
    )
    train.add_argument("--learning-rate", type=float, metavar="RATE")
    train.add_argument("--initialisation", choices=presets.INITIALISATIONS)
    train.add_argument(
        "--evaluate-every", type=positive, metavar="N", help="test after every N batches"
    )
    train.add_argument("--dtype", choices=program.dtypes, default="f32")
    train.add_argument(
        "--plot", type=Path, metavar="DIR", help="write the first images and predictions as SVG"
    )
    train.add_argument("--json", type=Path, metavar="FILE", help="write the report to this file")

    if program.threads:
        for command in (dump, train):
            command.add_argument("--threads", type=positive, metavar="N", help="threads to use")
    return parser


def _dump(program: Program, arguments: argparse.Namespace) -> None:
    device = program.device()
    run = dumps.read_run(arguments.inputs)
    first = run[0]
    sizes = dumps.layer_sizes(first, arguments.inputs)
    header = first.header
    known = (PRESETS | FIXTURES).get(header.preset)
    loss = header.loss or (known.loss if known else None)
    if loss is None:
        raise BadInput(
            f"{arguments.inputs} does not name its loss, and its preset {header.preset!r} is "
            "unknown: add a field loss to its header"
        )
    parameters = [f"{kind}{n}" for n in range(1, len(sizes)) for kind in "wb"]
    now = {name: first.tensors[name] for name in parameters}
    made = []
    for step in run:
        header = dataclasses.replace(
            step.header,
            level=program.level,
            device=device,
            loss=loss,
            dtype=arguments.dtype,
            not_materialised=[],
            digits=arguments.digits,
        )
        batch = {name: step.tensors[name] for name in "xy"}
        if arguments.from_mnist:
            batch = _batch_of_mnist(step, arguments)
        dumps.layer_sizes(Dump(header, batch | now), arguments.inputs)
        rate = first.header.learning_rate
        tensors = program.step(batch | now, sizes, loss, rate, arguments.dtype)
        now = {name: tensors[f"{name}_next"] for name in parameters}
        if arguments.digits:
            given = {"x", "y"} | (set(parameters) if step is first else set())
            tensors = {
                name: tensor if name in given else dumps.rounded(tensor, arguments.digits)
                for name, tensor in tensors.items()
            }
        header.not_materialised.extend(
            name for name in dumps.tensor_names(len(sizes) - 1) if name not in tensors
        )
        made.append(Dump(header, tensors))
    dumps.write_run(made, arguments.out)


def _batch_of_mnist(step: Dump, arguments: argparse.Namespace) -> Tensors:
    """x and y of a step, read from MNIST and normalised here.

    A preset that keeps the order of the samples begins with the first batches, even if the header
    names other samples. For other presets and for later epochs, only the header names the samples.
    """
    header, size = step.header, len(step.tensors["x"])
    preset = PRESETS.get(header.preset)
    end = (header.step + 1) * size
    if preset and not preset.shuffle and size == preset.batch_size and end <= preset.samples:
        normalisation, rows = preset.normalisation, range(end - size, end)
    elif header.mnist:
        normalisation, rows = header.mnist["normalisation"], header.mnist["rows"]
    else:
        raise BadInput(
            f"{arguments.inputs} does not name the samples of MNIST of step {header.step}: "
            "leave out --from-mnist, or dump with a level that records them"
        )
    training_set, _ = mnist.load(normalisation, arguments.data_dir, arguments.data_npz)
    if max(rows) >= len(training_set):
        count = len(training_set)
        raise BadInput(f"{arguments.inputs} names sample {max(rows)}, but MNIST has {count}")
    taken = mnist.Samples(training_set.x[list(rows)], training_set.labels[list(rows)])
    return {"x": taken.x.astype(np.float64), "y": taken.y().astype(np.float64)}


def _train(program: Program, arguments: argparse.Namespace) -> None:
    device = program.device()
    preset = PRESETS[arguments.preset]
    changes = {
        name: value
        for name in ("learning_rate", "initialisation")
        if (value := getattr(arguments, name)) is not None
    }
    preset = dataclasses.replace(preset, **changes)
    if arguments.evaluate_every:
        preset = dataclasses.replace(preset, evaluate_every=arguments.evaluate_every)
    parameters = None
    if arguments.inputs:
        start = dumps.read(arguments.inputs)
        sizes = dumps.layer_sizes(start, arguments.inputs)
        if tuple(sizes) != preset.sizes:
            raise BadInput(f"{arguments.inputs} has a network {sizes}, not {list(preset.sizes)}")
        parameters = start.tensors
    training_set, test_set = mnist.load(
        preset.normalisation, arguments.data_dir, arguments.data_npz
    )
    if training_set.x.shape[1] != preset.sizes[0]:
        raise BadInput(f"the images have {training_set.x.shape[1]} pixels, not {preset.sizes[0]}")
    model = program.model(preset, arguments.dtype, arguments.seed, parameters)
    report = training.train(model, preset, arguments.seed, training_set, test_set)
    if arguments.plot:
        pictures.write(arguments.plot, model, preset.normalisation, training_set, test_set)
    if arguments.json:
        head = {"level": program.level, "device": device, "preset": arguments.preset}
        training.write_report(
            arguments.json,
            head | {"preset_unchanged": not changes, "dtype": arguments.dtype} | report,
        )
