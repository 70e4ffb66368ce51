"""Compiles cuda/*.cu to compiled/*.ptx with NVRTC, once: the result is kept as test data.

Needs NVRTC only, from the PyPI wheel nvidia-cuda-nvrtc-cu12==12.9.*, and no GPU:

    python3 compile.py path/to/libnvrtc.so.12
"""

import ctypes
import os
import pathlib
import sys

ARCHITECTURES = [52, 75, 80, 90]
here = pathlib.Path(__file__).resolve().parent


def compile_ptx(nvrtc, source, architecture, fast):
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

    options = [f"--gpu-architecture=compute_{architecture}", "--generate-line-info"]
    if fast:
        options.append("--use_fast_math")
    encoded = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
    # A copy of the toolkit's assert.h, which NVRTC doesn't have.
    header = b"""
extern "C" __device__ void __assertfail(const char*, const char*, unsigned, const char*, size_t);
#define assert(e) ((e) ? (void)0 : __assertfail(#e, __FILE__, __LINE__, __func__, sizeof(char)))
"""
    headers, names = (ctypes.c_char_p * 1)(header), (ctypes.c_char_p * 1)(b"assert.h")
    text = source.read_bytes()
    call("nvrtcCreateProgram", ctypes.byref(program), text, source.name.encode(), 1, headers, names)
    call("nvrtcCompileProgram", program, len(options), encoded)
    size = ctypes.c_size_t()
    call("nvrtcGetPTXSize", program, ctypes.byref(size))
    ptx = ctypes.create_string_buffer(size.value)
    call("nvrtcGetPTX", program, ptx)
    # NVRTC puts the current folder before the name; remove it, because it differs between machines.
    return ptx.value.replace(f"{os.getcwd()}/".encode(), b"")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    nvrtc = ctypes.CDLL(sys.argv[1])
    for source in sorted((here / "cuda").glob("*.cu")):
        for architecture in ARCHITECTURES:
            for fast in (False, True):
                name = f"{source.stem}-sm{architecture}{'-fast' if fast else ''}.ptx"
                (here / "compiled" / name).write_bytes(
                    compile_ptx(nvrtc, source, architecture, fast)
                )


if __name__ == "__main__":
    main()
