// bfloat16, and pairs of halves and of bfloat16s: the types, and functions of cuda_fp16.h and
// cuda_bf16.h for them.
struct __align__(2) __nv_bfloat16 {
    unsigned short __x;
    __nv_bfloat16() = default;
    __device__ __nv_bfloat16(float value) : __x(__float2bfloat16(value).__x) {}
    __device__ operator float() const { return __uint_as_float((unsigned)__x << 16); }
};
__device__ unsigned short __bfloat16_as_ushort(__nv_bfloat16 a) { return a.__x; }
__device__ __nv_bfloat16 __ushort_as_bfloat16(unsigned short a) { __nv_bfloat16 r; r.__x = a; return r; }
__device__ float __bfloat162float(__nv_bfloat16 a) { return __uint_as_float((unsigned)a.__x << 16); }
// Rounds to nearest even. NaN becomes the NaN that NVIDIA's hardware returns.
__device__ __nv_bfloat16 __float2bfloat16(float a) {
    unsigned bits = __float_as_uint(a), rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
    return __ushort_as_bfloat16(a != a ? (unsigned short)0x7fff : (unsigned short)(rounded >> 16));
}
__device__ __nv_bfloat16 __float2bfloat16_rn(float a) { return __float2bfloat16(a); }
// A float has more than twice the significant bits, so that rounding twice is as good as once.
__device__ __nv_bfloat16 __hadd(__nv_bfloat16 a, __nv_bfloat16 b) { return __float2bfloat16(__fadd_rn(__bfloat162float(a), __bfloat162float(b))); }
__device__ __nv_bfloat16 __hsub(__nv_bfloat16 a, __nv_bfloat16 b) { return __float2bfloat16(__fsub_rn(__bfloat162float(a), __bfloat162float(b))); }
__device__ __nv_bfloat16 __hmul(__nv_bfloat16 a, __nv_bfloat16 b) { return __float2bfloat16(__fmul_rn(__bfloat162float(a), __bfloat162float(b))); }
// Computed in double, then truncated to float, each time setting the last bit if the result was
// inexact; so only the final conversion rounds.
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
__device__ __nv_bfloat16 operator/(__nv_bfloat16 a, __nv_bfloat16 b) { return __float2bfloat16(__fdiv_rn(__bfloat162float(a), __bfloat162float(b))); }
__device__ __nv_bfloat16 operator-(__nv_bfloat16 a) { return __ushort_as_bfloat16(a.__x ^ 0x8000); }
__device__ bool operator<(__nv_bfloat16 a, __nv_bfloat16 b) { return __bfloat162float(a) < __bfloat162float(b); }
__device__ bool operator>(__nv_bfloat16 a, __nv_bfloat16 b) { return __bfloat162float(a) > __bfloat162float(b); }
// The functions for pairs T2 of the type T, which is called N in names. As in NVIDIA's headers,
// pairs only compare unequal if both numbers differ.
#define __PAIRS(T, N) \
    struct __align__(4) T##2 { T x, y; }; \
    __device__ T##2 __halves2##N##2(T a, T b) { T##2 r; r.x = a; r.y = b; return r; } \
    __device__ T##2 make_##N##2(T a, T b) { return __halves2##N##2(a, b); } \
    __device__ T##2 __##N##2##N##2(T a) { return __halves2##N##2(a, a); } \
    __device__ T##2 __float2##N##2_rn(float a) { return __##N##2##N##2(__float2##N(a)); } \
    __device__ T##2 __floats2##N##2_rn(float a, float b) { return __halves2##N##2(__float2##N(a), __float2##N(b)); } \
    __device__ T##2 __float22##N##2_rn(float2 a) { return __floats2##N##2_rn(a.x, a.y); } \
    __device__ float2 __##N##22float2(T##2 a) { return make_float2(__##N##2float(a.x), __##N##2float(a.y)); } \
    __device__ float __low2float(T##2 a) { return __##N##2float(a.x); } \
    __device__ float __high2float(T##2 a) { return __##N##2float(a.y); } \
    __device__ T __low2##N(T##2 a) { return a.x; } \
    __device__ T __high2##N(T##2 a) { return a.y; } \
    __device__ T##2 __low2##N##2(T##2 a) { return __halves2##N##2(a.x, a.x); } \
    __device__ T##2 __high2##N##2(T##2 a) { return __halves2##N##2(a.y, a.y); } \
    __device__ T##2 __lows2##N##2(T##2 a, T##2 b) { return __halves2##N##2(a.x, b.x); } \
    __device__ T##2 __highs2##N##2(T##2 a, T##2 b) { return __halves2##N##2(a.y, b.y); } \
    __device__ T##2 __lowhigh2highlow(T##2 a) { return __halves2##N##2(a.y, a.x); } \
    __device__ T##2 __hadd2(T##2 a, T##2 b) { return __halves2##N##2(__hadd(a.x, b.x), __hadd(a.y, b.y)); } \
    __device__ T##2 __hsub2(T##2 a, T##2 b) { return __halves2##N##2(__hsub(a.x, b.x), __hsub(a.y, b.y)); } \
    __device__ T##2 __hmul2(T##2 a, T##2 b) { return __halves2##N##2(__hmul(a.x, b.x), __hmul(a.y, b.y)); } \
    __device__ T##2 __hfma2(T##2 a, T##2 b, T##2 c) { return __halves2##N##2(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)); } \
    __device__ T##2 operator+(T##2 a, T##2 b) { return __hadd2(a, b); } \
    __device__ T##2 operator-(T##2 a, T##2 b) { return __hsub2(a, b); } \
    __device__ T##2 operator*(T##2 a, T##2 b) { return __hmul2(a, b); } \
    __device__ T##2 operator/(T##2 a, T##2 b) { return __halves2##N##2(a.x / b.x, a.y / b.y); } \
    __device__ T##2 operator-(T##2 a) { return __halves2##N##2(-a.x, -a.y); } \
    __device__ bool operator==(T##2 a, T##2 b) { return a.x == b.x && a.y == b.y; } \
    __device__ bool operator!=(T##2 a, T##2 b) { return a.x != b.x && a.y != b.y; }
__PAIRS(__half, half)
__PAIRS(__nv_bfloat16, bfloat16)
typedef __half2 half2;
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;
// The bits of a pair as one word, which shuffles and atomic operations move as a whole.
__device__ unsigned __bfloat16_bits(__nv_bfloat16 a) { return a.__x; }
__device__ unsigned __half_bits(__half a) { return __half_as_word(a); }
__device__ __nv_bfloat16 __bfloat16_of_bits(unsigned a) { return __ushort_as_bfloat16((unsigned short)a); }
__device__ __half __half_of_bits(unsigned a) { return __word_as_half(a); }
#define __SHUFFLED(T, name, type, to, from) \
    __device__ T name(unsigned mask, T value, type lane, int width = 32) { return from(name(mask, to(value), lane, width)); }
#define __SHUFFLES(T, to, from) \
    __SHUFFLED(T, __shfl_sync, int, to, from) __SHUFFLED(T, __shfl_xor_sync, int, to, from) \
    __SHUFFLED(T, __shfl_up_sync, unsigned, to, from) __SHUFFLED(T, __shfl_down_sync, unsigned, to, from)
#define __WORDS(T, N) \
    __device__ unsigned __##N##2_bits(T##2 a) { return __##N##_bits(a.x) | __##N##_bits(a.y) << 16; } \
    __device__ T##2 __##N##2_of_bits(unsigned a) { return __halves2##N##2(__##N##_of_bits(a & 0xffffu), __##N##_of_bits(a >> 16)); } \
    __SHUFFLES(T##2, __##N##2_bits, __##N##2_of_bits)
__WORDS(__half, half)
__WORDS(__nv_bfloat16, bfloat16)
__SHUFFLES(__nv_bfloat16, __bfloat16_bits, __bfloat16_of_bits)
// Addition in a compare-and-swap loop, for architectures without an instruction.
#define __ADDED(U, add, to, from) \
    U old = *(U *)address, seen; \
    do { \
        seen = old; \
        old = atomicCAS((U *)address, seen, (U)to(add(value, from(seen)))); \
    } while (seen != old); \
    return from(old);
#if __CUDA_ARCH__ >= 600
__device__ __half2 atomicAdd(__half2 *address, __half2 value) {
    unsigned old;
    asm volatile("atom.add.noftz.f16x2 %0, [%1], %2;" : "=r"(old) : "l"(address), "r"(__half2_bits(value)) : "memory");
    return __half2_of_bits(old);
}
#else
__device__ __half2 atomicAdd(__half2 *address, __half2 value) { __ADDED(unsigned, __hadd2, __half2_bits, __half2_of_bits) }
#endif
#if __CUDA_ARCH__ >= 900
__device__ __nv_bfloat162 atomicAdd(__nv_bfloat162 *address, __nv_bfloat162 value) {
    unsigned old;
    asm volatile("atom.add.noftz.bf16x2 %0, [%1], %2;" : "=r"(old) : "l"(address), "r"(__bfloat162_bits(value)) : "memory");
    return __bfloat162_of_bits(old);
}
__device__ __nv_bfloat16 atomicAdd(__nv_bfloat16 *address, __nv_bfloat16 value) {
    unsigned short old;
    asm volatile("atom.add.noftz.bf16 %0, [%1], %2;" : "=h"(old) : "l"(address), "h"(value.__x) : "memory");
    return __ushort_as_bfloat16(old);
}
#else
__device__ __nv_bfloat162 atomicAdd(__nv_bfloat162 *address, __nv_bfloat162 value) { __ADDED(unsigned, __hadd2, __bfloat162_bits, __bfloat162_of_bits) }
#if __CUDA_ARCH__ >= 700
__device__ __nv_bfloat16 atomicAdd(__nv_bfloat16 *address, __nv_bfloat16 value) { __ADDED(unsigned short, __hadd, __bfloat16_as_ushort, __ushort_as_bfloat16) }
#endif
#endif
