"""Compiles the CUDA C of this folder to compiled/*.ptx with NVRTC; the result is committed.

Only needs NVRTC, from the PyPI wheel nvidia-cuda-nvrtc-cu12==12.9.*, and no GPU:

    python3 book/kernels/compile.py path/to/libnvrtc.so.12 [FOLDER]
"""

import ctypes
import importlib.util
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
# The same function compiles the emulator's tests.
COMPILE = HERE.parents[1] / "crates/emulated-gpu/ptx-emulator/tests/ptx/compile.py"


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    sys.dont_write_bytecode = True
    spec = importlib.util.spec_from_file_location("compile_ptx", COMPILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    nvrtc = ctypes.CDLL(sys.argv[1])
    folder = pathlib.Path(sys.argv[2]) if len(sys.argv) == 3 else HERE / "compiled"
    folder.mkdir(exist_ok=True)
    for source in sorted([*HERE.glob("*.cu"), *HERE.glob("faults/*.cu")]):
        ptx = module.compile_ptx(nvrtc, source, 75, False)
        (folder / f"{source.stem}.ptx").write_bytes(ptx.rstrip(b"\0"))


if __name__ == "__main__":
    main()
