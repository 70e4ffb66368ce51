// What cuda_fp16.h and cuda_bf16.h do with halves and bfloat16s beside their sums and products. Each is
// computed in float, which has more than twice their digits, and rounded once.
//
// The name for one, the name for a pair, and what is done with the floats x, y.
#define __H1(one, two, e) \
    __device__ __half one(__half a) { float x = __half2float(a); return __float2half_rn(e); } \
    __device__ __nv_bfloat16 one(__nv_bfloat16 a) { float x = __bfloat162float(a); return __float2bfloat16(e); } \
    __device__ __half2 two(__half2 a) { return __halves2half2(one(a.x), one(a.y)); } \
    __device__ __nv_bfloat162 two(__nv_bfloat162 a) { return __halves2bfloat162(one(a.x), one(a.y)); }
#define __H2(one, two, e) \
    __device__ __half one(__half a, __half b) { float x = __half2float(a), y = __half2float(b); return __float2half_rn(e); } \
    __device__ __nv_bfloat16 one(__nv_bfloat16 a, __nv_bfloat16 b) { float x = __bfloat162float(a), y = __bfloat162float(b); return __float2bfloat16(e); } \
    __device__ __half2 two(__half2 a, __half2 b) { return __halves2half2(one(a.x, b.x), one(a.y, b.y)); } \
    __device__ __nv_bfloat162 two(__nv_bfloat162 a, __nv_bfloat162 b) { return __halves2bfloat162(one(a.x, b.x), one(a.y, b.y)); }
#define __H3(one, two, e) \
    __device__ __half one(__half a, __half b, __half c) { float x = __half2float(__hfma(a, b, c)); return __float2half_rn(e); } \
    __device__ __nv_bfloat16 one(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c) { float x = __bfloat162float(__hfma(a, b, c)); return __float2bfloat16(e); } \
    __device__ __half2 two(__half2 a, __half2 b, __half2 c) { return __halves2half2(one(a.x, b.x, c.x), one(a.y, b.y, c.y)); } \
    __device__ __nv_bfloat162 two(__nv_bfloat162 a, __nv_bfloat162 b, __nv_bfloat162 c) { return __halves2bfloat162(one(a.x, b.x, c.x), one(a.y, b.y, c.y)); }
// A comparison: of one, of both of a pair, of each as 1 or 0, of each as a mask.
#define __HC(one, both, each, mask, e) \
    __device__ bool one(__half a, __half b) { float x = __half2float(a), y = __half2float(b); return e; } \
    __device__ bool one(__nv_bfloat16 a, __nv_bfloat16 b) { float x = __bfloat162float(a), y = __bfloat162float(b); return e; } \
    __device__ bool both(__half2 a, __half2 b) { return one(a.x, b.x) && one(a.y, b.y); } \
    __device__ bool both(__nv_bfloat162 a, __nv_bfloat162 b) { return one(a.x, b.x) && one(a.y, b.y); } \
    __device__ __half2 each(__half2 a, __half2 b) { return __floats2half2_rn(one(a.x, b.x) ? 1.0f : 0.0f, one(a.y, b.y) ? 1.0f : 0.0f); } \
    __device__ __nv_bfloat162 each(__nv_bfloat162 a, __nv_bfloat162 b) { return __floats2bfloat162_rn(one(a.x, b.x) ? 1.0f : 0.0f, one(a.y, b.y) ? 1.0f : 0.0f); } \
    __device__ unsigned mask(__half2 a, __half2 b) { return (one(a.x, b.x) ? 0xffffu : 0u) | (one(a.y, b.y) ? 0xffff0000u : 0u); } \
    __device__ unsigned mask(__nv_bfloat162 a, __nv_bfloat162 b) { return (one(a.x, b.x) ? 0xffffu : 0u) | (one(a.y, b.y) ? 0xffff0000u : 0u); }

__device__ unsigned short __half_as_ushort(__half a) { return (unsigned short)__half_as_word(a); }
__device__ short __half_as_short(__half a) { return (short)__half_as_word(a); }
__device__ __half __ushort_as_half(unsigned short a) { return __word_as_half(a); }
__device__ __half __short_as_half(short a) { return __word_as_half((unsigned short)a); }
__device__ short __bfloat16_as_short(__nv_bfloat16 a) { return (short)__bfloat16_as_ushort(a); }
__device__ __nv_bfloat16 __short_as_bfloat16(short a) { return __ushort_as_bfloat16((unsigned short)a); }
__device__ __half __habs(__half a) { return __word_as_half(__half_as_word(a) & 0x7fffu); }
__device__ __half __hneg(__half a) { return __word_as_half(__half_as_word(a) ^ 0x8000u); }
__device__ __nv_bfloat16 __habs(__nv_bfloat16 a) { return __ushort_as_bfloat16(__bfloat16_as_ushort(a) & 0x7fff); }
__device__ __nv_bfloat16 __hneg(__nv_bfloat16 a) { return __ushort_as_bfloat16(__bfloat16_as_ushort(a) ^ 0x8000); }
__device__ __half2 __habs2(__half2 a) { return __halves2half2(__habs(a.x), __habs(a.y)); }
__device__ __half2 __hneg2(__half2 a) { return __halves2half2(__hneg(a.x), __hneg(a.y)); }
__device__ __nv_bfloat162 __habs2(__nv_bfloat162 a) { return __halves2bfloat162(__habs(a.x), __habs(a.y)); }
__device__ __nv_bfloat162 __hneg2(__nv_bfloat162 a) { return __halves2bfloat162(__hneg(a.x), __hneg(a.y)); }
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
__device__ __half2 operator/(__half2 a, __half2 b) { return __h2div(a, b); }
__device__ __half2 operator-(__half2 a) { return __hneg2(a); }
__device__ bool operator==(__half2 a, __half2 b) { return __hbeq2(a, b); }
__device__ bool operator!=(__half2 a, __half2 b) { return __hbneu2(a, b); }
__device__ int __half2int_rn(__half a) { return __float2int_rn(__half2float(a)); }
__device__ unsigned __half2uint_rn(__half a) { return __float2uint_rn(__half2float(a)); }
__device__ long long __half2ll_rn(__half a) { return __float2ll_rn(__half2float(a)); }
__device__ unsigned long long __half2ull_rn(__half a) { return __float2ull_rn(__half2float(a)); }
__device__ short __half2short_rn(__half a) { return (short)max(min(__float2int_rn(__half2float(a)), 32767), -32768); }
__device__ unsigned short __half2ushort_rn(__half a) { return (unsigned short)min(__float2uint_rn(__half2float(a)), 65535u); }
__device__ int __half2int_rz(__half a) { return __float2int_rz(__half2float(a)); }
__device__ unsigned __half2uint_rz(__half a) { return __float2uint_rz(__half2float(a)); }
__device__ long long __half2ll_rz(__half a) { return __float2ll_rz(__half2float(a)); }
__device__ unsigned long long __half2ull_rz(__half a) { return __float2ull_rz(__half2float(a)); }
__device__ short __half2short_rz(__half a) { return (short)max(min(__float2int_rz(__half2float(a)), 32767), -32768); }
__device__ unsigned short __half2ushort_rz(__half a) { return (unsigned short)min(__float2uint_rz(__half2float(a)), 65535u); }
__device__ int __half2int_ru(__half a) { return __float2int_ru(__half2float(a)); }
__device__ unsigned __half2uint_ru(__half a) { return __float2uint_ru(__half2float(a)); }
__device__ long long __half2ll_ru(__half a) { return __float2ll_ru(__half2float(a)); }
__device__ unsigned long long __half2ull_ru(__half a) { return __float2ull_ru(__half2float(a)); }
__device__ short __half2short_ru(__half a) { return (short)max(min(__float2int_ru(__half2float(a)), 32767), -32768); }
__device__ unsigned short __half2ushort_ru(__half a) { return (unsigned short)min(__float2uint_ru(__half2float(a)), 65535u); }
__device__ int __half2int_rd(__half a) { return __float2int_rd(__half2float(a)); }
__device__ unsigned __half2uint_rd(__half a) { return __float2uint_rd(__half2float(a)); }
__device__ long long __half2ll_rd(__half a) { return __float2ll_rd(__half2float(a)); }
__device__ unsigned long long __half2ull_rd(__half a) { return __float2ull_rd(__half2float(a)); }
__device__ short __half2short_rd(__half a) { return (short)max(min(__float2int_rd(__half2float(a)), 32767), -32768); }
__device__ unsigned short __half2ushort_rd(__half a) { return (unsigned short)min(__float2uint_rd(__half2float(a)), 65535u); }
__device__ signed char __half2char_rz(__half a) { return (signed char)max(min(__float2int_rz(__half2float(a)), 127), -128); }
__device__ unsigned char __half2uchar_rz(__half a) { return (unsigned char)min(__float2uint_rz(__half2float(a)), 255u); }
__device__ int __bfloat162int_rn(__nv_bfloat16 a) { return __float2int_rn(__bfloat162float(a)); }
__device__ unsigned __bfloat162uint_rn(__nv_bfloat16 a) { return __float2uint_rn(__bfloat162float(a)); }
__device__ long long __bfloat162ll_rn(__nv_bfloat16 a) { return __float2ll_rn(__bfloat162float(a)); }
__device__ unsigned long long __bfloat162ull_rn(__nv_bfloat16 a) { return __float2ull_rn(__bfloat162float(a)); }
__device__ short __bfloat162short_rn(__nv_bfloat16 a) { return (short)max(min(__float2int_rn(__bfloat162float(a)), 32767), -32768); }
__device__ unsigned short __bfloat162ushort_rn(__nv_bfloat16 a) { return (unsigned short)min(__float2uint_rn(__bfloat162float(a)), 65535u); }
__device__ int __bfloat162int_rz(__nv_bfloat16 a) { return __float2int_rz(__bfloat162float(a)); }
__device__ unsigned __bfloat162uint_rz(__nv_bfloat16 a) { return __float2uint_rz(__bfloat162float(a)); }
__device__ long long __bfloat162ll_rz(__nv_bfloat16 a) { return __float2ll_rz(__bfloat162float(a)); }
__device__ unsigned long long __bfloat162ull_rz(__nv_bfloat16 a) { return __float2ull_rz(__bfloat162float(a)); }
__device__ short __bfloat162short_rz(__nv_bfloat16 a) { return (short)max(min(__float2int_rz(__bfloat162float(a)), 32767), -32768); }
__device__ unsigned short __bfloat162ushort_rz(__nv_bfloat16 a) { return (unsigned short)min(__float2uint_rz(__bfloat162float(a)), 65535u); }
__device__ int __bfloat162int_ru(__nv_bfloat16 a) { return __float2int_ru(__bfloat162float(a)); }
__device__ unsigned __bfloat162uint_ru(__nv_bfloat16 a) { return __float2uint_ru(__bfloat162float(a)); }
__device__ long long __bfloat162ll_ru(__nv_bfloat16 a) { return __float2ll_ru(__bfloat162float(a)); }
__device__ unsigned long long __bfloat162ull_ru(__nv_bfloat16 a) { return __float2ull_ru(__bfloat162float(a)); }
__device__ short __bfloat162short_ru(__nv_bfloat16 a) { return (short)max(min(__float2int_ru(__bfloat162float(a)), 32767), -32768); }
__device__ unsigned short __bfloat162ushort_ru(__nv_bfloat16 a) { return (unsigned short)min(__float2uint_ru(__bfloat162float(a)), 65535u); }
__device__ int __bfloat162int_rd(__nv_bfloat16 a) { return __float2int_rd(__bfloat162float(a)); }
__device__ unsigned __bfloat162uint_rd(__nv_bfloat16 a) { return __float2uint_rd(__bfloat162float(a)); }
__device__ long long __bfloat162ll_rd(__nv_bfloat16 a) { return __float2ll_rd(__bfloat162float(a)); }
__device__ unsigned long long __bfloat162ull_rd(__nv_bfloat16 a) { return __float2ull_rd(__bfloat162float(a)); }
__device__ short __bfloat162short_rd(__nv_bfloat16 a) { return (short)max(min(__float2int_rd(__bfloat162float(a)), 32767), -32768); }
__device__ unsigned short __bfloat162ushort_rd(__nv_bfloat16 a) { return (unsigned short)min(__float2uint_rd(__bfloat162float(a)), 65535u); }
__device__ signed char __bfloat162char_rz(__nv_bfloat16 a) { return (signed char)max(min(__float2int_rz(__bfloat162float(a)), 127), -128); }
__device__ unsigned char __bfloat162uchar_rz(__nv_bfloat16 a) { return (unsigned char)min(__float2uint_rz(__bfloat162float(a)), 255u); }
__device__ __half __short2half_rn(short a) { return __int2half_rn(a); }
__device__ __half __ushort2half_rn(unsigned short a) { return __uint2half_rn(a); }
__device__ __half __short2half_rz(short a) { return __int2half_rz(a); }
__device__ __half __ushort2half_rz(unsigned short a) { return __uint2half_rz(a); }
__device__ __half __short2half_ru(short a) { return __int2half_ru(a); }
__device__ __half __ushort2half_ru(unsigned short a) { return __uint2half_ru(a); }
__device__ __half __short2half_rd(short a) { return __int2half_rd(a); }
__device__ __half __ushort2half_rd(unsigned short a) { return __uint2half_rd(a); }
// A double as a bfloat16: cut to a float whose last bit says whether there was more. In the other
// directions it is moved by one where rounding went the wrong way.
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
__device__ __nv_bfloat16 __int2bfloat16_rz(int a) { return __float2bfloat16_rz(__int2float_rz(a)); }
__device__ __nv_bfloat16 __int2bfloat16_ru(int a) { return __float2bfloat16_ru(__int2float_ru(a)); }
__device__ __nv_bfloat16 __int2bfloat16_rd(int a) { return __float2bfloat16_rd(__int2float_rd(a)); }
__device__ __nv_bfloat16 __uint2bfloat16_rz(unsigned a) { return __float2bfloat16_rz(__uint2float_rz(a)); }
__device__ __nv_bfloat16 __uint2bfloat16_ru(unsigned a) { return __float2bfloat16_ru(__uint2float_ru(a)); }
__device__ __nv_bfloat16 __uint2bfloat16_rd(unsigned a) { return __float2bfloat16_rd(__uint2float_rd(a)); }
__device__ __nv_bfloat16 __short2bfloat16_rz(short a) { return __float2bfloat16_rz((float)a); }
__device__ __nv_bfloat16 __short2bfloat16_ru(short a) { return __float2bfloat16_ru((float)a); }
__device__ __nv_bfloat16 __short2bfloat16_rd(short a) { return __float2bfloat16_rd((float)a); }
__device__ __nv_bfloat16 __ushort2bfloat16_rz(unsigned short a) { return __float2bfloat16_rz((float)a); }
__device__ __nv_bfloat16 __ushort2bfloat16_ru(unsigned short a) { return __float2bfloat16_ru((float)a); }
__device__ __nv_bfloat16 __ushort2bfloat16_rd(unsigned short a) { return __float2bfloat16_rd((float)a); }
__device__ __nv_bfloat16 __ll2bfloat16_rz(long long a) { return __float2bfloat16_rz(__ll2float_rz(a)); }
__device__ __nv_bfloat16 __ll2bfloat16_ru(long long a) { return __float2bfloat16_ru(__ll2float_ru(a)); }
__device__ __nv_bfloat16 __ll2bfloat16_rd(long long a) { return __float2bfloat16_rd(__ll2float_rd(a)); }
__device__ __nv_bfloat16 __ull2bfloat16_rz(unsigned long long a) { return __float2bfloat16_rz(__ull2float_rz(a)); }
__device__ __nv_bfloat16 __ull2bfloat16_ru(unsigned long long a) { return __float2bfloat16_ru(__ull2float_ru(a)); }
__device__ __nv_bfloat16 __ull2bfloat16_rd(unsigned long long a) { return __float2bfloat16_rd(__ull2float_rd(a)); }
__device__ __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 a) { return __halves2bfloat162(a, a); }
__device__ __nv_bfloat162 make_bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return __halves2bfloat162(a, b); }
__device__ __nv_bfloat162 __float2bfloat162_rn(float a) { return __floats2bfloat162_rn(a, a); }
__device__ __nv_bfloat162 __float22bfloat162_rn(float2 a) { return __floats2bfloat162_rn(a.x, a.y); }
__device__ __nv_bfloat16 __low2bfloat16(__nv_bfloat162 a) { return a.x; }
__device__ __nv_bfloat16 __high2bfloat16(__nv_bfloat162 a) { return a.y; }
__device__ __nv_bfloat162 __low2bfloat162(__nv_bfloat162 a) { return __halves2bfloat162(a.x, a.x); }
__device__ __nv_bfloat162 __high2bfloat162(__nv_bfloat162 a) { return __halves2bfloat162(a.y, a.y); }
__device__ __nv_bfloat162 __lows2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return __halves2bfloat162(a.x, b.x); }
__device__ __nv_bfloat162 __highs2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return __halves2bfloat162(a.y, b.y); }
__device__ __nv_bfloat162 __hadd2(__nv_bfloat162 a, __nv_bfloat162 b) { return __halves2bfloat162(__hadd(a.x, b.x), __hadd(a.y, b.y)); }
__device__ __nv_bfloat162 __hsub2(__nv_bfloat162 a, __nv_bfloat162 b) { return __halves2bfloat162(__hsub(a.x, b.x), __hsub(a.y, b.y)); }
__device__ __nv_bfloat162 __hmul2(__nv_bfloat162 a, __nv_bfloat162 b) { return __halves2bfloat162(__hmul(a.x, b.x), __hmul(a.y, b.y)); }
__device__ __nv_bfloat162 __hfma2(__nv_bfloat162 a, __nv_bfloat162 b, __nv_bfloat162 c) { return __halves2bfloat162(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)); }
__device__ __nv_bfloat162 operator+(__nv_bfloat162 a, __nv_bfloat162 b) { return __hadd2(a, b); }
__device__ __nv_bfloat162 operator-(__nv_bfloat162 a, __nv_bfloat162 b) { return __hsub2(a, b); }
__device__ __nv_bfloat162 operator*(__nv_bfloat162 a, __nv_bfloat162 b) { return __hmul2(a, b); }
