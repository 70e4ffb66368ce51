// Pairs of halves, and bfloat16: structs, and what cuda_fp16.h and cuda_bf16.h do with them.
struct __align__(4) __half2 { __half x, y; };
typedef __half2 half2;
__device__ __half2 __halves2half2(__half a, __half b) { __half2 r; r.x = a; r.y = b; return r; }
__device__ __half2 make_half2(__half a, __half b) { return __halves2half2(a, b); }
__device__ __half2 __half2half2(__half a) { return __halves2half2(a, a); }
__device__ __half2 __float2half2_rn(float a) { return __half2half2(__float2half_rn(a)); }
__device__ __half2 __floats2half2_rn(float a, float b) { return __halves2half2(__float2half_rn(a), __float2half_rn(b)); }
__device__ __half2 __float22half2_rn(float2 a) { return __floats2half2_rn(a.x, a.y); }
__device__ float2 __half22float2(__half2 a) { return make_float2(__half2float(a.x), __half2float(a.y)); }
__device__ float __low2float(__half2 a) { return __half2float(a.x); }
__device__ float __high2float(__half2 a) { return __half2float(a.y); }
__device__ __half __low2half(__half2 a) { return a.x; }
__device__ __half __high2half(__half2 a) { return a.y; }
__device__ __half2 __low2half2(__half2 a) { return __half2half2(a.x); }
__device__ __half2 __high2half2(__half2 a) { return __half2half2(a.y); }
__device__ __half2 __lows2half2(__half2 a, __half2 b) { return __halves2half2(a.x, b.x); }
__device__ __half2 __highs2half2(__half2 a, __half2 b) { return __halves2half2(a.y, b.y); }
__device__ __half2 __lowhigh2highlow(__half2 a) { return __halves2half2(a.y, a.x); }
__device__ __half2 __hadd2(__half2 a, __half2 b) { return __halves2half2(__hadd(a.x, b.x), __hadd(a.y, b.y)); }
__device__ __half2 __hsub2(__half2 a, __half2 b) { return __halves2half2(__hsub(a.x, b.x), __hsub(a.y, b.y)); }
__device__ __half2 __hmul2(__half2 a, __half2 b) { return __halves2half2(__hmul(a.x, b.x), __hmul(a.y, b.y)); }
__device__ __half2 __hfma2(__half2 a, __half2 b, __half2 c) { return __halves2half2(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)); }
__device__ __half2 operator+(__half2 a, __half2 b) { return __hadd2(a, b); }
__device__ __half2 operator-(__half2 a, __half2 b) { return __hsub2(a, b); }
__device__ __half2 operator*(__half2 a, __half2 b) { return __hmul2(a, b); }

struct __align__(2) __nv_bfloat16 {
    unsigned short __x;
    __nv_bfloat16() = default;
    __device__ __nv_bfloat16(float value) : __x(__float2bfloat16(value).__x) {}
    __device__ operator float() const { return __uint_as_float((unsigned)__x << 16); }
};
struct __align__(4) __nv_bfloat162 { __nv_bfloat16 x, y; };
__device__ unsigned short __bfloat16_as_ushort(__nv_bfloat16 a) { return a.__x; }
__device__ __nv_bfloat16 __ushort_as_bfloat16(unsigned short a) { __nv_bfloat16 r; r.__x = a; return r; }
__device__ float __bfloat162float(__nv_bfloat16 a) { return __uint_as_float((unsigned)a.__x << 16); }
// To the nearest, and of two to the even one; what isn't a number becomes the one that NVIDIA makes.
__device__ __nv_bfloat16 __float2bfloat16(float a) {
    unsigned bits = __float_as_uint(a), rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
    return __ushort_as_bfloat16(a != a ? (unsigned short)0x7fff : (unsigned short)(rounded >> 16));
}
__device__ __nv_bfloat16 __float2bfloat16_rn(float a) { return __float2bfloat16(a); }
// A float has more than twice the digits, so that rounding twice is as good as once.
__device__ __nv_bfloat16 __hadd(__nv_bfloat16 a, __nv_bfloat16 b) { return __float2bfloat16(__fadd_rn(__bfloat162float(a), __bfloat162float(b))); }
__device__ __nv_bfloat16 __hsub(__nv_bfloat16 a, __nv_bfloat16 b) { return __float2bfloat16(__fsub_rn(__bfloat162float(a), __bfloat162float(b))); }
__device__ __nv_bfloat16 __hmul(__nv_bfloat16 a, __nv_bfloat16 b) { return __float2bfloat16(__fmul_rn(__bfloat162float(a), __bfloat162float(b))); }
// In double and then in float, each time with a last bit that says whether there was more; rounded once.
__device__ __nv_bfloat16 __hfma(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c) {
    double x = (double)__bfloat162float(a), y = (double)__bfloat162float(b), z = (double)__bfloat162float(c);
    double down = __fma_rd(x, y, z), up = __fma_ru(x, y, z);
    double d = down == up ? __fma_rn(x, y, z) : (__double2loint(down) & 1) != 0 ? down : up;
    float cut = __double2float_rz(d);
    unsigned bits = __float_as_uint(cut);
    return __float2bfloat16((double)cut == d || d != d ? cut : __uint_as_float(bits | 1u));
}
__device__ __nv_bfloat16 operator+(__nv_bfloat16 a, __nv_bfloat16 b) { return __hadd(a, b); }
__device__ __nv_bfloat16 operator-(__nv_bfloat16 a, __nv_bfloat16 b) { return __hsub(a, b); }
__device__ __nv_bfloat16 operator*(__nv_bfloat16 a, __nv_bfloat16 b) { return __hmul(a, b); }
__device__ bool operator<(__nv_bfloat16 a, __nv_bfloat16 b) { return __bfloat162float(a) < __bfloat162float(b); }
__device__ bool operator>(__nv_bfloat16 a, __nv_bfloat16 b) { return __bfloat162float(a) > __bfloat162float(b); }
__device__ __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { __nv_bfloat162 r; r.x = a; r.y = b; return r; }
__device__ __nv_bfloat162 __floats2bfloat162_rn(float a, float b) { return __halves2bfloat162(__float2bfloat16(a), __float2bfloat16(b)); }
__device__ float2 __bfloat1622float2(__nv_bfloat162 a) { return make_float2(__bfloat162float(a.x), __bfloat162float(a.y)); }
