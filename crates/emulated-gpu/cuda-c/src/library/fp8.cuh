// The contents of cuda_fp8.h: the 8-bit floats E4M3 and E5M2, in ones, twos and fours, and their
// conversions. Each conversion rounds once, to nearest even.
typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned __nv_fp8x4_storage_t;
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };
// Below the smallest normal number, adding a large number rounds to multiples of the smallest
// subnormal one. Above it, the bits are rounded, and a carry increments the exponent.
__device__ __nv_fp8_storage_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t saturate, __nv_fp8_interpretation_t kind) {
    bool wide = kind == __NV_E5M2;
    unsigned all = __float_as_uint(x), bits = all & 0x7fffffffu, sign = all >> 24 & 0x80u;
    if (bits > 0x7f800000u) return (__nv_fp8_storage_t)0x7fu;
    unsigned shift = wide ? 21u : 20u, smallest = wide ? 0x38800000u : 0x3c800000u;
    float large = wide ? 128.0f : 16384.0f;
    unsigned small = __float_as_uint(__fadd_rn(__uint_as_float(bits), large)) - __float_as_uint(large);
    unsigned normal = bits - (wide ? 0x38000000u : 0x3c000000u);
    normal = (normal + ((1u << (shift - 1u)) - 1u) + (normal >> shift & 1u)) >> shift;
    unsigned most = wide ? 0x7bu : 0x7eu, beyond = saturate == __NV_SATFINITE ? most : most + 1u;
    unsigned near = bits < smallest ? small : normal;
    return (__nv_fp8_storage_t)(sign | (near > most ? beyond : near));
}
// Truncated to a float whose last bit is set if the truncation was inexact. A NaN keeps its sign
// here, and the upper bits of its fraction.
__device__ __nv_fp8_storage_t __nv_cvt_double_to_fp8(double x, __nv_saturation_t saturate, __nv_fp8_interpretation_t kind) {
    if (x != x) {
        unsigned high = (unsigned)__double2hiint(x);
        return (__nv_fp8_storage_t)((high >> 24 & 0x80u) | (kind == __NV_E5M2 ? 0x7eu | (high >> 18 & 3u) : 0x7fu));
    }
    float cut = __double2float_rz(x);
    return __nv_cvt_float_to_fp8((double)cut == x ? cut : __uint_as_float(__float_as_uint(cut) | 1u), saturate, kind);
}
__device__ __half __fp8_as_half(__nv_fp8_storage_t x, __nv_fp8_interpretation_t kind) {
    unsigned sign = (x & 0x80u) << 8, bits = x & 0x7fu;
    if (kind == __NV_E5M2) return __word_as_half(bits > 0x7cu ? 0x7fffu : sign | bits << 8);
    // The exponent of a half has one bit more, so the numbers come out 256 times too small.
    __half scaled = __float2half_rn(__half2float(__word_as_half(sign | bits << 7)) * 256.0f);
    return bits == 0x7fu ? __word_as_half(0x7fffu) : scaled;
}
__device__ __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(float2 x, __nv_saturation_t saturate, __nv_fp8_interpretation_t kind) {
    return (__nv_fp8x2_storage_t)(__nv_cvt_float_to_fp8(x.y, saturate, kind) << 8 | __nv_cvt_float_to_fp8(x.x, saturate, kind));
}
__device__ __nv_fp8x2_storage_t __nv_cvt_double2_to_fp8x2(double2 x, __nv_saturation_t saturate, __nv_fp8_interpretation_t kind) {
    return (__nv_fp8x2_storage_t)(__nv_cvt_double_to_fp8(x.y, saturate, kind) << 8 | __nv_cvt_double_to_fp8(x.x, saturate, kind));
}
__device__ float2 __fp8x2_as_float2(unsigned x, __nv_fp8_interpretation_t kind) {
    return make_float2(__half2float(__fp8_as_half((__nv_fp8_storage_t)x, kind)), __half2float(__fp8_as_half((__nv_fp8_storage_t)(x >> 8), kind)));
}
#define __FP8_LIMITED(to, least, most) \
    explicit __device__ operator to() const { float f = (float)*this; return f != f ? (to)0 : (to)(int)fminf(fmaxf(f, least), most); }
#define __FP8_FROM(name, from) explicit __device__ name(from v) : __x(name((float)v).__x) {}
#define __FP8_TO(to) explicit __device__ operator to() const { return (to)(float)*this; }
#define __FP8(name, kind) \
    struct __align__(1) name { \
        __nv_fp8_storage_t __x; \
        name() = default; \
        explicit __device__ name(float v) : __x(__nv_cvt_float_to_fp8(v, __NV_SATFINITE, kind)) {} \
        explicit __device__ name(double v) : __x(__nv_cvt_double_to_fp8(v, __NV_SATFINITE, kind)) {} \
        explicit __device__ name(__half v) : __x(__nv_cvt_float_to_fp8(__half2float(v), __NV_SATFINITE, kind)) {} \
        explicit __device__ name(__nv_bfloat16 v) : __x(__nv_cvt_float_to_fp8(__bfloat162float(v), __NV_SATFINITE, kind)) {} \
        __FP8_FROM(name, short) __FP8_FROM(name, unsigned short) __FP8_FROM(name, int) __FP8_FROM(name, unsigned) \
        __FP8_FROM(name, long) __FP8_FROM(name, unsigned long) __FP8_FROM(name, long long) __FP8_FROM(name, unsigned long long) \
        explicit __device__ operator __half() const { return __fp8_as_half(__x, kind); } \
        explicit __device__ operator float() const { return __half2float(__fp8_as_half(__x, kind)); } \
        explicit __device__ operator double() const { return (double)(float)*this; } \
        explicit __device__ operator __nv_bfloat16() const { return __float2bfloat16((float)*this); } \
        explicit __device__ operator bool() const { return (__x & 0x7fu) != 0u; } \
        __FP8_LIMITED(unsigned char, 0.0f, 255.0f) __FP8_LIMITED(signed char, -128.0f, 127.0f) __FP8_LIMITED(char, -128.0f, 127.0f) \
        __FP8_LIMITED(short, -32768.0f, 32767.0f) __FP8_LIMITED(unsigned short, 0.0f, 65535.0f) __FP8_TO(int) __FP8_TO(unsigned) \
        __FP8_TO(long) __FP8_TO(unsigned long) __FP8_TO(long long) __FP8_TO(unsigned long long) \
    };
// Types of two and of four numbers. The first number is in the lowest byte.
#define __FP8S(two, four, kind) \
    struct __align__(2) two { \
        __nv_fp8x2_storage_t __x; \
        two() = default; \
        explicit __device__ two(float2 v) : __x(__nv_cvt_float2_to_fp8x2(v, __NV_SATFINITE, kind)) {} \
        explicit __device__ two(double2 v) : __x(__nv_cvt_double2_to_fp8x2(v, __NV_SATFINITE, kind)) {} \
        explicit __device__ two(__half2 v) : __x(__nv_cvt_float2_to_fp8x2(__half22float2(v), __NV_SATFINITE, kind)) {} \
        explicit __device__ two(__nv_bfloat162 v) : __x(__nv_cvt_float2_to_fp8x2(__bfloat1622float2(v), __NV_SATFINITE, kind)) {} \
        explicit __device__ operator float2() const { return __fp8x2_as_float2(__x, kind); } \
        explicit __device__ operator __half2() const { return __float22half2_rn(__fp8x2_as_float2(__x, kind)); } \
    }; \
    struct __align__(4) four { \
        __nv_fp8x4_storage_t __x; \
        four() = default; \
        explicit __device__ four(float4 v) { \
            __x = (unsigned)__nv_cvt_float2_to_fp8x2(make_float2(v.z, v.w), __NV_SATFINITE, kind) << 16 \
                | __nv_cvt_float2_to_fp8x2(make_float2(v.x, v.y), __NV_SATFINITE, kind); \
        } \
        explicit __device__ four(__half2 low, __half2 high) { \
            __x = (unsigned)__nv_cvt_float2_to_fp8x2(__half22float2(high), __NV_SATFINITE, kind) << 16 \
                | __nv_cvt_float2_to_fp8x2(__half22float2(low), __NV_SATFINITE, kind); \
        } \
        explicit __device__ operator float4() const { \
            float2 low = __fp8x2_as_float2(__x, kind), high = __fp8x2_as_float2(__x >> 16, kind); \
            return make_float4(low.x, low.y, high.x, high.y); \
        } \
    };
__FP8(__nv_fp8_e4m3, __NV_E4M3)
__FP8(__nv_fp8_e5m2, __NV_E5M2)
__FP8S(__nv_fp8x2_e4m3, __nv_fp8x4_e4m3, __NV_E4M3)
__FP8S(__nv_fp8x2_e5m2, __nv_fp8x4_e5m2, __NV_E5M2)
