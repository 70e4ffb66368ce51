#!/usr/bin/env python3
"""Draws the copies of a few batches, and the kernels at the same time, from a trace that `--profile` wrote.

The picture shows the order and not the time: a new column begins whenever a copy or kernel begins or ends. On the emulated
GPU durations would be meaningless.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

KERNELS, COPIES = 1, 2


def main() -> int:
    """Runs the program."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace", type=Path, help="a file that --profile wrote")
    parser.add_argument("--batches", type=int, default=3, help="number of copies to draw")
    parser.add_argument("--bytes", type=int, default=100_000, help="minimum size of a batch's copy")
    arguments = parser.parse_args()
    try:
        events = json.loads(arguments.trace.read_text())["traceEvents"]
        events = [event for event in events if event.get("ph") == "X"]
        spans = [(e["tid"], e["ts"], e["ts"] + e["dur"], e["args"]["bytes"]) for e in events]
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(f"error: {arguments.trace} is not a trace of --profile: {error}", file=sys.stderr)
        return 2
    kernels = [(start, end) for track, start, end, _ in spans if track == KERNELS]
    large = [
        (start, end)
        for track, start, end, size in spans
        if track == COPIES and size >= arguments.bytes
    ]
    # Copies before the first kernel are parameters and initial data.
    copies = [copy for copy in large if kernels and copy[0] > kernels[0][0]]
    meanwhile = sum(any(k[0] < c[1] and c[0] < k[1] for k in kernels) for c in copies)
    print(f"{meanwhile} of {len(copies)} batches were copied while a kernel ran")
    if len(copies) <= arguments.batches:
        return 0
    begin, end = copies[0][0], copies[arguments.batches][0]
    near = [k for k in kernels if k[1] > begin and k[0] < end]
    drawn = [c for c in copies if c[0] < end]
    marks = sorted({t for span in near + drawn for t in span if begin <= t <= end})
    # Gaps, in which nothing runs, are left out.
    moments = [
        moment
        for moment in ((a + b) / 2 for a, b in zip(marks, marks[1:]))
        if any(start <= moment < end for start, end in near + drawn)
    ]
    for name, row in (("kernels", near), ("copies", drawn)):
        cells = ["#" if any(s[0] <= m < s[1] for s in row) else "." for m in moments]
        print(f"{name:<9}{''.join(cells)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
