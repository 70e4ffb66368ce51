"""How fast PyTorch trains each preset on this machine's CPU, written as well as we know how.

The data is one tensor in memory before the clock starts. Several ways to write the loop are tried
with each number of threads, and the fastest one is reported, by name.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from torch import Tensor

import benchmark
import dumps
from benchmark import Candidate
from failures import Failure
from presets import PRESETS, Preset
from pytorch_mlp import Mlp, initialise

Step = Callable[[Tensor, Tensor], Tensor]
"""x [B, n0], and y [B, C] or the labels [B] -> the loss that is backpropagated, before the update,
not waited for."""


def backpropagated(z: Tensor, y: Tensor, loss: str) -> Tensor:
    """zL [B, C], and y [B, C] or, for cross-entropy, the labels [B] -> a scalar."""
    if loss == "cross-entropy":
        return F.cross_entropy(z, y)
    if loss == "bce":
        return F.binary_cross_entropy_with_logits(z, y, reduction="sum") / len(z)
    return F.mse_loss(z, y, reduction="sum") * (0.5 / len(z))


def forward(parameters: list[Tensor], x: Tensor) -> Tensor:
    """w1, b1, …, x [B, n0] -> zL [B, C]."""
    for w, b in zip(parameters[:-2:2], parameters[1:-2:2], strict=True):
        x = F.relu(F.linear(x, w, b))
    return F.linear(x, parameters[-2], parameters[-1])


def step_with_sgd(parameters: list[Tensor], preset: Preset, **options: bool) -> Step:
    """The usual loop: backward, `optim.SGD`, gradients set to none."""
    sgd = torch.optim.SGD(parameters, lr=dumps.to_single(preset.learning_rate), **options)

    def step(x: Tensor, y: Tensor) -> Tensor:
        loss = backpropagated(forward(parameters, x), y, preset.loss)
        loss.backward()
        sgd.step()
        sgd.zero_grad(set_to_none=True)
        return loss

    return step


def step_by_hand(parameters: list[Tensor], preset: Preset, *, compiled: bool = False) -> Step:
    """Gradients from `autograd.grad`, and an update of one line for each parameter."""
    learning_rate = dumps.to_single(preset.learning_rate)

    def loss_of(x: Tensor, y: Tensor) -> Tensor:
        return backpropagated(forward(parameters, x), y, preset.loss)

    if compiled:
        loss_of = torch.compile(loss_of, dynamic=False)

    def step(x: Tensor, y: Tensor) -> Tensor:
        loss = loss_of(x, y)
        gradients = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter.sub_(gradient, alpha=learning_rate)
        return loss

    return step


def step_compiled_whole(parameters: list[Tensor], preset: Preset) -> Step:
    """Forward, backward and update as one graph for the compiler."""
    learning_rate = dumps.to_single(preset.learning_rate)
    parameters = [parameter.detach() for parameter in parameters]

    @torch.compile(dynamic=False, fullgraph=True)
    def whole(parameters: list[Tensor], x: Tensor, y: Tensor) -> Tensor:
        def loss_of(parameters: list[Tensor]) -> Tensor:
            return backpropagated(forward(parameters, x), y, preset.loss)

        gradients, loss = torch.func.grad_and_value(loss_of)(parameters)
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.sub_(gradient, alpha=learning_rate)
        return loss

    return lambda x, y: whole(parameters, x, y)


EAGER_LEVEL = "reference-pytorch"
COMPILED_LEVEL = "reference-pytorch-compile"

EAGER: dict[str, Callable[[list[Tensor], Preset], Step]] = {
    "optim.SGD": lambda p, preset: step_with_sgd(p, preset, foreach=False),
    "optim.SGD(foreach)": lambda p, preset: step_with_sgd(p, preset, foreach=True),
    "optim.SGD(fused)": lambda p, preset: step_with_sgd(p, preset, fused=True),
    "autograd.grad and p.sub_": step_by_hand,
}
COMPILED: dict[str, Callable[[list[Tensor], Preset], Step]] = {
    "torch.compile of the loss": lambda p, preset: step_by_hand(p, preset, compiled=True),
    "torch.compile of the step": step_compiled_whole,
}


def endless_batches(
    preset: Preset, x: Tensor, y: Tensor, seed: int
) -> Iterator[tuple[Tensor, Tensor]]:
    """Batch after batch, epoch after epoch: views, or copies where the preset shuffles."""
    size = preset.batch_size
    end = len(x) - len(x) % size if preset.drop_last else len(x)
    views = list(zip(x[:end].split(size), y[:end].split(size), strict=True))
    generator = torch.Generator().manual_seed(seed)
    while True:
        if not preset.shuffle:
            yield from views
            continue
        for indices in torch.randperm(len(x), generator=generator)[:end].split(size):
            yield x.index_select(0, indices), y.index_select(0, indices)


def candidate(variant: str, threads: int, preset: Preset, x: Tensor, y: Tensor) -> Candidate:
    """A candidate with parameters of its own, the same for all."""
    model = Mlp(preset.sizes, torch.float32)
    initialise(model, preset.initialisation, seed=1)
    torch.set_num_threads(threads)
    step = (EAGER | COMPILED)[variant](list(model.parameters()), preset)
    batches = endless_batches(preset, x, y, seed=1)
    # Both sizes of batch, so that no compiler runs while the clock does.
    last = (len(x) - 1) % preset.batch_size + 1
    for size in {preset.batch_size} if preset.drop_last else {preset.batch_size, last}:
        step(x[:size], y[:size])

    def run(steps: int) -> tuple[int, float]:
        torch.set_num_threads(threads)
        samples = 0
        for _ in range(steps):
            x, y = next(batches)
            loss = step(x, y)
            samples += len(x)
        # As the preset prints it: of bce, the mean over the outputs too.
        outputs = preset.sizes[-1] if preset.loss == "bce" else 1
        return samples, loss.item() / outputs

    return Candidate(variant, threads, run)


def sgemm_gflops(threads: int) -> float:
    """The rate of this PyTorch's own product of two 2048 x 2048 matrices, in 10⁹ operations/s."""
    torch.set_num_threads(threads)
    n = 2048
    a, b, c = torch.rand(n, n), torch.rand(n, n), torch.empty(n, n)
    times = []
    for _ in range(6):
        clock = time.perf_counter()
        torch.mm(a, b, out=c)
        times.append(time.perf_counter() - clock)
    return 2 * n**3 / min(times) / 1e9


def main() -> int:
    """Times the presets asked for."""
    parser = benchmark.parser("How fast PyTorch trains on this machine's CPU.")
    parser.add_argument(
        "--compile", action="store_true", help="torch.compile too (needs a C++ compiler)"
    )
    arguments = parser.parse_args()
    torch.set_float32_matmul_precision("highest")
    if arguments.compile:
        torch._dynamo.config.recompile_limit = 64
    counts = benchmark.thread_counts(arguments.threads)
    about = {"torch": torch.__version__, "sgemm_gflops": sgemm_gflops(counts[-1])}
    print(f"PyTorch {about['torch']}, sgemm {about['sgemm_gflops']:.0f} GFLOP/s")
    results = []
    try:
        for name in arguments.preset or PRESETS:
            for level, variants in [(EAGER_LEVEL, EAGER), (COMPILED_LEVEL, COMPILED)]:
                if level == COMPILED_LEVEL and not arguments.compile:
                    continue
                if result := bench(level, name, variants, counts, arguments):
                    results.append(result)
                    benchmark.show(result)
        benchmark.write(arguments.json, about, results)
    except Failure as failure:
        print(f"error: {failure}", file=sys.stderr)
        return failure.exit_code
    return 0


def bench(
    level: str, name: str, variants: dict, counts: list[int], arguments: argparse.Namespace
) -> dict | None:
    """Times one preset; None where nothing of it could be compiled, which is said."""
    preset = PRESETS[name]
    train = benchmark.samples(preset, arguments)
    x = torch.from_numpy(train.x)
    y = torch.from_numpy(train.labels if preset.loss == "cross-entropy" else train.y())
    candidates = []
    for variant in variants:
        for threads in counts:
            try:
                candidates.append(candidate(variant, threads, preset, x, y))
            except Exception as error:
                if level == EAGER_LEVEL:
                    raise
                print(f"{name}: no {variant}: {str(error).strip().splitlines()[0]}")
    if not candidates:
        return None
    best, tried = benchmark.best_of(candidates, arguments.runs, arguments.steps)
    return benchmark.record(level, name, arguments.runs, best, tried)


if __name__ == "__main__":
    sys.exit(main())
