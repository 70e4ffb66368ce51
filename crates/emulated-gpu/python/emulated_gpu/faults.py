"""Faults of kernels: read from the file that EMULATED_GPU_FAULTS names, written as SARIF and as annotations of GitHub."""

import json
import os
from pathlib import Path

from . import __version__


class Faults:
    """The faults that were added to a file since it was last read."""

    def __init__(self, path):
        self.path = Path(path)
        self.position = 0

    def new(self):
        """The faults that were added since the last call."""
        try:
            with self.path.open("rb") as file:
                file.seek(self.position)
                text = file.read()
        except FileNotFoundError:
            return []
        # A line without its end is still being written.
        whole = text[: text.rfind(b"\n") + 1]
        self.position += len(whole)
        return [json.loads(line) for line in whole.splitlines()]


def position(fault):
    """The file and line that a reader knows: CUDA C or Python if the kernel has them, otherwise PTX."""
    place = fault.get("cuda") or fault.get("ptx") or {}
    return place.get("file"), place.get("line")


def summary(fault):
    """The fault in one line."""
    if not fault.get("kernel"):
        return fault["message"].splitlines()[0]
    where = "".join(
        f", {name} ({', '.join(map(str, fault[name]))})" for name in ["block", "thread"] if fault[name]
    )
    return f"{fault['kind']}: {fault['message']} (kernel {fault['kernel']}{where})"


def sarif(faults):
    """The faults as SARIF 2.1.0 (https://docs.oasis-open.org/sarif/sarif/v2.1.0/)."""
    results = []
    for fault in faults:
        result = {
            "ruleId": fault["kind"].replace(" ", "-"),
            "level": "error",
            "message": {"text": fault["report"]},
        }
        file, line = position(fault)
        if file:
            place = {"artifactLocation": {"uri": relative(file)}, "region": {"startLine": line}}
            result["locations"] = [{"physicalLocation": place}]
        results.append(result)
    rules = [{"id": name} for name in sorted({result["ruleId"] for result in results})]
    driver = {"name": "emulated-gpu", "version": __version__, "rules": rules}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }


def annotation(fault):
    """The fault as a workflow command of GitHub, which shows it next to its line."""
    file, line = position(fault)
    place = f" file={escape(relative(file), True)},line={line}" if file else ""
    return f"::error{place}::{escape(fault['report'])}"


def relative(file):
    """The path relative to the current folder, if it is in there; SARIF and GitHub expect that."""
    try:
        return str(Path(file).resolve().relative_to(os.getcwd()))
    except ValueError:
        return str(file)


def escape(text, is_property=False):
    """The escapes of GitHub's workflow commands."""
    for character in "%\r\n" + (":," if is_property else ""):
        text = text.replace(character, f"%{ord(character):02X}")
    return text
