// Half precision, bfloat16 and conversions.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

// launch hadd <<<1, 32>>> f16[32]=drawn f16[32]=drawn
extern "C" __global__ void hadd(const __half *a, __half *b) { b[threadIdx.x] = __hadd(a[threadIdx.x], b[threadIdx.x]); }

// launch hfma2 <<<1, 16>>> f16[32]=drawn f16[32]=drawn f16[32]=drawn
extern "C" __global__ void hfma2(const __half2 *a, const __half2 *b, __half2 *c) {
    int i = threadIdx.x;
    c[i] = __hfma2(a[i], b[i], c[i]);
}

// launch half_to_float <<<1, 32>>> f16[32]=drawn f32[32]=zero
extern "C" __global__ void half_to_float(const __half *a, float *b) { b[threadIdx.x] = __half2float(a[threadIdx.x]); }

// launch float_to_half <<<1, 32>>> f32[32]=drawn f16[96]=zero
extern "C" __global__ void float_to_half(const float *a, __half *b) {
    b[3 * threadIdx.x] = __float2half(a[threadIdx.x] * 1000);
    b[3 * threadIdx.x + 1] = __float2half_rz(a[threadIdx.x] / 3);
    b[3 * threadIdx.x + 2] = __float2half_ru(a[threadIdx.x] / 3);
}

// launch half_operators <<<1, 32>>> f16[32]=drawn f16[32]=drawn
extern "C" __global__ void half_operators(const half *a, half *b) {
    half x = a[threadIdx.x], y = b[threadIdx.x];
    if (x > y) b[threadIdx.x] = x * y - x;
    else b[threadIdx.x] = x + y * __float2half(2.0f);
}

// launch half_relu <<<1, 32>>> f16[32]=drawn
extern "C" __global__ void half_relu(__half *x) { x[threadIdx.x] = __hmax(x[threadIdx.x], __float2half(0.0f)); }

// launch half_dot <<<1, 32>>> f16[64]=drawn f16[64]=drawn f32[1]=zero
extern "C" __global__ void half_dot(const __half2 *a, const __half2 *b, float *out) {
    float2 p = __half22float2(__hmul2(a[threadIdx.x], b[threadIdx.x]));
    float s = p.x + p.y;
    for (int d = 16; d; d >>= 1) s += __shfl_down_sync(~0u, s, d);
    if (threadIdx.x == 0) *out = s;
}

// launch half_bits <<<1, 32>>> u16[32]=drawn u16[32]=zero
extern "C" __global__ void half_bits(const unsigned short *x, unsigned short *out) {
    __half h = __ushort_as_half(x[threadIdx.x] * 331 & 0x7bff);
    out[threadIdx.x] = __half_as_ushort(__hneg(h)) ^ (unsigned short)(__hisnan(h) ? 1 : 0);
}

// launch half_pairs <<<1, 16>>> f16[32]=drawn
extern "C" __global__ void half_pairs(__half2 *x) {
    __half2 v = x[threadIdx.x];
    x[threadIdx.x] = __halves2half2(__high2half(v), __hsub(__low2half(v), __high2half(v)));
}

// launch half_integers <<<1, 32>>> f16[32]=drawn s32[64]=zero
extern "C" __global__ void half_integers(const __half *x, int *out) {
    out[2 * threadIdx.x] = __half2int_rn(x[threadIdx.x]);
    out[2 * threadIdx.x + 1] = __half2int_rz(x[threadIdx.x]);
}

// launch half_compare <<<1, 32>>> f16[32]=drawn f16[32]=drawn u8[32]=zero
extern "C" __global__ void half_compare(const __half *a, const __half *b, unsigned char *out) {
    __half x = a[threadIdx.x], y = b[threadIdx.x];
    out[threadIdx.x] = __hlt(x, y) | __hge(x, y) << 1 | __heq(x, x) << 2 | __hne(x, y) << 3;
}

// launch bf_add <<<1, 32>>> bf16[32]=drawn bf16[32]=drawn
extern "C" __global__ void bf_add(const __nv_bfloat16 *a, __nv_bfloat16 *b) { b[threadIdx.x] = __hadd(a[threadIdx.x], b[threadIdx.x]); }

// launch bf_convert <<<1, 32>>> f32[32]=drawn bf16[32]=zero f32[32]=zero
extern "C" __global__ void bf_convert(const float *a, __nv_bfloat16 *b, float *c) {
    b[threadIdx.x] = __float2bfloat16(a[threadIdx.x]);
    c[threadIdx.x] = __bfloat162float(b[threadIdx.x]);
}

// launch bf_fma2 <<<1, 16>>> bf16[32]=drawn bf16[32]=drawn bf16[32]=drawn
extern "C" __global__ void bf_fma2(const __nv_bfloat162 *a, const __nv_bfloat162 *b, __nv_bfloat162 *c) {
    c[threadIdx.x] = __hfma2(a[threadIdx.x], b[threadIdx.x], c[threadIdx.x]);
}

// launch bf_operators <<<1, 32>>> bf16[32]=drawn bf16[32]=drawn
extern "C" __global__ void bf_operators(const __nv_bfloat16 *a, __nv_bfloat16 *b) {
    __nv_bfloat16 x = a[threadIdx.x];
    b[threadIdx.x] = x < b[threadIdx.x] ? x * b[threadIdx.x] : x;
}

// launch mixed_gemm <<<1, (8,8)>>> f16[64]=drawn f16[64]=drawn f32[64]=zero
extern "C" __global__ void mixed_gemm(const __half *a, const __half *b, float *c) {
    float s = 0;
    for (int k = 0; k < 8; k++) s += __half2float(a[threadIdx.y * 8 + k]) * __half2float(b[k * 8 + threadIdx.x]);
    c[threadIdx.y * 8 + threadIdx.x] = s;
}

// launch half_axpy <<<1, 32>>> f16=0.5 f16[32]=drawn f16[32]=drawn
extern "C" __global__ void half_axpy(__half a, const __half *x, __half *y) { y[threadIdx.x] = __hfma(a, x[threadIdx.x], y[threadIdx.x]); }

// launch half_zero <<<1, 32>>> f16[32]=drawn
extern "C" __global__ void half_zero(__half *x) {
    __half zero = __float2half(0.0f);
    x[threadIdx.x] = __hadd(__hmul(x[threadIdx.x], zero), zero);
}

// launch half2_splat <<<1, 16>>> f16[32]=zero
extern "C" __global__ void half2_splat(__half2 *x) { x[threadIdx.x] = __float2half2_rn(0.125f * threadIdx.x); }

// launch bits_of_float <<<1, 32>>> f32[32]=drawn u32[32]=zero
extern "C" __global__ void bits_of_float(const float *x, unsigned *out) {
    unsigned u = __float_as_uint(x[threadIdx.x]);
    out[threadIdx.x] = (u >> 23 & 0xff) - 127 + (u & 0x7fffff);
}

// launch bits_of_double <<<1, 16>>> f64[16]=drawn s32[32]=zero
extern "C" __global__ void bits_of_double(const double *x, int *out) {
    out[2 * threadIdx.x] = __double2hiint(x[threadIdx.x]);
    out[2 * threadIdx.x + 1] = __double2loint(__hiloint2double(1, __double2hiint(x[threadIdx.x])));
}

// launch conversions <<<1, 32>>> f64[32]=drawn s64[128]=zero
extern "C" __global__ void conversions(const double *x, long long *out) {
    double v = x[threadIdx.x] * 1000.7;
    long long *o = out + 4 * threadIdx.x;
    o[0] = __double2ll_rn(v);
    o[1] = (int)v;
    o[2] = (unsigned)fabs(v);
    o[3] = (long long)(float)v;
}
