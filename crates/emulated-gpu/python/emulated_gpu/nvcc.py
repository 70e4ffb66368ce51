"""The `nvcc` of an environment with the emulated GPU: NVIDIA's, asked for PTX in place of machine code.

Where NVIDIA's isn't installed, cuda-c compiles kernels to PTX; programs with host code need NVIDIA's.
"""

import argparse
import os
import re
import sys
from pathlib import Path

from . import HERE, __version__

# The newest architecture that the emulated GPU has.
NEWEST = 90

ARCHITECTURE = ["-arch", "--gpu-architecture"]
CODE = ["-code", "--gpu-code", "-gencode", "--generate-code"]


def main():
    """Runs a compiler with the command's words."""
    words = sys.argv[1:]
    nvidias = os.environ.get("EMULATED_GPU_NVCC")
    command = [nvidias, *for_ptx(words)] if nvidias else with_cuda_c(words)
    try:
        os.execv(command[0], command)
    except OSError as error:
        sys.exit(f"error: {command[0]}: {error.strerror}")


def for_ptx(words):
    """The words of nvcc's command, so that the result is PTX or contains PTX.

    `--cubin` becomes `--ptx`, in a file of the same name; `code=sm_90` becomes `code=compute_90`; architectures that
    the emulated GPU doesn't have become its newest.
    """
    changed = []
    option = None
    for word in words:
        if word in ARCHITECTURE + CODE:
            changed.append(word)
            option = word
            continue
        name, equals, value = (option, "", word) if option else word.partition("=")
        if name in ARCHITECTURE:
            value = re.sub(r"^(native|all|all-major)$", f"sm_{NEWEST}", value)
            value = re.sub(r"^(sm|compute)_(\d+)[af]?$", lambda m: f"{m[1]}_{known(m[2])}", value)
        elif name in CODE:
            value = re.sub(r"arch=compute_(\d+)[af]?", lambda m: f"arch=compute_{known(m[1])}", value)
            head, code, targets = value.rpartition("code=")
            targets = re.sub(
                r"\b(?:sm|compute|lto)_(\d+)[af]?", lambda m: f"compute_{known(m[1])}", targets
            )
            # Each once, because sm_90 and compute_90 have become the same.
            parts = dict.fromkeys(targets.strip("[]\"'").split(","))
            value = head + code + (f"[{','.join(parts)}]" if len(parts) > 1 else next(iter(parts)))
        elif word in ["-cubin", "--cubin"]:
            name = "--ptx"
        changed.append(value if option else name + equals + value)
        option = None
    return changed if "--ptx" not in changed or output_of(words) else [*changed, "-o", default_output(words)]


def known(number):
    """An architecture that the emulated GPU has."""
    return min(int(number), NEWEST)


def output_of(words):
    """The option that names the output, if there is one."""
    return next((word for word in words if re.match(r"-o|--output-file", word)), None)


def default_output(words):
    """The name that nvcc gives to machine code: the source's, with another ending."""
    source = next((word for word in words if word.endswith((".cu", ".cpp", ".c"))), "a.cu")
    return Path(source).with_suffix(".cubin").name


def with_cuda_c(words):
    """The same command for cuda-c, which only compiles kernels."""
    if words in (["--version"], ["-V"]):
        print(f"nvcc of emulated-gpu {__version__}: no NVIDIA nvcc was found, cuda-c compiles kernels to PTX")
        sys.exit(0)
    parser = argparse.ArgumentParser(prog="nvcc", add_help=False, allow_abbrev=False)
    parser.add_argument("-ptx", "--ptx", "-cubin", "--cubin", action="store_true", dest="is_kernel")
    parser.add_argument("-o", "--output-file", dest="out")
    parser.add_argument("-arch", "--gpu-architecture", default="sm_80")
    parser.add_argument("-I", "--include-path", action="append", default=[])
    parser.add_argument("-D", "--define-macro", action="append", default=[])
    parser.add_argument("-use_fast_math", "--use_fast_math", action="store_true")
    # These concern the host's compiler.
    for ignored in ["-Xcompiler", "--compiler-options", "-ccbin", "--compiler-bindir", "-std", "--std"]:
        parser.add_argument(ignored)
    parser.add_argument("source", nargs="?")
    # Others, such as -O3 and -lineinfo, don't change what a kernel computes.
    options, _ = parser.parse_known_args(words)
    if not options.is_kernel or not options.source:
        sys.exit(
            "error: without NVIDIA's nvcc, only kernels can be compiled, with --ptx or --cubin; for programs install it: "
            "pip install nvidia-cuda-nvcc nvidia-nvvm nvidia-cuda-crt nvidia-cuda-runtime nvidia-cuda-cccl"
        )
    if options.use_fast_math:
        print("warning: --use_fast_math is ignored: cuda-c's functions are more accurate", file=sys.stderr)
    found = re.fullmatch(r"(?:sm|compute)_(\d+)[af]?", options.gpu_architecture)
    architecture = known(found[1]) if found else NEWEST
    ending = ".cubin" if {"-cubin", "--cubin"} & set(words) else ".ptx"
    out = options.out or Path(options.source).with_suffix(ending).name
    command = [str(HERE / "bin/cuda-c"), options.source, "--out", out, "--arch", str(architecture)]
    for folder in options.include_path:
        command += ["-I", folder]
    for macro in options.define_macro:
        command += ["-D", macro]
    return command


if __name__ == "__main__":
    main()
