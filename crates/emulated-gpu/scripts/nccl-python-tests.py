"""Test of NVIDIA's Python bindings of NCCL (nccl4py), unmodified, on the emulated NCCL, run by
`crates/emulated-gpu/scripts/nccl-python-tests.sh`.

There are three ranks, each a process with its own emulated device. Every operation is compared with NumPy's result for the
numbers of all ranks.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import sys

import numpy as np
from cuda.bindings import driver
from nccl.bindings import nccl

RANKS = 3
COUNT = 70_001
FLOAT, INT64 = nccl.DataType.Float32, nccl.DataType.Int64
SUM, MAX, AVG = nccl.RedOp.Sum, nccl.RedOp.Max, nccl.RedOp.Avg


def called(result: tuple) -> object:
    """The result of a function of the driver. Raises an exception if the function failed."""
    code, *values = result
    if code != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(f"the driver returned {code}")
    return values[0] if values else None


class Device:
    """A device of the driver, and a stream on it."""

    def __init__(self, ordinal: int) -> None:
        called(driver.cuInit(0))
        device = called(driver.cuDeviceGet(ordinal))
        self.context = called(driver.cuDevicePrimaryCtxRetain(device))
        called(driver.cuCtxSetCurrent(self.context))
        stream = called(driver.cuStreamCreate(driver.CUstream_flags.CU_STREAM_NON_BLOCKING))
        self.stream = int(stream)

    def put(self, array: np.ndarray) -> int:
        """Copies an array to device memory, and returns its address."""
        address = called(driver.cuMemAlloc(max(array.nbytes, 1)))
        called(driver.cuMemcpyHtoD(address, array.ctypes.data, array.nbytes))
        return int(address)

    def get(self, address: int, like: np.ndarray) -> np.ndarray:
        """Copies an array back after the stream has finished."""
        called(driver.cuStreamSynchronize(self.stream))
        array = np.empty_like(like)
        called(driver.cuMemcpyDtoH(array.ctypes.data, address, array.nbytes))
        return array


def own(rank: int, count: int = COUNT) -> np.ndarray:
    """Floats of a rank whose sums need rounding."""
    return (((np.arange(count) * 7 + rank * 13) % 101) / (3 + rank)).astype(np.float32)


def whole(rank: int, count: int) -> np.ndarray:
    """Integers of a rank, all different."""
    return np.arange(count, dtype=np.int64) + rank * 1_000_003


def rank_main(rank: int, data: bytes, failures: multiprocessing.Queue) -> None:
    """The main function of a rank's process."""
    try:
        run(rank, data)
    except BaseException as error:  # of any kind: the parent reports it
        failures.put(f"rank {rank}: {type(error).__name__}: {error}")
        raise


def run(rank: int, data: bytes) -> None:
    """Calls every operation once."""
    device = Device(0)
    comm = nccl.comm_init_rank(RANKS, nccl.UniqueId.from_buffer(data), rank)
    assert (nccl.comm_count(comm), nccl.comm_user_rank(comm)) == (RANKS, rank)
    assert nccl.comm_get_async_error(comm) == nccl.Result.Success
    stream, mine = device.stream, own(rank)
    send = device.put(mine)
    all_of = np.stack([own(r) for r in range(RANKS)]).astype(np.float64)

    # Sum, maximum and mean: within the rounding of two additions and a product.
    for operation, expected in [(SUM, all_of.sum(0)), (MAX, all_of.max(0)), (AVG, all_of.mean(0))]:
        receive = device.put(np.zeros_like(mine))
        nccl.all_reduce(send, receive, COUNT, FLOAT, operation, comm, stream)
        found = device.get(receive, mine)
        assert (np.abs(found - expected) <= 3 * 2.0**-24 * all_of.sum(0)).all(), operation
        bits = device.put(found)
        # All ranks have the same bits, so their maximum changes nothing.
        nccl.all_reduce(bits, bits, COUNT, nccl.DataType.Uint32, MAX, comm, stream)
        assert (device.get(bits, found).view(np.uint32) == found.view(np.uint32)).all()

    numbers = whole(rank, RANKS * COUNT)
    send = device.put(numbers)
    receive = device.put(np.zeros(RANKS * COUNT, np.int64))
    nccl.all_gather(send, receive, COUNT, INT64, comm, stream)
    expected = np.concatenate([whole(r, COUNT) for r in range(RANKS)])
    assert (device.get(receive, numbers) == expected).all(), "all_gather"

    sums = sum(whole(r, RANKS * COUNT) for r in range(RANKS))
    part = device.put(np.zeros(COUNT, np.int64))
    nccl.reduce_scatter(send, part, COUNT, INT64, SUM, comm, stream)
    expected = sums[rank * COUNT : (rank + 1) * COUNT]
    assert (device.get(part, expected) == expected).all(), "reduce_scatter"

    nccl.broadcast(send, receive, RANKS * COUNT, INT64, 1, comm, stream)
    assert (device.get(receive, numbers) == whole(1, RANKS * COUNT)).all(), "broadcast"
    nccl.reduce(send, receive, RANKS * COUNT, INT64, SUM, 2, comm, stream)
    expected = sums if rank == 2 else whole(1, RANKS * COUNT)
    assert (device.get(receive, numbers) == expected).all(), "reduce"

    # Each rank sends to the next.
    nccl.group_start()
    nccl.send(send, COUNT, INT64, (rank + 1) % RANKS, comm, stream)
    nccl.recv(part, COUNT, INT64, (rank - 1) % RANKS, comm, stream)
    nccl.group_end()
    expected = whole((rank - 1) % RANKS, COUNT)
    assert (device.get(part, expected) == expected).all(), "send and recv"

    # Invalid arguments are rejected.
    for wrong in (
        lambda: nccl.all_reduce(send, receive, COUNT, 99, SUM, comm, stream),
        lambda: nccl.all_reduce(send, receive, COUNT, INT64, 99, comm, stream),
        lambda: nccl.broadcast(send, receive, COUNT, INT64, RANKS, comm, stream),
        lambda: nccl.all_reduce(0, receive, COUNT, INT64, SUM, comm, stream),
    ):
        try:
            wrong()
        except nccl.NCCLError:
            continue
        raise AssertionError("an invalid argument was accepted")

    nccl.comm_finalize(comm)
    nccl.comm_destroy(comm)


def main() -> int:
    """Starts the ranks."""
    version = nccl.get_version()
    unique = nccl.get_unique_id()
    data = ctypes.string_at(unique.ptr, 128)
    context = multiprocessing.get_context("spawn")
    failures = context.Queue()
    ranks = [
        context.Process(target=rank_main, args=(rank, data, failures)) for rank in range(RANKS)
    ]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join()
    if any(rank.exitcode != 0 for rank in ranks):
        while not failures.empty():
            print(failures.get(), file=sys.stderr)
        return 1
    print(f"NVIDIA's bindings: {RANKS} ranks, NCCL {version}: all results agree with NumPy")
    return 0


if __name__ == "__main__":
    sys.exit(main())
