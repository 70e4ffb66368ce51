"""Compiles cuda/*.cu with NVRTC, once: the results in compiled/ are kept as test data.

Needs no GPU; the wheels nvidia-cuda-nvrtc-cu12, nvidia-cuda-runtime-cu12 and nvidia-cuda-cccl-cu12
(==12.9.*) in one folder:

    pip install --target wheels nvidia-cuda-nvrtc-cu12==12.9.* nvidia-cuda-runtime-cu12==12.9.* nvidia-cuda-cccl-cu12
    python3 compile.py wheels [folder [architecture ...]]

With a folder, all programs for these architectures, or all that are named below, with each of the
options, go there; crates/emulated-gpu/scripts/test-nvrtc-programs.sh runs them.
"""

import ctypes
import itertools
import os
import pathlib
import sys

here = pathlib.Path(__file__).resolve().parent
OPTIONS = {"": [], "-fast": ["--use_fast_math"], "-line": ["--generate-line-info"], "-debug": ["--device-debug"]}
# The variants of each program: architecture and options.
KEPT = {
    "tiles": [(70, ""), (90, "")],
    "groups": [(75, ""), (90, "")],
    "matches": [(70, "-debug"), (80, "-line")],
    "int128": [(52, ""), (80, ""), (90, "-debug")],
    "cub": [(80, "")],
    "narrow": [(75, ""), (90, "-fast")],
    "idioms": [(60, ""), (80, "-line"), (80, "-debug")],
    "printing": [(52, ""), (90, "-debug")],
    "calls": [(75, ""), (90, "-debug")],
    "barriers": [(80, ""), (90, "-line")],
    "bulk": [(90, "")],
    "grid": [(70, ""), (90, "-line")],
    "textures": [(52, ""), (90, "-debug")],
    "wide": [(80, ""), (90, "")],
}
ARCHITECTURES = [52, 61, 70, 80, 90]


def least(stem):
    """The lowest architecture that the program needs."""
    return {"tiles": 70, "groups": 70, "matches": 70, "idioms": 50, "barriers": 80, "bulk": 90, "grid": 60, "wide": 80}.get(stem, 50)


def compile_ptx(nvrtc, includes, source, architecture, options):
    program = ctypes.c_void_p()

    def call(name, *arguments):
        status = getattr(nvrtc, name)(*arguments)
        if status == 0:
            return
        size = ctypes.c_size_t()
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        sys.exit(f"{source.name}, sm_{architecture}: {name}: {status}\n{log.value.decode()}")

    options = [f"--gpu-architecture=compute_{architecture}", "--std=c++17", "--device-int128", "--disable-warnings", *options, *includes]
    encoded = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
    call("nvrtcCreateProgram", ctypes.byref(program), source.read_bytes(), source.name.encode(), 0, None, None)
    call("nvrtcCompileProgram", program, len(options), encoded)
    size = ctypes.c_size_t()
    call("nvrtcGetPTXSize", program, ctypes.byref(size))
    ptx = ctypes.create_string_buffer(size.value)
    call("nvrtcGetPTX", program, ptx)
    # NVRTC puts the current folder before names; remove it, because it differs between machines.
    text = ptx.value
    for folder in [f"{os.getcwd()}/", *(include.removeprefix("-I").removesuffix("include") for include in includes)]:
        text = text.replace(folder.encode(), b"")
    return text


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    wheels = pathlib.Path(sys.argv[1]).resolve() / "nvidia"
    nvrtc = ctypes.CDLL(str(next(wheels.glob("cuda_nvrtc/lib/libnvrtc.so.*"))))
    includes = [f"-I{folder}" for folder in [*wheels.glob("*/include"), *wheels.glob("cuda_cccl/include/cccl")]]
    for source in sorted((here / "cuda").glob("*.cu")):
        wanted = KEPT[source.stem]
        folder = here / "compiled"
        if len(sys.argv) > 2:
            folder = pathlib.Path(sys.argv[2])
            architectures = [int(name) for name in sys.argv[3:]] or ARCHITECTURES
            wanted = [one for one in itertools.product(architectures, OPTIONS) if one[0] >= least(source.stem)]
        for architecture, name in wanted:
            text = compile_ptx(nvrtc, includes, source, architecture, OPTIONS[name])
            if folder == here / "compiled":
                # Leave out debug information: it is most of the text, and names the current folder.
                text = text.split(b"\t.section\t.debug")[0]
            (folder / f"{source.stem}-sm{architecture}{name}.ptx").write_bytes(text)


if __name__ == "__main__":
    main()
