// The functions of cuda_fp16.h and cuda_bf16.h for halves and bfloat16s, other than sums and
// products. Each is computed in float, which has more than twice their significant bits, and
// rounded once.
//
// The macros below define a function for both types. N is the type in the names of conversion
// functions, and T is the type itself: half and __half, or bfloat16 and __nv_bfloat16. T2 is a
// pair.
// The function for one number, the function for a pair, and the expression in the floats x, y.
#define __H1_OF(T, N, one, two, e) \
    __device__ T one(T a) { float x = __##N##2float(a); return __float2##N(e); } \
    __device__ T##2 two(T##2 a) { return __halves2##N##2(one(a.x), one(a.y)); }
#define __H2_OF(T, N, one, two, e) \
    __device__ T one(T a, T b) { float x = __##N##2float(a), y = __##N##2float(b); return __float2##N(e); } \
    __device__ T##2 two(T##2 a, T##2 b) { return __halves2##N##2(one(a.x, b.x), one(a.y, b.y)); }
#define __H3_OF(T, N, one, two, e) \
    __device__ T one(T a, T b, T c) { float x = __##N##2float(__hfma(a, b, c)); return __float2##N(e); } \
    __device__ T##2 two(T##2 a, T##2 b, T##2 c) { return __halves2##N##2(one(a.x, b.x, c.x), one(a.y, b.y, c.y)); }
// A comparison: of single numbers, of both numbers of a pair, of each as 1 or 0, and of each as a
// mask.
#define __HC_OF(T, N, one, both, each, mask, e) \
    __device__ bool one(T a, T b) { float x = __##N##2float(a), y = __##N##2float(b); return e; } \
    __device__ bool both(T##2 a, T##2 b) { return one(a.x, b.x) && one(a.y, b.y); } \
    __device__ T##2 each(T##2 a, T##2 b) { return __floats2##N##2_rn(one(a.x, b.x) ? 1.0f : 0.0f, one(a.y, b.y) ? 1.0f : 0.0f); } \
    __device__ unsigned mask(T##2 a, T##2 b) { return (one(a.x, b.x) ? 0xffffu : 0u) | (one(a.y, b.y) ? 0xffff0000u : 0u); }
// An operation on the bits.
#define __HB_OF(T, N, one, two, change) \
    __device__ T one(T a) { return __word_as_##N(__##N##_as_word(a) change); } \
    __device__ T##2 two(T##2 a) { return __halves2##N##2(one(a.x), one(a.y)); }
#define __H1(one, two, e) __H1_OF(__half, half, one, two, e) __H1_OF(__nv_bfloat16, bfloat16, one, two, e)
#define __H2(one, two, e) __H2_OF(__half, half, one, two, e) __H2_OF(__nv_bfloat16, bfloat16, one, two, e)
#define __H3(one, two, e) __H3_OF(__half, half, one, two, e) __H3_OF(__nv_bfloat16, bfloat16, one, two, e)
#define __HC(one, both, each, mask, e) __HC_OF(__half, half, one, both, each, mask, e) __HC_OF(__nv_bfloat16, bfloat16, one, both, each, mask, e)
#define __HB(one, two, change) __HB_OF(__half, half, one, two, change) __HB_OF(__nv_bfloat16, bfloat16, one, two, change)
// A conversion in every rounding mode: `before` is applied to the argument, then `by` with the
// mode's suffix, then `after`.
#define __WAY(name, from, to, before, by, after, way) __device__ to name##way(from a) { return after(by##way(before(a))); }
#define __WAYS(name, from, to, before, by, after) \
    __WAY(name, from, to, before, by, after, _rn) __WAY(name, from, to, before, by, after, _rz) \
    __WAY(name, from, to, before, by, after, _ru) __WAY(name, from, to, before, by, after, _rd)
#define __TO(of_half, of_bfloat16, to, by, after) \
    __WAYS(of_half, __half, to, __half2float, by, after) __WAYS(of_bfloat16, __nv_bfloat16, to, __bfloat162float, by, after)
// A conversion from an integer through a float, which is rounded in the same direction.
#define __CUT_BY(name, from, by, way) __device__ __nv_bfloat16 name##way(from a) { return __float2bfloat16##way(by##way(a)); }
#define __CUT(name, from, by) __CUT_BY(name, from, by, _rz) __CUT_BY(name, from, by, _ru) __CUT_BY(name, from, by, _rd)

__device__ unsigned short __half_as_ushort(__half a) { return (unsigned short)__half_as_word(a); }
__device__ short __half_as_short(__half a) { return (short)__half_as_word(a); }
__device__ __half __ushort_as_half(unsigned short a) { return __word_as_half(a); }
__device__ __half __short_as_half(short a) { return __word_as_half((unsigned short)a); }
__device__ short __bfloat16_as_short(__nv_bfloat16 a) { return (short)__bfloat16_as_ushort(a); }
__device__ __nv_bfloat16 __short_as_bfloat16(short a) { return __ushort_as_bfloat16((unsigned short)a); }
__device__ unsigned __bfloat16_as_word(__nv_bfloat16 a) { return a.__x; }
__device__ __nv_bfloat16 __word_as_bfloat16(unsigned a) { return __ushort_as_bfloat16((unsigned short)a); }
__HB(__habs, __habs2, & 0x7fffu)
__HB(__hneg, __hneg2, ^ 0x8000u)
__device__ bool __hisnan(__half a) { return __half2float(a) != __half2float(a); }
__device__ bool __hisnan(__nv_bfloat16 a) { return __bfloat162float(a) != __bfloat162float(a); }
__device__ int __hisinf(__half a) { return fabsf(__half2float(a)) == INFINITY ? (__half2float(a) < 0.0f ? -1 : 1) : 0; }
__device__ int __hisinf(__nv_bfloat16 a) { return fabsf(__bfloat162float(a)) == INFINITY ? (__bfloat162float(a) < 0.0f ? -1 : 1) : 0; }
__device__ __half2 __hisnan2(__half2 a) { return __floats2half2_rn(__hisnan(a.x) ? 1.0f : 0.0f, __hisnan(a.y) ? 1.0f : 0.0f); }
__device__ __nv_bfloat162 __hisnan2(__nv_bfloat162 a) { return __floats2bfloat162_rn(__hisnan(a.x) ? 1.0f : 0.0f, __hisnan(a.y) ? 1.0f : 0.0f); }
__H2(__hadd_rn, __hadd2_rn, __fadd_rn(x, y))
__H2(__hadd_sat, __hadd2_sat, __saturatef(__fadd_rn(x, y)))
__H2(__hsub_rn, __hsub2_rn, __fsub_rn(x, y))
__H2(__hsub_sat, __hsub2_sat, __saturatef(__fsub_rn(x, y)))
__H2(__hmul_rn, __hmul2_rn, __fmul_rn(x, y))
__H2(__hmul_sat, __hmul2_sat, __saturatef(__fmul_rn(x, y)))
__H2(__hdiv, __h2div, __fdiv_rn(x, y))
__H3(__hfma_sat, __hfma2_sat, __saturatef(x))
__H3(__hfma_relu, __hfma2_relu, x != x ? NAN : fmaxf(x, 0.0f))
__H2(__hmin, __hmin2, fminf(x, y))
__H2(__hmin_nan, __hmin2_nan, x != x || y != y ? NAN : fminf(x, y))
__H2(__hmax, __hmax2, fmaxf(x, y))
__H2(__hmax_nan, __hmax2_nan, x != x || y != y ? NAN : fmaxf(x, y))
__HC(__heq, __hbeq2, __heq2, __heq2_mask, x == y)
__HC(__hne, __hbne2, __hne2, __hne2_mask, x < y || x > y)
__HC(__hlt, __hblt2, __hlt2, __hlt2_mask, x < y)
__HC(__hle, __hble2, __hle2, __hle2_mask, x <= y)
__HC(__hgt, __hbgt2, __hgt2, __hgt2_mask, x > y)
__HC(__hge, __hbge2, __hge2, __hge2_mask, x >= y)
__HC(__hequ, __hbequ2, __hequ2, __hequ2_mask, !(x < y || x > y))
__HC(__hneu, __hbneu2, __hneu2, __hneu2_mask, x != y)
__HC(__hltu, __hbltu2, __hltu2, __hltu2_mask, !(x >= y))
__HC(__hleu, __hbleu2, __hleu2, __hleu2_mask, !(x > y))
__HC(__hgtu, __hbgtu2, __hgtu2, __hgtu2_mask, !(x <= y))
__HC(__hgeu, __hbgeu2, __hgeu2, __hgeu2_mask, !(x < y))
__H1(hfloor, h2floor, floorf(x))
__H1(hceil, h2ceil, ceilf(x))
__H1(htrunc, h2trunc, truncf(x))
__H1(hrint, h2rint, rintf(x))
__H1(hsqrt, h2sqrt, sqrtf(x))
__H1(hrsqrt, h2rsqrt, __frsqrt_rn(x))
__H1(hrcp, h2rcp, __frcp_rn(x))
__H1(hexp, h2exp, expf(x))
__H1(hexp2, h2exp2, exp2f(x))
__H1(hexp10, h2exp10, exp10f(x))
__H1(hlog, h2log, logf(x))
__H1(hlog2, h2log2, log2f(x))
__H1(hlog10, h2log10, log10f(x))
__H1(hsin, h2sin, sinf(x))
__H1(hcos, h2cos, cosf(x))
__H1(htanh, h2tanh, tanhf(x))
__H1(htanh_approx, h2tanh_approx, tanhf(x))
__device__ __half2 __hcmadd(__half2 a, __half2 b, __half2 c) { return __halves2half2(__hfma(__hneg(a.y), b.y, __hfma(a.x, b.x, c.x)), __hfma(a.y, b.x, __hfma(a.x, b.y, c.y))); }
__device__ __nv_bfloat162 __hcmadd(__nv_bfloat162 a, __nv_bfloat162 b, __nv_bfloat162 c) { return __halves2bfloat162(__hfma(__hneg(a.y), b.y, __hfma(a.x, b.x, c.x)), __hfma(a.y, b.x, __hfma(a.x, b.y, c.y))); }
__device__ short __to_short(int a) { return (short)max(min(a, 32767), -32768); }
__device__ unsigned short __to_ushort(unsigned a) { return (unsigned short)min(a, 65535u); }
__device__ signed char __to_char(int a) { return (signed char)max(min(a, 127), -128); }
__device__ unsigned char __to_uchar(unsigned a) { return (unsigned char)min(a, 255u); }
__TO(__half2int, __bfloat162int, int, __float2int, )
__TO(__half2uint, __bfloat162uint, unsigned, __float2uint, )
__TO(__half2ll, __bfloat162ll, long long, __float2ll, )
__TO(__half2ull, __bfloat162ull, unsigned long long, __float2ull, )
__TO(__half2short, __bfloat162short, short, __float2int, __to_short)
__TO(__half2ushort, __bfloat162ushort, unsigned short, __float2uint, __to_ushort)
__device__ signed char __half2char_rz(__half a) { return __to_char(__half2int_rz(a)); }
__device__ unsigned char __half2uchar_rz(__half a) { return __to_uchar(__half2uint_rz(a)); }
__device__ signed char __bfloat162char_rz(__nv_bfloat16 a) { return __to_char(__bfloat162int_rz(a)); }
__device__ unsigned char __bfloat162uchar_rz(__nv_bfloat16 a) { return __to_uchar(__bfloat162uint_rz(a)); }
__WAYS(__short2half, short, __half, , __int2half, )
__WAYS(__ushort2half, unsigned short, __half, , __uint2half, )
// Double to bfloat16: truncated to a float whose last bit is set if the truncation was inexact. For
// the other rounding modes, the truncated result is moved by one where it is on the wrong side.
__device__ __nv_bfloat16 __double2bfloat16(double a) {
    float cut = __double2float_rz(a);
    return __float2bfloat16((double)cut == a || a != a ? cut : __uint_as_float(__float_as_uint(cut) | 1u));
}
__device__ __nv_bfloat16 __float2bfloat16_rz(float a) { return a != a ? __float2bfloat16(a) : __ushort_as_bfloat16((unsigned short)(__float_as_uint(a) >> 16)); }
__device__ __nv_bfloat16 __float2bfloat16_ru(float a) {
    __nv_bfloat16 r = __float2bfloat16_rz(a);
    return __bfloat162float(r) < a ? __ushort_as_bfloat16(__bfloat16_as_ushort(r) + 1) : r;
}
__device__ __nv_bfloat16 __float2bfloat16_rd(float a) {
    __nv_bfloat16 r = __float2bfloat16_rz(a);
    return __bfloat162float(r) > a ? __ushort_as_bfloat16(__bfloat16_as_ushort(r) + 1) : r;
}
__device__ __nv_bfloat16 __int2bfloat16_rn(int a) { return __double2bfloat16((double)a); }
__device__ __nv_bfloat16 __uint2bfloat16_rn(unsigned a) { return __double2bfloat16((double)a); }
__device__ __nv_bfloat16 __short2bfloat16_rn(short a) { return __float2bfloat16((float)a); }
__device__ __nv_bfloat16 __ushort2bfloat16_rn(unsigned short a) { return __float2bfloat16((float)a); }
__device__ __nv_bfloat16 __ll2bfloat16_rn(long long a) {
    double cut = __ll2double_rz(a);
    return __double2bfloat16((long long)cut == a || fabs(cut) > 9e18 ? cut : __longlong_as_double(__double_as_longlong(cut) | 1ll));
}
__device__ __nv_bfloat16 __ull2bfloat16_rn(unsigned long long a) {
    double cut = __ull2double_rz(a);
    return __double2bfloat16(cut > 1.8e19 || (unsigned long long)cut == a ? cut : __longlong_as_double(__double_as_longlong(cut) | 1ll));
}
__CUT(__int2bfloat16, int, __int2float)
__CUT(__uint2bfloat16, unsigned, __uint2float)
__CUT(__short2bfloat16, short, __int2float)
__CUT(__ushort2bfloat16, unsigned short, __uint2float)
__CUT(__ll2bfloat16, long long, __ll2float)
__CUT(__ull2bfloat16, unsigned long long, __ull2float)
