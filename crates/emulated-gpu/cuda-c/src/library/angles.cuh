// Trigonometric functions of float, their inverses, and the error function: computed in double and
// rounded once, as in float.cuh.

// Word `i` (32 bits) of the binary fraction 2/π / 4.
__device__ unsigned __word_of_two_over_pi(unsigned i) {
    unsigned low = i == 0u ? 0x28be60dbu : i == 1u ? 0x9391054au : 0x7f09d5f4u;
    return i < 3u ? low : i == 3u ? 0x7d4d3770u : i == 4u ? 0x36d8a566u : 0x4f10e410u;
}
// Subtracts the nearest multiple of π/2 from x. `quarters` is the number of that multiple; its two
// low bits matter.
__device__ double __less_quarters(float x, int &quarters) {
    double d = (double)x;
    if (fabsf(x) < 1073741824.0f) {
        double t = __fma_rn(d, 0.6366197723675814, 6755399441055744.0);
        double k = __dadd_rn(t, -6755399441055744.0);
        quarters = __double2loint(t);
        return __fma_rn(-k, 6.123233995736766e-17, __fma_rn(-k, 1.5707963267948966, d));
    }
    // The algorithm of Payne and Hanek: of the product with 2/π, only the bits around the binary
    // point matter.
    unsigned bits = __float_as_uint(x);
    unsigned e = ((bits >> 23) & 255u) - 126u, i = e >> 5, shift = e & 31u, m = (bits << 8) | 0x80000000u;
    unsigned a = __word_of_two_over_pi(i - 1u), b = __word_of_two_over_pi(i);
    unsigned c = __word_of_two_over_pi(i + 1u), next = __word_of_two_over_pi(i + 2u);
    a = i == 0u ? 0u : a;
    a = __funnelshift_l(b, a, shift);
    b = __funnelshift_l(c, b, shift);
    c = __funnelshift_l(next, c, shift);
    unsigned long long p = (unsigned long long)m * c;
    p = (unsigned long long)m * b + (p >> 32);
    p = ((unsigned long long)(m * a) << 32) + p;
    int q = (int)((p + 0x2000000000000000ull) >> 62);
    // A signed number with 62 fractional bits.
    long long rest = (long long)(p << 2) >> 2;
    double r = __dmul_rn((double)rest, 3.4061215800865545e-19);
    bool negative = x < 0.0f;
    quarters = negative ? -q : q;
    return negative ? -r : r;
}
// Taylor series for |r| up to π/4.
__device__ double __sin64(double r) {
    double z = __dmul_rn(r, r);
    double p = __fma_rn(z, -7.647163731819816e-13, 1.6059043836821613e-10);
    p = __fma_rn(p, z, -2.505210838544172e-08);
    p = __fma_rn(p, z, 2.7557319223985893e-06);
    p = __fma_rn(p, z, -1.984126984126984e-04);
    p = __fma_rn(p, z, 8.333333333333333e-03);
    p = __fma_rn(p, z, -1.6666666666666666e-01);
    return __fma_rn(__dmul_rn(r, z), p, r);
}
__device__ double __cos64(double r) {
    double z = __dmul_rn(r, r);
    double p = __fma_rn(z, 4.779477332387385e-14, -1.1470745597729725e-11);
    p = __fma_rn(p, z, 2.08767569878681e-09);
    p = __fma_rn(p, z, -2.755731922398589e-07);
    p = __fma_rn(p, z, 2.48015873015873e-05);
    p = __fma_rn(p, z, -1.388888888888889e-03);
    p = __fma_rn(p, z, 4.1666666666666664e-02);
    p = __fma_rn(p, z, -0.5);
    return __fma_rn(p, z, 1.0);
}
// The sine of r plus `quarters` quarter turns.
__device__ float __turned(double r, int quarters) {
    double s = (quarters & 1) != 0 ? __cos64(r) : __sin64(r);
    return (float)((quarters & 2) != 0 ? -s : s);
}
__device__ float sinf(float x) {
    int quarters = 0;
    double r = __less_quarters(x, quarters);
    float s = __turned(r, quarters);
    return x == 0.0f ? x : fabsf(x) < INFINITY ? s : NAN;
}
__device__ float cosf(float x) {
    int quarters = 0;
    double r = __less_quarters(x, quarters);
    float c = __turned(r, quarters + 1);
    return fabsf(x) < INFINITY ? c : NAN;
}
__device__ void sincosf(float x, float *s, float *c) {
    int quarters = 0;
    double r = __less_quarters(x, quarters);
    float sine = __turned(r, quarters), cosine = __turned(r, quarters + 1);
    bool finite = fabsf(x) < INFINITY;
    *s = x == 0.0f ? x : finite ? sine : NAN;
    *c = finite ? cosine : NAN;
}
__device__ float tanf(float x) {
    int quarters = 0;
    double r = __less_quarters(x, quarters);
    double s = __sin64(r), c = __cos64(r);
    bool odd = (quarters & 1) != 0;
    float t = (float)__ddiv_rn(odd ? -c : s, odd ? s : c);
    return x == 0.0f ? x : fabsf(x) < INFINITY ? t : NAN;
}
// The reduction for multiples of π: subtracts the nearest even number from x, and then the nearest
// half.
__device__ double __less_halves(float x, int &quarters) {
    float y = __fadd_rn(x, -2.0f * rintf(__fmul_rn(x, 0.5f)));
    float n = rintf(__fadd_rn(y, y));
    quarters = (int)n;
    return __dmul_rn((double)__fmaf_rn(n, -0.5f, y), 3.141592653589793);
}
__device__ float sinpif(float x) {
    int quarters = 0;
    double r = __less_halves(x, quarters);
    float s = __turned(r, quarters);
    return truncf(x) == x && fabsf(x) < INFINITY ? copysignf(0.0f, x) : fabsf(x) < INFINITY ? s : NAN;
}
__device__ float cospif(float x) {
    int quarters = 0;
    double r = __less_halves(x, quarters);
    float c = __turned(r, quarters + 1);
    return fabsf(x) < INFINITY ? (c == 0.0f ? 0.0f : c) : NAN;
}
__device__ void sincospif(float x, float *s, float *c) { *s = sinpif(x); *c = cospif(x); }

// The arc tangent's series from v³¹ / 31 down to v³ / 3, divided by v³, in z = v². p is the sum of
// the higher terms.
__device__ double __arc_series(double z, double p) {
    p = __fma_rn(p, z, -0.03225806451612903);
    p = __fma_rn(p, z, 0.034482758620689655);
    p = __fma_rn(p, z, -0.037037037037037035);
    p = __fma_rn(p, z, 0.04);
    p = __fma_rn(p, z, -0.043478260869565216);
    p = __fma_rn(p, z, 0.047619047619047616);
    p = __fma_rn(p, z, -0.05263157894736842);
    p = __fma_rn(p, z, 0.058823529411764705);
    p = __fma_rn(p, z, -0.06666666666666667);
    p = __fma_rn(p, z, 0.07692307692307693);
    p = __fma_rn(p, z, -0.09090909090909091);
    p = __fma_rn(p, z, 0.1111111111111111);
    p = __fma_rn(p, z, -0.14285714285714285);
    p = __fma_rn(p, z, 0.2);
    p = __fma_rn(p, z, -0.3333333333333333);
    return p;
}
// The arc tangent of a number that isn't negative: uses 1/t above 1 and (t − 1)/(t + 1) around 1,
// and then the series.
__device__ double __atan64(double t) {
    bool steep = t > 1.0;
    double u = steep ? __ddiv_rn(1.0, t) : t;
    bool middle = u > 0.41421356237309503;
    double v = middle ? __ddiv_rn(__dadd_rn(u, -1.0), __dadd_rn(u, 1.0)) : u;
    double z = __dmul_rn(v, v);
    double p = __fma_rn(z, -0.02857142857142857, 0.030303030303030304);
    p = __arc_series(z, p);
    double a = __fma_rn(__dmul_rn(v, z), p, v);
    a = middle ? __dadd_rn(a, 0.7853981633974483) : a;
    return steep ? __dadd_rn(1.5707963267948966, -a) : a;
}
__device__ float atanf(float x) { return x == 0.0f ? x : copysignf((float)__atan64((double)fabsf(x)), x); }
__device__ float asinf(float x) {
    double a = (double)fabsf(x);
    float r = copysignf((float)__atan64(__ddiv_rn(a, __dsqrt_rn(__fma_rn(-a, a, 1.0)))), x);
    return x == 0.0f ? x : fabsf(x) <= 1.0f ? r : NAN;
}
__device__ float acosf(float x) {
    double d = (double)x;
    double t = __dsqrt_rn(__ddiv_rn(__dadd_rn(1.0, -d), __dadd_rn(1.0, d)));
    return fabsf(x) <= 1.0f ? (float)__dmul_rn(__atan64(t), 2.0) : NAN;
}
__device__ float atan2f(float y, float x) {
    float a = fabsf(y), b = fabsf(x);
    double t = a == b ? (a == 0.0f ? 0.0 : 1.0) : __ddiv_rn((double)a, (double)b);
    double r = __atan64(t);
    r = __float_as_int(x) < 0 ? __dadd_rn(3.141592653589793, -r) : r;
    return x != x || y != y ? NAN : copysignf((float)r, y);
}
__device__ float asinhf(float x) {
    double a = (double)fabsf(x), z = __dmul_rn(a, a);
    double small = __fma_rn(__dmul_rn(a, z), __fma_rn(z, __fma_rn(z, -0.044642857142857144, 0.075), -0.16666666666666666), a);
    double large = __log64(__dadd_rn(a, __dsqrt_rn(__dadd_rn(z, 1.0))));
    float r = copysignf((float)(a < 0.015625 ? small : large), x);
    return x == 0.0f || !(fabsf(x) < INFINITY) ? x : r;
}
__device__ float acoshf(float x) {
    double d = (double)x;
    float r = (float)__log64(__dadd_rn(d, __dsqrt_rn(__fma_rn(d, d, -1.0))));
    return x >= 1.0f ? (x < INFINITY ? r : x) : NAN;
}
__device__ float atanhf(float x) {
    double a = (double)fabsf(x), z = __dmul_rn(a, a);
    double small = __fma_rn(__dmul_rn(a, z), __fma_rn(z, __fma_rn(z, 0.14285714285714285, 0.2), 0.3333333333333333), a);
    double large = __dmul_rn(__log64(__ddiv_rn(__dadd_rn(1.0, a), __dadd_rn(1.0, -a))), 0.5);
    float r = copysignf((float)(a < 0.015625 ? small : large), x);
    return x == 0.0f ? x : a < 1.0 ? r : a == 1.0 ? copysignf(INFINITY, x) : NAN;
}
__device__ float cbrtf(float x) {
    float r = copysignf((float)__exp64(__dmul_rn(__log64((double)fabsf(x)), 0.3333333333333333)), x);
    return x == 0.0f || !(fabsf(x) < INFINITY) ? x : r;
}

// 1 − erf(a) for a up to 10.5: t · e^(p(t) − a²) with t = 1 / (1 + a/2). p interpolates at
// Chebyshev nodes, with an error of 10^−13.
__device__ double __erfc64(double a) {
    double t = __ddiv_rn(1.0, __fma_rn(a, 0.5, 1.0));
    double u = __fma_rn(t, 2.380952380952381, -1.380952380952381);
    double p = __fma_rn(u, 9.948124739376602e-09, -7.967842667138605e-08);
    p = __fma_rn(p, u, 3.961156096297773e-08);
    p = __fma_rn(p, u, 6.473148617209882e-07);
    p = __fma_rn(p, u, -1.1924474865267767e-06);
    p = __fma_rn(p, u, -2.069831123461262e-06);
    p = __fma_rn(p, u, 9.348046583050584e-06);
    p = __fma_rn(p, u, -2.348882990809678e-06);
    p = __fma_rn(p, u, -4.5745325947141006e-05);
    p = __fma_rn(p, u, 7.319771624635752e-05);
    p = __fma_rn(p, u, 0.00015468726532796932);
    p = __fma_rn(p, u, -0.0005870428616479084);
    p = __fma_rn(p, u, -0.0002675303911960665);
    p = __fma_rn(p, u, 0.003877171463885851);
    p = __fma_rn(p, u, -0.0012306784203444646);
    p = __fma_rn(p, u, -0.030147659853259328);
    p = __fma_rn(p, u, 0.016716057606019984);
    p = __fma_rn(p, u, 0.5746099743130529);
    p = __fma_rn(p, u, -0.5631567855932651);
    return __dmul_rn(t, __exp64(__fma_rn(-a, a, p)));
}
__device__ float erfcf(float x) {
    double c = __erfc64(fmin((double)fabsf(x), 10.5));
    float r = (float)(x < 0.0f ? __dadd_rn(2.0, -c) : c);
    return x != x ? x : x > 10.5f ? 0.0f : r;
}
__device__ float erff(float x) {
    double a = fmin((double)fabsf(x), 10.5), z = __dmul_rn(a, a);
    double p = __fma_rn(z, 1.4807192815879218e-08, -1.6365844691234924e-07);
    p = __fma_rn(p, z, 1.6462114365889248e-06);
    p = __fma_rn(p, z, -1.492565035840625e-05);
    p = __fma_rn(p, z, 1.2055332981789664e-04);
    p = __fma_rn(p, z, -8.548327023450853e-04);
    p = __fma_rn(p, z, 5.223977625442188e-03);
    p = __fma_rn(p, z, -2.6866170645131252e-02);
    p = __fma_rn(p, z, 1.1283791670955126e-01);
    p = __fma_rn(p, z, -3.7612638903183754e-01);
    double small = __fma_rn(__dmul_rn(a, z), p, __dmul_rn(a, 1.1283791670955126));
    float r = (float)(a < 0.5 ? small : __dadd_rn(1.0, -__erfc64(a)));
    return x != x || x == 0.0f ? x : copysignf(r, x);
}
__device__ float normcdff(float x) {
    double c = __erfc64(fmin(__dmul_rn((double)fabsf(x), 0.7071067811865476), 10.5));
    c = __dmul_rn(c, 0.5);
    float r = (float)(x > 0.0f ? __dadd_rn(1.0, -c) : c);
    return x != x ? x : x < -14.5f ? 0.0f : r;
}

// Splitting a float into parts, and lengths of vectors.
__device__ float ldexpf(float x, int n) {
    int within = max(min(n, 300), -300);
    return (float)__dmul_rn((double)x, __hiloint2double((within + 1023) << 20, 0));
}
__device__ float scalbnf(float x, int n) { return ldexpf(x, n); }
__device__ float frexpf(float x, int *n) {
    int high = __double2hiint((double)x);
    bool plain = x != 0.0f && fabsf(x) < INFINITY;
    *n = plain ? ((high >> 20) & 2047) - 1022 : 0;
    float m = (float)__hiloint2double((high & 0x800fffff) | 0x3fe00000, __double2loint((double)x));
    return plain ? m : x;
}
__device__ float modff(float x, float *whole) {
    float t = truncf(x);
    *whole = t;
    return copysignf(fabsf(x) < INFINITY ? __fadd_rn(x, -t) : x != x ? x : 0.0f, x);
}
__device__ int ilogbf(float x) {
    int e = ((__double2hiint((double)x) >> 20) & 2047) - 1023;
    return x == 0.0f || x != x ? INT_MIN : fabsf(x) < INFINITY ? e : INT_MAX;
}
__device__ float logbf(float x) {
    float e = (float)ilogbf(x);
    return x == 0.0f ? -INFINITY : fabsf(x) < INFINITY ? e : fabsf(x);
}
__device__ float norm3df(float x, float y, float z) {
    double r = __fma_rn((double)x, (double)x, __fma_rn((double)y, (double)y, __dmul_rn((double)z, (double)z)));
    bool endless = fabsf(x) == INFINITY || fabsf(y) == INFINITY || fabsf(z) == INFINITY;
    return endless ? INFINITY : (float)__dsqrt_rn(r);
}
__device__ float rhypotf(float x, float y) {
    double r = __fma_rn((double)x, (double)x, __dmul_rn((double)y, (double)y));
    bool endless = fabsf(x) == INFINITY || fabsf(y) == INFINITY;
    return endless ? 0.0f : (float)__ddiv_rn(1.0, __dsqrt_rn(r));
}
