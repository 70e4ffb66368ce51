"""The emulated driver through NVIDIA's own bindings for Python.

    pip install 'cuda-bindings==12.9.*'
    crates/emulated-gpu/emulate python3 crates/emulated-gpu/cuda/tests/python/cuda_bindings.py

Exits with 77 if the bindings are not installed. If NVRTC is installed as well
(`pip install nvidia-cuda-nvrtc-cu12`), the kernel is compiled as well.
"""

import ctypes
import struct
import sys

try:
    from cuda.bindings import driver as cuda
    from cuda.bindings import nvrtc
except ImportError as error:
    print(f"skipped: {error}; pip install 'cuda-bindings==12.9.*'")
    sys.exit(77)

PTX = b"""
.version 7.0
.target sm_80
.address_size 64
.visible .entry saxpy(.param .u64 y, .param .u64 x, .param .f32 a, .param .u32 n)
{
    .reg .pred %p<2>; .reg .b32 %r<6>; .reg .f32 %f<5>; .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [y]; ld.param.u64 %rd2, [x];
    ld.param.f32 %f1, [a]; ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra DONE;
    mul.wide.u32 %rd3, %r5, 4;
    add.s64 %rd4, %rd2, %rd3; add.s64 %rd5, %rd1, %rd3;
    ld.global.f32 %f2, [%rd4]; ld.global.f32 %f3, [%rd5];
    fma.rn.f32 %f4, %f1, %f2, %f3;
    st.global.f32 [%rd5], %f4;
DONE:
    ret;
}
\0"""

SOURCE = b"""
extern "C" __global__ void saxpy(float *y, const float *x, float a, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = fmaf(a, x[i], y[i]);
}
"""


def ok(result):
    """The values that a call returned; it must succeed."""
    code, *values = result
    if code != type(code)(0):
        raise AssertionError(f"{code!r}")
    return values[0] if len(values) == 1 else tuple(values)


def fails(result, code):
    assert result[0] == code, f"{result[0]!r} instead of {code!r}"


def compile_source():
    """PTX from NVRTC, or None if NVRTC is not installed."""
    try:
        program = ok(nvrtc.nvrtcCreateProgram(SOURCE, b"saxpy.cu", 0, [], []))
    except RuntimeError as error:
        print(f"without NVRTC: {error}")
        return None
    ok(nvrtc.nvrtcCompileProgram(program, 1, [b"--gpu-architecture=compute_90"]))
    ptx = b" " * ok(nvrtc.nvrtcGetPTXSize(program))
    ok(nvrtc.nvrtcGetPTX(program, ptx))
    return ptx


def saxpy(module, stream):
    """Launches the kernel on 1000 numbers, and checks the results."""
    kernel = ok(cuda.cuModuleGetFunction(module, b"saxpy"))
    n = 1000
    x = struct.pack(f"{n}f", *range(n))
    dx, dy = ok(cuda.cuMemAlloc(len(x))), ok(cuda.cuMemAllocAsync(len(x), stream))
    ok(cuda.cuMemcpyHtoD(dx, x, len(x)))
    ok(cuda.cuMemsetD32Async(dy, 0, n, stream))
    types = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_float, ctypes.c_uint32)
    arguments = ((int(dy), int(dx), 2.0, n), types)
    for _ in range(3):
        ok(cuda.cuLaunchKernel(kernel, 8, 1, 1, 128, 1, 1, 0, stream, arguments, 0))
    y = bytearray(len(x))
    ok(cuda.cuMemcpyDtoHAsync(y, dy, len(x), stream))
    ok(cuda.cuStreamSynchronize(stream))
    assert list(struct.unpack(f"{n}f", y)) == [6.0 * i for i in range(n)]
    ok(cuda.cuMemFreeAsync(dy, stream))
    ok(cuda.cuMemFree(dx))


def main():
    ok(cuda.cuInit(0))
    assert ok(cuda.cuDriverGetVersion()) >= 12090
    assert ok(cuda.cuDeviceGetCount()) == 1
    device = ok(cuda.cuDeviceGet(0))
    name = ok(cuda.cuDeviceGetName(128, device)).split(b"\0")[0].decode()
    assert name.startswith("Emulated GPU ("), name
    attributes = cuda.CUdevice_attribute
    major = ok(cuda.cuDeviceGetAttribute(attributes.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device))
    assert major == 9
    context = ok(cuda.cuDevicePrimaryCtxRetain(device))
    ok(cuda.cuCtxSetCurrent(context))
    stream = ok(cuda.cuStreamCreate(cuda.CUstream_flags.CU_STREAM_NON_BLOCKING))

    saxpy(ok(cuda.cuModuleLoadData(PTX)), stream)
    compiled = compile_source()
    if compiled:
        saxpy(ok(cuda.cuModuleLoadData(compiled)), stream)

    # Libraries, which are modules without a context.
    library = ok(cuda.cuLibraryLoadData(PTX, [], [], 0, [], [], 0))
    kernel = ok(cuda.cuLibraryGetKernel(library, b"saxpy"))
    assert int(ok(cuda.cuKernelGetFunction(kernel))) != 0
    ok(cuda.cuLibraryUnload(library))

    # Events and graphs.
    start, end = ok(cuda.cuEventCreate(0)), ok(cuda.cuEventCreate(0))
    block = ok(cuda.cuMemAlloc(16))
    ok(cuda.cuEventRecord(start, stream))
    ok(cuda.cuStreamBeginCapture(stream, cuda.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL))
    ok(cuda.cuMemsetD32Async(block, 7, 4, stream))
    graph = ok(cuda.cuStreamEndCapture(stream))
    _, count = ok(cuda.cuGraphGetNodes(graph))
    assert count == 1
    executable = ok(cuda.cuGraphInstantiate(graph, 0))
    ok(cuda.cuGraphLaunch(executable, stream))
    ok(cuda.cuEventRecord(end, stream))
    ok(cuda.cuEventSynchronize(end))
    assert ok(cuda.cuEventElapsedTime(start, end)) >= 0.0
    host = bytearray(16)
    ok(cuda.cuMemcpyDtoH(host, block, 16))
    assert struct.unpack("4I", host) == (7, 7, 7, 7)

    # The properties of an address.
    kind = cuda.CUpointer_attribute.CU_POINTER_ATTRIBUTE_MEMORY_TYPE
    assert ok(cuda.cuPointerGetAttribute(kind, block)) == cuda.CUmemorytype.CU_MEMORYTYPE_DEVICE
    base, size = ok(cuda.cuMemGetAddressRange(int(block) + 5))
    assert (int(base), size) == (int(block), 16)

    # Errors have CUDA's codes.
    errors = cuda.CUresult
    fails(cuda.cuMemAlloc(0), errors.CUDA_ERROR_INVALID_VALUE)
    fails(cuda.cuDeviceGet(7), errors.CUDA_ERROR_INVALID_DEVICE)
    fails(cuda.cuModuleLoadData(b"\x7fELF\0\0\0\0"), errors.CUDA_ERROR_NO_BINARY_FOR_GPU)
    assert ok(cuda.cuGetErrorName(errors.CUDA_ERROR_ILLEGAL_ADDRESS)) == b"CUDA_ERROR_ILLEGAL_ADDRESS"
    ok(cuda.cuMemFree(block))
    ok(cuda.cuDevicePrimaryCtxRelease(device))
    print(f"cuda-bindings: everything holds on {name}")


main()
