// Conversions to and from half, bfloat16 and the two formats of eight bits.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

// out[thread * 6 + index of the result], from one float for each thread.
extern "C" __global__ void k(unsigned* out, const float* in)
{
    unsigned t = threadIdx.x;
    float x = in[t];
    out += t * 6;
    __half h = __float2half_rn(x);
    out[0] = __half_as_ushort(h) | (unsigned)__half_as_ushort(__float2half_rz(x)) << 16;
    out[1] = __float_as_uint(__half2float(__hadd(h, h)));
    __nv_bfloat16 b = __float2bfloat16_rn(x);
    out[2] = __bfloat16_as_ushort(b) | (unsigned)__bfloat16_as_ushort(__float2bfloat16_rz(x)) << 16;
    out[3] = __float_as_uint(__bfloat162float(b));
    __nv_fp8_storage_t e4 = __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3);
    __nv_fp8_storage_t e5 = __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E5M2);
    out[4] = e4 | (unsigned)e5 << 16;
    out[5] = __half_raw(__nv_cvt_fp8_to_halfraw(e4, __NV_E4M3)).x
           | (unsigned)__half_raw(__nv_cvt_fp8_to_halfraw(e5, __NV_E5M2)).x << 16;
}
