"""The gold standard on several ranks: PyTorch's DistributedDataParallel over gloo.

`dump` runs one training step with a process for each rank, which takes its share of the batch, and
writes every tensor of the whole batch: the rows of all shares, and the tensors that are the same on
all ranks.

DistributedDataParallel averages the gradients of the ranks. The gradient of a batch is only the
average of the shares' gradients if these are means over shares of equal size. So each rank
backpropagates the sum over its share, times ranks/B: their average is the sum over all samples,
divided by B, whatever the sizes.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing
import torch.nn.functional as F
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

import dumps
from command_line import positive
from dumps import Dump, Tensors
from failures import BadInput, Failure
from pytorch_mlp import Mlp, outputs, set_parameters


@dataclasses.dataclass(frozen=True)
class Case:
    """A training step and its number of ranks."""

    inputs: Tensors
    """`x y w1 b1 …`"""
    sizes: tuple[int, ...]
    loss: str
    learning_rate: float
    ranks: int


def share(batch: int, rank: int, ranks: int) -> slice:
    """The samples of a rank. Sizes differ by at most one, larger ones first."""
    each, more = divmod(batch, ranks)
    begin = rank * each + min(rank, more)
    return slice(begin, begin + each + (rank < more))


def loss_sum(z: Tensor, y: Tensor, loss: str) -> Tensor:
    """zL, y of a share, both [b, C] -> a scalar: the sum of the losses, 0 for an empty share."""
    if loss == "cross-entropy":
        return F.cross_entropy(z, y, reduction="sum")
    if loss == "bce":
        return F.binary_cross_entropy_with_logits(z, y, reduction="sum")
    return 0.5 * (z - y).square().sum()


def run(cases: list[Case]) -> list[Tensors]:
    """Computes each step on its ranks; every tensor of it, in order, as float64.

    Raises `Failure` when a rank fails, or when the ranks don't end with the same gradients.
    """
    most = max(case.ranks for case in cases)
    with tempfile.TemporaryDirectory() as folder:
        try:
            torch.multiprocessing.spawn(_rank, (most, cases, folder), nprocs=most)
        except torch.multiprocessing.ProcessException as error:
            raise Failure(f"a rank failed: {error}") from error
        found = []
        for n, case in enumerate(cases):
            with np.load(Path(folder) / f"{n}.npz") as saved:
                names = dumps.tensor_names(len(case.sizes) - 1)
                found.append({name: saved[name] for name in names})
        return found


def _rank(rank: int, ranks: int, cases: list[Case], folder: str) -> None:
    """The main function of a rank's process: its part of every case."""
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    store = dist.FileStore(str(Path(folder) / "store"), ranks)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=ranks)
    for n, case in enumerate(cases):
        group = dist.new_group(list(range(case.ranks)))  # a collective call
        if rank < case.ranks:
            found = step(case, rank, group)
            if rank == 0:
                np.savez(Path(folder) / f"{n}.npz", **found)
    dist.barrier()
    dist.destroy_process_group()


def step(case: Case, rank: int, group: dist.ProcessGroup) -> Tensors:
    """One training step on this rank's share; every tensor of the whole batch."""
    whole = {name: torch.from_numpy(case.inputs[name]).double() for name in ("x", "y")}
    batch = len(whole["x"])
    own = share(batch, rank, case.ranks)
    x, y = whole["x"][own], whole["y"][own]
    model = Mlp(case.sizes, torch.float64)
    set_parameters(model, case.inputs)
    parallel = DistributedDataParallel(model, process_group=group)
    sgd = torch.optim.SGD(parallel.parameters(), lr=case.learning_rate)

    z, a = parallel(x)
    for tensor in (*z, *a):
        tensor.retain_grad()
    total = loss_sum(z[-1], y, case.loss)
    (total * (case.ranks / batch)).backward()  # averages the gradients over the ranks

    printed = total.detach().clone()
    dist.all_reduce(printed, group=group)
    printed /= y.shape[1] * batch if case.loss == "bce" else batch

    replicated: dict[str, Tensor] = {"loss": printed}
    rows = {"x": x, "y": y, "p": outputs(z[-1], case.loss)}
    for n, layer in enumerate(model.layers, start=1):
        replicated |= {f"w{n}": layer.weight.clone(), f"b{n}": layer.bias.clone()}
        replicated |= {f"dw{n}": layer.weight.grad, f"db{n}": layer.bias.grad}
        # This rank's dz are `ranks` times those of the whole batch's loss.
        rows |= {f"z{n}": z[n - 1], f"dz{n}": z[n - 1].grad / case.ranks}
    for n, activation in enumerate(a, start=1):
        rows |= {f"a{n}": activation, f"da{n}": activation.grad / case.ranks}
    sgd.step()
    for n, layer in enumerate(model.layers, start=1):
        replicated |= {f"w{n}_next": layer.weight, f"b{n}_next": layer.bias}

    def array(tensor: Tensor) -> np.ndarray:
        return tensor.detach().numpy().copy()

    mine = {name: array(tensor) for name, tensor in (rows | replicated).items()}
    every: list[Tensors | None] = [None] * case.ranks
    dist.all_gather_object(every, mine, group=group)
    found = {}
    for name, values in mine.items():
        if name in rows:
            found[name] = np.concatenate([part[name] for part in every])
        else:
            found[name] = values
            if any(part[name].tobytes() != values.tobytes() for part in every):
                raise Failure(f"the ranks differ in {name}")
    return found


def case_of(dump: Dump, ranks: int, path: str | Path) -> Case:
    """The step that a dump starts from."""
    sizes = tuple(dumps.layer_sizes(dump, path))
    if dump.header.loss is None:
        raise BadInput(f"{path} does not name its loss: add a field loss to its header")
    return Case(dump.tensors, sizes, dump.header.loss, dump.header.learning_rate, ranks)


def header_of(inputs: dumps.Header, ranks: int, digits: int | None) -> dumps.Header:
    """The header of the results."""
    return dataclasses.replace(
        inputs,
        level="reference-pytorch-ddp",
        device="cpu",
        dtype="f64",
        not_materialised=[],
        digits=digits,
        world_size=ranks,
        rank=None,
    )


def main() -> int:
    """Runs the program; returns its exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    dump = commands.add_parser("dump", help="run one training step and write all its tensors")
    dump.add_argument("--inputs", type=Path, required=True, metavar="FILE")
    dump.add_argument("--out", type=Path, required=True, metavar="FILE")
    dump.add_argument("--ranks", type=positive, required=True, metavar="N")
    dump.add_argument("--digits", type=positive, metavar="N")
    arguments = parser.parse_args()
    try:
        inputs = dumps.read(arguments.inputs)
        [tensors] = run([case_of(inputs, arguments.ranks, arguments.inputs)])
        if arguments.digits:
            tensors = {
                name: tensor if name in inputs.tensors else dumps.rounded(tensor, arguments.digits)
                for name, tensor in tensors.items()
            }
        header = header_of(inputs.header, arguments.ranks, arguments.digits)
        dumps.write(Dump(header, tensors), arguments.out)
    except Failure as failure:
        print(f"error: {failure}", file=sys.stderr)
        return failure.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
