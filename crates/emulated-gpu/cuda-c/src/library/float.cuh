// Mathematical functions of float. Those that aren't an instruction are computed in double and
// rounded once. So each result is the float nearest to the true value, except for about one in a
// million, which is its neighbour. In double, no intermediate result overflows or underflows.

// e^x for |x| up to 700: 2^k · e^r with |r| up to ln(2)/2, and the series of e^r.
__device__ double __exp64(double x) {
    double t = __fma_rn(x, 1.4426950408889634, 6755399441055744.0);
    int k = __double2loint(t);
    double r = __fma_rn(__dadd_rn(t, -6755399441055744.0), -0.69314718055994531, x);
    double p = __fma_rn(r, 2.7557319223985893e-06, 2.4801587301587302e-05);
    p = __fma_rn(p, r, 1.9841269841269841e-04);
    p = __fma_rn(p, r, 1.3888888888888889e-03);
    p = __fma_rn(p, r, 8.3333333333333333e-03);
    p = __fma_rn(p, r, 4.1666666666666667e-02);
    p = __fma_rn(p, r, 1.6666666666666667e-01);
    p = __fma_rn(p, r, 0.5);
    p = __fma_rn(p, r, 1.0);
    p = __fma_rn(p, r, 1.0);
    return __longlong_as_double(__double_as_longlong(p) + ((long long)k << 52));
}
// ln(x) for a positive finite float x: e · ln(2) + 2 · artanh((m − 1) / (m + 1)).
__device__ double __log64(double x) {
    int high = __double2hiint(x);
    int e = (high - 0x3fe6a09e) >> 20;
    double m = __hiloint2double(high - (e << 20), __double2loint(x));
    double s = __ddiv_rn(__dadd_rn(m, -1.0), __dadd_rn(m, 1.0));
    double z = __dmul_rn(s, s);
    double p = __fma_rn(z, 0.13333333333333333, 0.15384615384615385);
    p = __fma_rn(p, z, 0.18181818181818182);
    p = __fma_rn(p, z, 0.22222222222222222);
    p = __fma_rn(p, z, 0.28571428571428571);
    p = __fma_rn(p, z, 0.4);
    p = __fma_rn(p, z, 0.66666666666666667);
    p = __fma_rn(__dmul_rn(s, z), p, __dadd_rn(s, s));
    return __fma_rn((double)e, 0.69314718055994531, p);
}
// Clamps to ±200, beyond which the results overflow or underflow in float. NaN stays NaN.
__device__ float __within(float x) {
    x = x > 200.0f ? 200.0f : x;
    return x < -200.0f ? -200.0f : x;
}
__device__ float __log_of(float x, double scale) {
    double r = __dmul_rn(__log64((double)x), scale);
    float special = x == 0.0f ? -INFINITY : x < 0.0f ? NAN : x;
    return x > 0.0f && x < INFINITY ? (float)r : special;
}
__device__ float expf(float x) { return (float)__exp64((double)__within(x)); }
__device__ float exp2f(float x) { return (float)__exp64(__dmul_rn((double)__within(x), 0.69314718055994531)); }
__device__ float exp10f(float x) { return (float)__exp64(__dmul_rn((double)__within(x), 2.3025850929940457)); }
__device__ float logf(float x) { return __log_of(x, 1.0); }
__device__ float log2f(float x) { return __log_of(x, 1.4426950408889634); }
__device__ float log10f(float x) { return __log_of(x, 0.43429448190325182); }
__device__ float log1pf(float x) {
    double d = (double)x;
    double small = __dmul_rn(d, __fma_rn(d, __fma_rn(d, __fma_rn(d, -0.25, 0.33333333333333333), -0.5), 1.0));
    double large = __log64(__dadd_rn(d, 1.0));
    float special = x == -1.0f ? -INFINITY : x < -1.0f ? NAN : x;
    float r = (float)(fabsf(x) < 0.0009765625f ? small : large);
    return x > -1.0f && x < INFINITY && x != 0.0f ? r : special;
}
__device__ float expm1f(float x) {
    double d = (double)__within(x);
    double small = __dmul_rn(d, __fma_rn(d, __fma_rn(d, __fma_rn(d, 0.041666666666666667, 0.16666666666666667), 0.5), 1.0));
    double large = __dadd_rn(__exp64(d), -1.0);
    return x == 0.0f ? x : (float)(fabsf(x) < 0.0009765625f ? small : large);
}
__device__ float tanhf(float x) {
    double d = (double)__within(x);
    double z = __dmul_rn(d, d);
    double series = __fma_rn(z, __fma_rn(z, -0.053968253968253968, 0.13333333333333333), -0.33333333333333333);
    double small = __fma_rn(__dmul_rn(d, z), series, d);
    double t = __exp64(__dmul_rn(d, 2.0));
    double large = __ddiv_rn(__dadd_rn(t, -1.0), __dadd_rn(t, 1.0));
    return x == 0.0f ? x : (float)(fabsf(x) < 0.015625f ? small : large);
}
__device__ float sinhf(float x) {
    double d = (double)__within(x);
    double z = __dmul_rn(d, d);
    double small = __fma_rn(__dmul_rn(d, z), __fma_rn(z, 0.0083333333333333333, 0.16666666666666667), d);
    double t = __exp64(d);
    double large = __dmul_rn(__dadd_rn(t, -__ddiv_rn(1.0, t)), 0.5);
    return x == 0.0f ? x : (float)(fabsf(x) < 0.015625f ? small : large);
}
__device__ float coshf(float x) {
    double t = __exp64((double)__within(x));
    return (float)__dmul_rn(__dadd_rn(t, __ddiv_rn(1.0, t)), 0.5);
}
__device__ float powf(float x, float y) {
    double r = __dmul_rn((double)y, __log64((double)fabsf(x)));
    r = r > 300.0 ? 300.0 : r;
    float p = (float)__exp64(r < -300.0 ? -300.0 : r);
    float half = truncf(__fmul_rn(y, 0.5f));
    bool odd = fabsf(__fadd_rn(y, __fmul_rn(half, -2.0f))) == 1.0f;
    float a = fabsf(x);
    // Bases and exponents for which the logarithm isn't finite.
    float edge = (a > 1.0f) == (y > 0.0f) ? INFINITY : 0.0f;
    if (a == 0.0f || a == INFINITY) p = edge;
    if (fabsf(y) == INFINITY) p = a == 1.0f ? 1.0f : edge;
    if (odd && __float_as_int(x) < 0) p = -p;
    if (x < 0.0f && a != INFINITY && fabsf(y) != INFINITY && truncf(y) != y) p = NAN;
    if (x != x || y != y) p = __fadd_rn(x, y);
    return x == 1.0f || y == 0.0f ? 1.0f : p;
}
__device__ float __expf(float x) { return __ex2(__fmul_rn(x, 1.4426950216293335f)); }
__device__ float __exp10f(float x) { return __ex2(__fmul_rn(x, 3.3219280242919922f)); }
__device__ float __logf(float x) { return __fmul_rn(__lg2(x), 0.69314718246459961f); }
__device__ float __log10f(float x) { return __fmul_rn(__lg2(x), 0.30103000998497009f); }
__device__ float __powf(float x, float y) { return __ex2(__fmul_rn(y, __lg2(x))); }
__device__ float __tanf(float x) { return __fdividef(__sinf(x), __cosf(x)); }
__device__ void __sincosf(float x, float *s, float *c) { *s = __sinf(x); *c = __cosf(x); }
__device__ float __frsqrt_rn(float x) { return (float)__ddiv_rn(1.0, __dsqrt_rn((double)x)); }
__device__ float copysignf(float x, float y) { return __int_as_float((__float_as_int(x) & 0x7fffffff) | (__float_as_int(y) & 0x80000000)); }
__device__ float roundf(float x) {
    float t = truncf(x);
    float up = fabsf(__fadd_rn(x, -t)) >= 0.5f ? copysignf(1.0f, x) : 0.0f;
    return copysignf(__fadd_rn(t, up), x);
}
__device__ long lroundf(float x) { return (long)roundf(x); }
__device__ float fdimf(float x, float y) { return x <= y ? 0.0f : __fadd_rn(x, -y); }
__device__ float fdividef(float x, float y) { return x / y; }
__device__ float hypotf(float x, float y) {
    double r = __dsqrt_rn(__fma_rn((double)x, (double)x, __dmul_rn((double)y, (double)y)));
    return fabsf(x) == INFINITY || fabsf(y) == INFINITY ? INFINITY : (float)r;
}
__device__ float fmodf(float x, float y) {
    double r = (double)fabsf(x), d = (double)fabsf(y);
    if (!(fabsf(x) < INFINITY) || !(fabsf(y) > 0.0f)) return NAN;
    if (fabsf(y) == INFINITY) return x;
    while (r >= d) {
        // A multiple of the divisor whose quotient is below 2^26, so that the subtraction is exact.
        int apart = (__double2hiint(r) >> 20) - (__double2hiint(d) >> 20) - 24;
        double s = __hiloint2double(__double2hiint(d) + (max(apart, 0) << 20), __double2loint(d));
        r = __fma_rn(-trunc(__ddiv_rn(r, s)), s, r);
        if (r < 0.0) r = __dadd_rn(r, s);
    }
    return copysignf((float)r, x);
}
__device__ bool isnan(float x) { return x != x; }
__device__ bool isnan(double x) { return x != x; }
__device__ bool isinf(float x) { return fabsf(x) == INFINITY; }
__device__ bool isinf(double x) { return fabs(x) == (double)INFINITY; }
__device__ bool isfinite(float x) { return fabsf(x) < INFINITY; }
__device__ bool isfinite(double x) { return fabs(x) < (double)INFINITY; }
__device__ bool signbit(float x) { return __float_as_int(x) < 0; }
__device__ bool signbit(double x) { return __double2hiint(x) < 0; }
