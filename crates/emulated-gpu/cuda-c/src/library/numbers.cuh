// Splitting doubles into parts, remainders, neighbours, lengths of vectors; and C++'s overloads of
// these functions for float.

__device__ double ldexp(double x, int n) {
    // All steps but the last are exact.
    const double up = 8.98846567431158e+307, down = 2.004168360008973e-292;
    for (int i = 0; i < 2; ++i) {
        if (n > 1023) {
            x = __dmul_rn(x, up);
            n -= 1023;
        } else if (n < -1022) {
            x = __dmul_rn(x, down);
            n += 969;
        }
    }
    n = max(min(n, 1023), -1022);
    return __dmul_rn(x, __hiloint2double((n + 1023) << 20, 0));
}
__device__ double scalbn(double x, int n) { return ldexp(x, n); }
__device__ double scalbln(double x, long n) { return ldexp(x, (int)max(min(n, 9999l), -9999l)); }
__device__ float scalblnf(float x, long n) { return ldexpf(x, (int)max(min(n, 9999l), -9999l)); }
__device__ double frexp(double x, int *n) {
    bool plain = x != 0.0 && fabs(x) < (double)INFINITY, tiny = fabs(x) < 2.2250738585072014e-308;
    double y = tiny ? __dmul_rn(x, 18014398509481984.0) : x;
    int high = __double2hiint(y);
    *n = plain ? ((high >> 20) & 2047) - (tiny ? 1076 : 1022) : 0;
    return plain ? __hiloint2double((high & 0x800fffff) | 0x3fe00000, __double2loint(y)) : x;
}
__device__ int ilogb(double x) {
    int e = 0;
    frexp(x, &e);
    return x == 0.0 || x != x ? INT_MIN : fabs(x) < (double)INFINITY ? e - 1 : INT_MAX;
}
__device__ double logb(double x) {
    double e = (double)ilogb(x);
    return x == 0.0 ? -(double)INFINITY : fabs(x) < (double)INFINITY ? e : fabs(x);
}
__device__ double modf(double x, double *whole) {
    double t = trunc(x);
    *whole = t;
    return copysign(fabs(x) < (double)INFINITY ? __dadd_rn(x, -t) : x != x ? x : 0.0, x);
}
__device__ double fdim(double x, double y) { return x <= y ? 0.0 : __dadd_rn(x, -y); }
__device__ double nan(const char *tag) { return (double)NAN; }
__device__ float nanf(const char *tag) { return NAN; }
__device__ double nextafter(double x, double y) {
    if (x != x || y != y) return __dadd_rn(x, y);
    if (x == y) return y;
    if (x == 0.0) return copysign(4.9406564584124654e-324, y);
    return __longlong_as_double(__double_as_longlong(x) + ((x < y) == (x > 0.0) ? 1ll : -1ll));
}
__device__ float nextafterf(float x, float y) {
    if (x != x || y != y) return __fadd_rn(x, y);
    if (x == y) return y;
    if (x == 0.0f) return copysignf(1.40129846e-45f, y);
    return __int_as_float(__float_as_int(x) + ((x < y) == (x > 0.0f) ? 1 : -1));
}
// The remainder of x / y when the quotient is rounded to an integer, ties to even; `count` gets the
// low bits of the quotient.
__device__ double __rest(double x, double y, int &count) {
    double a = fabs(x), b = fabs(y), endless = (double)INFINITY;
    count = 0;
    if (!(a < endless) || !(b > 0.0)) return (double)NAN;
    if (b == endless) return x;
    if (b < 2.2471164185778949e+307) a = fmod(a, __dmul_rn(b, 8.0));
    for (int n = 4; n > 0; n >>= 1) {
        double multiple = __dmul_rn(b, (double)n);
        if (a >= multiple) {
            a = __dadd_rn(a, -multiple);
            count += n;
        }
    }
    double rest = __dadd_rn(b, -a);
    if (a > rest || a == rest && (count & 1) != 0) {
        a = -rest;
        count = (count + 1) & 7;
    }
    if ((__double2hiint(x) ^ __double2hiint(y)) < 0) count = -count;
    return __double2hiint(x) < 0 ? -a : a;
}
__device__ double remainder(double x, double y) {
    int count = 0;
    return __rest(x, y, count);
}
__device__ double remquo(double x, double y, int *count) {
    int found = 0;
    double r = __rest(x, y, found);
    *count = found;
    return r;
}
__device__ float remainderf(float x, float y) { return (float)remainder((double)x, (double)y); }
__device__ float remquof(float x, float y, int *count) { return (float)remquo((double)x, (double)y, count); }
__device__ long lrint(double x) { return (long)__double2ll_rn(x); }
__device__ long long llrint(double x) { return __double2ll_rn(x); }
__device__ long lround(double x) { return (long)round(x); }
__device__ long long llround(double x) { return (long long)round(x); }
__device__ long long llroundf(float x) { return (long long)roundf(x); }
__device__ double fdivide(double x, double y) { return x / y; }
__device__ double rcbrt(double x) {
    double a = fabs(x), hl = 0.0, low = 0.0, h = __log_parts(a, hl);
    double t = __product(h, hl, -0.3333333333333333, -1.850371707708594e-17, low);
    double r = a == 0.0 ? (double)INFINITY : a < (double)INFINITY ? __exp_of(t, low) : 0.0;
    return x != x ? x : copysign(r, x);
}
__device__ float rcbrtf(float x) { return (float)rcbrt((double)x); }
// Adds the square of a number, which is scaled to at most 2, to a double-double sum.
__device__ void __add_square(double x, double &sum, double &low) {
    double p = __dmul_rn(x, x), rest = 0.0;
    sum = __sum_of_two(sum, p, rest);
    low = __dadd_rn(low, __dadd_rn(rest, __fma_rn(x, x, -p)));
}
// A power of two near 1 / x.
__device__ double __scale_of(double x) {
    int e = min(max((__double2hiint(x) >> 20) & 2047, 30), 2016);
    return __hiloint2double((2046 - e) << 20, 0);
}
__device__ double __root_of(double sum, double low, double scale, bool inverse) {
    double s = __sum_of_larger(sum, low, low), r = __dsqrt_rn(s);
    double rest = __ddiv_rn(__dadd_rn(__fma_rn(-r, r, s), low), __dadd_rn(r, r));
    if (!inverse) return __ddiv_rn(__dadd_rn(r, rest), scale);
    double q = __ddiv_rn(1.0, r);
    q = __dadd_rn(q, -__dmul_rn(q, __fma_rn(q, rest, __fma_rn(q, r, -1.0))));
    return __dmul_rn(q, scale);
}
__device__ double __length(int count, const double *values, bool inverse) {
    double most = 0.0, sum = 0.0, low = 0.0;
    bool endless = false, none = false;
    for (int i = 0; i < count; ++i) {
        most = fmax(most, fabs(values[i]));
        endless |= fabs(values[i]) == (double)INFINITY;
        none |= values[i] != values[i];
    }
    if (endless) return inverse ? 0.0 : (double)INFINITY;
    if (none) return (double)NAN;
    if (most == 0.0) return inverse ? (double)INFINITY : 0.0;
    double scale = __scale_of(most);
    for (int i = 0; i < count; ++i) __add_square(__dmul_rn(values[i], scale), sum, low);
    return __root_of(sum, low, scale, inverse);
}
__device__ float __length_of_float(int count, const float *values, bool inverse) {
    double sum = 0.0;
    bool endless = false;
    for (int i = 0; i < count; ++i) {
        sum = __fma_rn((double)values[i], (double)values[i], sum);
        endless |= fabsf(values[i]) == INFINITY;
    }
    if (endless) return inverse ? 0.0f : INFINITY;
    double r = __dsqrt_rn(sum);
    return (float)(inverse ? __ddiv_rn(1.0, r) : r);
}
__device__ double norm(int count, const double *values) { return __length(count, values, false); }
__device__ double rnorm(int count, const double *values) { return __length(count, values, true); }
__device__ float normf(int count, const float *values) { return __length_of_float(count, values, false); }
__device__ float rnormf(int count, const float *values) { return __length_of_float(count, values, true); }
__device__ double norm3d(double a, double b, double c) { double v[3] = {a, b, c}; return __length(3, v, false); }
__device__ double rnorm3d(double a, double b, double c) { double v[3] = {a, b, c}; return __length(3, v, true); }
__device__ double norm4d(double a, double b, double c, double d) { double v[4] = {a, b, c, d}; return __length(4, v, false); }
__device__ double rnorm4d(double a, double b, double c, double d) { double v[4] = {a, b, c, d}; return __length(4, v, true); }
__device__ double rhypot(double a, double b) { double v[2] = {a, b}; return __length(2, v, true); }
__device__ float rnorm3df(float a, float b, float c) { float v[3] = {a, b, c}; return __length_of_float(3, v, true); }
__device__ float norm4df(float a, float b, float c, float d) { float v[4] = {a, b, c, d}; return __length_of_float(4, v, false); }
__device__ float rnorm4df(float a, float b, float c, float d) { float v[4] = {a, b, c, d}; return __length_of_float(4, v, true); }
__device__ float ldexp(float x, int n) { return ldexpf(x, n); }
__device__ float scalbn(float x, int n) { return ldexpf(x, n); }
__device__ float scalbln(float x, long n) { return scalblnf(x, n); }
__device__ float frexp(float x, int *n) { return frexpf(x, n); }
__device__ int ilogb(float x) { return ilogbf(x); }
__device__ float logb(float x) { return logbf(x); }
__device__ float modf(float x, float *whole) { return modff(x, whole); }
__device__ float fdim(float x, float y) { return fdimf(x, y); }
__device__ float nextafter(float x, float y) { return nextafterf(x, y); }
__device__ float remainder(float x, float y) { return remainderf(x, y); }
__device__ float remquo(float x, float y, int *count) { return remquof(x, y, count); }
__device__ float copysign(float x, float y) { return copysignf(x, y); }
__device__ long lrint(float x) { return (long)__float2ll_rn(x); }
__device__ long long llrint(float x) { return __float2ll_rn(x); }
__device__ long lround(float x) { return (long)roundf(x); }
__device__ long long llround(float x) { return (long long)roundf(x); }
__device__ float rcbrt(float x) { return rcbrtf(x); }
__device__ float rhypot(float x, float y) { return rhypotf(x, y); }
