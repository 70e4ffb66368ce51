"""Benchmark: training speed of PyTorch for each preset on this machine.

The data is one tensor in memory before the clock starts. Several ways to write the loop are tried
with each number of threads, and the fastest one is reported, by name. Some compute the loss in each
step, as one usually writes it; the others pass the gradient (p - y)/B to autograd and compute the
loss once, after the last step, as the levels do. On a GPU (--device cuda) the data is in its
memory, one thread launches, and CUDA graphs are tried too.
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
"""x [B, n0], and y [B, C] or the labels [B] -> the backpropagated loss, or zL [B, C], from which it
can be computed; both from before the update, without waiting for the device."""


def backpropagated(z: Tensor, y: Tensor, loss: str) -> Tensor:
    """zL [B, C], and y [B, C] or, for cross-entropy, the labels [B] -> a scalar."""
    if loss == "cross-entropy":
        return F.cross_entropy(z, y)
    if loss == "bce":
        return F.binary_cross_entropy_with_logits(z, y, reduction="sum") / len(z)
    return F.mse_loss(z, y, reduction="sum") * (0.5 / len(z))


@torch.no_grad()
def output_gradient(z: Tensor, y: Tensor, loss: str) -> Tensor:
    """zL [B, C], y [B, C] -> dzL [B, C], (p - y)/B."""
    if loss == "cross-entropy":
        p = torch.softmax(z, dim=1)
    elif loss == "bce":
        p = torch.sigmoid(z)
    else:
        p = z
    return (p - y) / len(z)


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


def step_of_z_with_sgd(parameters: list[Tensor], preset: Preset, **options: bool) -> Step:
    """The usual loop without a loss: `z.backward` of the gradient, `optim.SGD`."""
    sgd = torch.optim.SGD(parameters, lr=dumps.to_single(preset.learning_rate), **options)

    def step(x: Tensor, y: Tensor) -> Tensor:
        z = forward(parameters, x)
        z.backward(output_gradient(z, y, preset.loss))
        sgd.step()
        sgd.zero_grad(set_to_none=True)
        return z

    return step


def step_of_z_by_hand(parameters: list[Tensor], preset: Preset) -> Step:
    """The step by hand without a loss."""
    learning_rate = dumps.to_single(preset.learning_rate)

    def step(x: Tensor, y: Tensor) -> Tensor:
        z = forward(parameters, x)
        gradients = torch.autograd.grad(z, parameters, output_gradient(z, y, preset.loss))
        with torch.no_grad():
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter.sub_(gradient, alpha=learning_rate)
        return z

    return step


def step_of_z_compiled(parameters: list[Tensor], preset: Preset) -> Step:
    """Forward, backward and update without a loss, as one graph for the compiler."""
    learning_rate = dumps.to_single(preset.learning_rate)
    parameters = [parameter.detach() for parameter in parameters]

    @torch.compile(dynamic=False, fullgraph=True)
    def whole(parameters: list[Tensor], x: Tensor, y: Tensor) -> Tensor:
        z, backward = torch.func.vjp(lambda parameters: forward(parameters, x), parameters)
        (gradients,) = backward(output_gradient(z, y, preset.loss))
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.sub_(gradient, alpha=learning_rate)
        return z

    return lambda x, y: whole(parameters, x, y)


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


def step_in_graph(by_hand: Step) -> Step:
    """A step by hand, recorded once for each size of batch as a CUDA graph and then replayed."""
    recorded: dict[int, tuple[torch.cuda.CUDAGraph, Tensor, Tensor, Tensor]] = {}

    def record(x: Tensor, y: Tensor) -> None:
        x, y = x.clone(), y.clone()
        # Libraries initialise themselves in their first calls, which can't be recorded.
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                by_hand(x, y)
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            result = by_hand(x, y)
        recorded[len(x)] = graph, x, y, result.detach()

    def step(x: Tensor, y: Tensor) -> Tensor:
        if len(x) not in recorded:
            record(x, y)
        graph, graph_x, graph_y, result = recorded[len(x)]
        graph_x.copy_(x)
        graph_y.copy_(y)
        graph.replay()
        return result

    return step


EAGER_LEVEL = "reference-pytorch"
COMPILED_LEVEL = "reference-pytorch-compile"
GRAPH_LEVEL = "reference-pytorch-graph"

Make = Callable[[list[Tensor], Preset], Step]
"""Makes a step from parameters and a preset."""

EAGER: dict[str, Make] = {
    "optim.SGD": lambda p, preset: step_with_sgd(p, preset, foreach=False),
    "optim.SGD(foreach)": lambda p, preset: step_with_sgd(p, preset, foreach=True),
    "optim.SGD(fused)": lambda p, preset: step_with_sgd(p, preset, fused=True),
    "autograd.grad and p.sub_": step_by_hand,
    "z.backward, optim.SGD(foreach)": lambda p, preset: step_of_z_with_sgd(p, preset, foreach=True),
    "z.backward, optim.SGD(fused)": lambda p, preset: step_of_z_with_sgd(p, preset, fused=True),
    "autograd.grad of z and p.sub_": step_of_z_by_hand,
}
COMPILED: dict[str, Make] = {
    "torch.compile of the loss": lambda p, preset: step_by_hand(p, preset, compiled=True),
    "torch.compile of the step": step_compiled_whole,
    "torch.compile of the step without the loss": step_of_z_compiled,
}
GRAPH: dict[str, Make] = {
    "CUDA graph of autograd.grad and p.sub_": lambda p, preset: step_in_graph(
        step_by_hand(p, preset)
    ),
    "CUDA graph of autograd.grad of z and p.sub_": lambda p, preset: step_in_graph(
        step_of_z_by_hand(p, preset)
    ),
}
WITHOUT_LOSS = [
    "z.backward, optim.SGD(foreach)",
    "z.backward, optim.SGD(fused)",
    "autograd.grad of z and p.sub_",
    "torch.compile of the step without the loss",
    "CUDA graph of autograd.grad of z and p.sub_",
]
"""The loops that return zL, and take y [B, C] instead of labels."""


def endless_batches(
    preset: Preset, x: Tensor, y: Tensor, seed: int
) -> Iterator[tuple[Tensor, Tensor]]:
    """Batch after batch, epoch after epoch: views, or copies if the preset shuffles."""
    size = preset.batch_size
    end = len(x) - len(x) % size if preset.drop_last else len(x)
    views = list(zip(x[:end].split(size), y[:end].split(size), strict=True))
    generator = torch.Generator().manual_seed(seed)
    while True:
        if not preset.shuffle:
            yield from views
            continue
        order = torch.randperm(len(x), generator=generator)[:end].to(x.device)
        for indices in order.split(size):
            yield x.index_select(0, indices), y.index_select(0, indices)


def candidate(
    variant: str, threads: int, preset: Preset, x: Tensor, labels: Tensor, y: Tensor
) -> Candidate:
    """A candidate with its own copy of the initial parameters."""
    if preset.loss == "cross-entropy" and variant not in WITHOUT_LOSS:
        y = labels
    model = Mlp(preset.sizes, torch.float32)
    initialise(model, preset.initialisation, seed=1)
    model.to(x.device)
    torch.set_num_threads(threads)
    step = (EAGER | COMPILED | GRAPH)[variant](list(model.parameters()), preset)
    batches = endless_batches(preset, x, y, seed=1)
    # Both sizes of batch, so that no compilation is timed.
    last = (len(x) - 1) % preset.batch_size + 1
    for size in {preset.batch_size} if preset.drop_last else {preset.batch_size, last}:
        step(x[:size], y[:size])

    def run(steps: int) -> tuple[int, float]:
        torch.set_num_threads(threads)
        samples = 0
        for _ in range(steps):
            x, y = next(batches)
            result = step(x, y)
            samples += len(x)
        loss = backpropagated(result, y, preset.loss) if variant in WITHOUT_LOSS else result
        # As the preset prints it: for bce, also the mean over the outputs.
        outputs = preset.sizes[-1] if preset.loss == "bce" else 1
        return samples, loss.item() / outputs

    return Candidate(variant, threads, run)


def sgemm_gflops(threads: int, device: torch.device) -> float:
    """The rate of this PyTorch's own product of two 2048 x 2048 matrices, in 10⁹ operations/s."""
    torch.set_num_threads(threads)
    n = 2048
    a, b, c = (torch.rand(n, n, device=device) for _ in range(3))
    times = []
    for _ in range(6):
        clock = time.perf_counter()
        torch.mm(a, b, out=c)
        if device.type == "cuda":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - clock)
    return 2 * n**3 / min(times) / 1e9


def main() -> int:
    """Times the presets asked for."""
    parser = benchmark.parser("How fast PyTorch trains on this machine.")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument(
        "--compile", action="store_true", help="torch.compile too (needs a C++ compiler)"
    )
    arguments = parser.parse_args()
    torch.set_float32_matmul_precision("highest")
    if arguments.compile:
        torch._dynamo.config.recompile_limit = 64
    on_gpu = arguments.device == "cuda"
    if on_gpu and not torch.cuda.is_available():
        print(
            f"error: this PyTorch, {torch.__version__}, finds no GPU that it can use; "
            "--device cpu needs none",
            file=sys.stderr,
        )
        return 1
    # One thread launches a GPU's work.
    counts = [1] if on_gpu else benchmark.thread_counts(arguments.threads)
    about = {
        "torch": torch.__version__,
        "device": torch.cuda.get_device_name() if on_gpu else "cpu",
        "sgemm_gflops": sgemm_gflops(counts[-1], torch.device(arguments.device)),
    }
    print(f"PyTorch {about['torch']}, sgemm {about['sgemm_gflops']:.0f} GFLOP/s")
    results = []
    try:
        for name in arguments.preset or PRESETS:
            levels = [(EAGER_LEVEL, EAGER)]
            levels += [(COMPILED_LEVEL, COMPILED)] if arguments.compile else []
            levels += [(GRAPH_LEVEL, GRAPH)] if on_gpu else []
            for level, variants in levels:
                if result := bench(level, name, variants, counts, arguments, about["device"]):
                    results.append(result)
                    benchmark.show(result)
        benchmark.write(arguments.json, about, results)
    except Failure as failure:
        print(f"error: {failure}", file=sys.stderr)
        return failure.exit_code
    return 0


def bench(
    level: str,
    name: str,
    variants: dict,
    counts: list[int],
    arguments: argparse.Namespace,
    device: str,
) -> dict | None:
    """Times one preset. If no variant could be compiled, prints why and returns None."""
    preset = PRESETS[name]
    train = benchmark.samples(preset, arguments)
    x = torch.from_numpy(train.x).to(arguments.device)
    labels = torch.from_numpy(train.labels).to(arguments.device)
    y = torch.from_numpy(train.y()).to(arguments.device)
    candidates = []
    for variant in variants:
        for threads in counts:
            try:
                candidates.append(candidate(variant, threads, preset, x, labels, y))
            except Exception as error:
                if level == EAGER_LEVEL:
                    raise
                print(f"{name}: no {variant}: {str(error).strip().splitlines()[0]}")
    if not candidates:
        return None
    best, tried = benchmark.best_of(candidates, arguments.runs, arguments.steps)
    return benchmark.record(level, name, arguments.runs, best, tried, device)


if __name__ == "__main__":
    sys.exit(main())
