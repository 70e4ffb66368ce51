"""The command `emulated-gpu`."""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from . import HERE, __version__, environment
from .faults import Faults, annotation, sarif

USAGE = """emulated-gpu run [OPTION …] COMMAND [ARGUMENT …]
       emulated-gpu check|trace|profile FILE [OPTION …]"""

HELP = """Runs CUDA programs on an NVIDIA GPU in software.

  run COMMAND …   runs a program; its exit code is this command's
  check FILE      checks a file of PTX or CUDA C without running it
  trace FILE      runs a kernel and prints each step
  profile FILE    runs a kernel and counts its instructions and accesses to memory

`emulated-gpu check --help` and so on list the options of these."""

TOOLS = ["check", "trace", "profile"]


def main():
    """Runs the command, and returns its exit code."""
    parser = argparse.ArgumentParser(
        prog="emulated-gpu",
        usage=USAGE,
        description=HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"emulated-gpu {__version__}")
    parser.add_argument("what", choices=["run", *TOOLS], metavar="command", help=argparse.SUPPRESS)
    parser.add_argument("rest", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.what == "run":
        return run(arguments.rest)
    program = HERE / "bin/ptx-emulator"
    os.execv(program, [str(program), arguments.what, *arguments.rest])


def run(words):
    """Runs a program on the emulated GPU."""
    parser = argparse.ArgumentParser(
        prog="emulated-gpu run",
        description="Runs a program on the emulated GPU. Its exit code is the program's.",
        epilog="More settings are environment variables, EMULATED_GPU_…, which the project's README lists.",
    )
    parser.add_argument(
        "--checks",
        help="checks in addition to those of addresses: initialisation, races, synchronisation, separated by commas, or all",
    )
    parser.add_argument("--sarif", type=Path, metavar="FILE", help="write faults to this file, as SARIF")
    parser.add_argument(
        "--github", action="store_true", help="print faults as annotations of a workflow of GitHub"
    )
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND …")
    arguments = parser.parse_args(words)
    command = arguments.command[1:] if arguments.command[:1] == ["--"] else arguments.command
    if not command:
        parser.error("a command is missing: emulated-gpu run python3 program.py")
    variables = environment(search=[*sys.path, *site_packages_of(command[0])])
    if arguments.checks:
        variables["EMULATED_GPU_CHECKS"] = arguments.checks
    if not arguments.sarif and not arguments.github:
        try:
            os.execvpe(command[0], command, variables)
        except OSError as error:
            print(f"error: {command[0]}: {error.strerror}", file=sys.stderr)
            return 127
    return run_and_report(command, variables, arguments)


def site_packages_of(program):
    """The site-packages of a Python in another environment, where NVIDIA's wheels may be."""
    folder = Path(program).absolute().parent.parent
    return [str(path) for path in folder.glob("lib/python3*/site-packages")]


def run_and_report(command, variables, arguments):
    """Runs a program, and reports its faults when it has ended."""
    with tempfile.TemporaryDirectory(prefix="emulated-gpu-") as folder:
        path = variables.setdefault("EMULATED_GPU_FAULTS", f"{folder}/faults.jsonl")
        faults = Faults(path)
        # Faults that an earlier program has left in the file.
        faults.new()
        # Ctrl+C reaches the program, too, which decides whether to end.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            code = subprocess.Popen(
                command, env=variables, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
            ).wait()
        except OSError as error:
            print(f"error: {command[0]}: {error.strerror}", file=sys.stderr)
            return 127
        found = faults.new()
    if arguments.sarif:
        temporary = arguments.sarif.with_name(arguments.sarif.name + ".part")
        try:
            temporary.write_text(json.dumps(sarif(found), indent=2) + "\n")
            temporary.replace(arguments.sarif)
        except OSError as error:
            print(f"error: {arguments.sarif}: {error.strerror}", file=sys.stderr)
            return code or 2
    if arguments.github:
        print("".join(annotation(fault) + "\n" for fault in found), end="", flush=True)
    # As a shell does for a program that a signal ended.
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
