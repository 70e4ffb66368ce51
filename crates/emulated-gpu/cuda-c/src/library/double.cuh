// The names that C++ overloads for float and double: for a float, they call the functions of float.
// Those of double have an error below one unit in the last place. Trigonometric functions of double
// are in angles_of_double.cuh.
__device__ double exp(double x) { return __exp_of(__limited(x, 1000.0), 0.0); }
__device__ double exp2(double x) {
    double y = __limited(x, 1200.0), low = 0.0, p = __product(y, 0.0, 0.6931471805599453, 2.3190468138462996e-17, low);
    return __exp_of(p, low);
}
__device__ double exp10(double x) {
    double y = __limited(x, 400.0), low = 0.0, p = __product(y, 0.0, 2.302585092994046, -2.1707562233822494e-16, low);
    return __exp_of(p, low);
}
__device__ double __log_scaled(double x, double scale, double scale_low) {
    double hl = 0.0, low = 0.0, h = __log_parts(x, hl);
    double p = __product(h, hl, scale, scale_low, low);
    double special = x == 0.0 ? -(double)INFINITY : x < 0.0 ? (double)NAN : x;
    return x > 0.0 && x < (double)INFINITY ? __dadd_rn(p, low) : special;
}
__device__ double log(double x) { return __log_scaled(x, 1.0, 0.0); }
__device__ double log2(double x) { return __log_scaled(x, 1.4426950408889634, 2.0355273740931033e-17); }
__device__ double log10(double x) { return __log_scaled(x, 0.4342944819032518, 1.098319650216765e-17); }
__device__ double log1p(double x) {
    double ul = 0.0, hl = 0.0, u = __sum_of_two(1.0, x, ul), h = __log_parts(u, hl);
    double r = __dadd_rn(h, __dadd_rn(hl, __ddiv_rn(ul, u)));
    double special = x == -1.0 ? -(double)INFINITY : x < -1.0 ? (double)NAN : x;
    return x > -1.0 && x < (double)INFINITY && fabs(x) > 1e-17 ? r : special;
}
__device__ double expm1(double x) {
    double low = 0.0;
    if (x >= 0.0 && x < 40.0) return x == 0.0 ? x : __expm1_parts(x, low);
    // e^x − 1 = −(e^−x − 1) / e^−x
    if (x < 0.0 && x > -40.0) {
        double h = __expm1_parts(-x, low), dl = 0.0, d = __sum_of_two(h, 1.0, dl);
        dl = __dadd_rn(dl, low);
        double q = __ddiv_rn(h, d);
        double rest = __fma_rn(-q, dl, __dadd_rn(__fma_rn(-q, d, h), low));
        return -__dadd_rn(q, __ddiv_rn(rest, d));
    }
    return x < 0.0 ? -1.0 : __exp_of(__limited(x, 1000.0), 0.0);
}
__device__ double tanh(double x) {
    double a = fabs(x), low = 0.0, dl = 0.0, h = __expm1_parts(fmin(__dadd_rn(a, a), 45.0), low);
    double d = __sum_of_two(h, 2.0, dl);
    dl = __dadd_rn(dl, low);
    double q = __ddiv_rn(h, d);
    double rest = __fma_rn(-q, dl, __dadd_rn(__fma_rn(-q, d, h), low));
    return x == 0.0 || x != x ? x : copysign(__dadd_rn(q, __ddiv_rn(rest, d)), x);
}
__device__ double sinh(double x) {
    double a = fabs(x), low = 0.0;
    if (a < 0.5) {
        // (t + t / (t + 1)) / 2 with t = e^a − 1
        double h = __expm1_parts(a, low), q = __ddiv_rn(h, __dadd_rn(h, 1.0));
        double rest = __dadd_rn(__fma_rn(-q, __dadd_rn(h, 1.0), h), low);
        double half = __dmul_rn(__dadd_rn(h, __dadd_rn(q, __dadd_rn(low, rest))), 0.5);
        return x == 0.0 ? x : copysign(half, x);
    }
    int k = 0;
    double t = __exp_parts(fmin(a, 1000.0), 0.0, k, low), e = __times_power(t, k - 1);
    double r = __dadd_rn(e, __dadd_rn(__times_power(low, k - 1), -__ddiv_rn(0.25, e)));
    return x != x ? x : copysign(a > 720.0 ? (double)INFINITY : r, x);
}
__device__ double cosh(double x) {
    int k = 0;
    double a = fabs(x), low = 0.0, t = __exp_parts(fmin(a, 1000.0), 0.0, k, low), e = __times_power(t, k - 1);
    double r = __dadd_rn(e, __dadd_rn(__times_power(low, k - 1), __ddiv_rn(0.25, e)));
    return x != x ? x : a > 720.0 ? (double)INFINITY : r;
}
__device__ double pow(double x, double y) {
    double a = fabs(x), hl = 0.0, low = 0.0, h = __log_parts(a, hl), t = __product(h, hl, y, 0.0, low);
    bool beyond = fabs(t) > 1000.0;
    double p = __exp_of(__limited(t, 1000.0), beyond ? 0.0 : low);
    double half = trunc(__dmul_rn(y, 0.5));
    bool odd = fabs(__fma_rn(half, -2.0, y)) == 1.0;
    double endless = (double)INFINITY, edge = (a > 1.0) == (y > 0.0) ? endless : 0.0;
    if (a == 0.0 || a == endless) p = edge;
    if (fabs(y) == endless) p = a == 1.0 ? 1.0 : edge;
    if (odd && __double2hiint(x) < 0) p = -p;
    if (x < 0.0 && a != endless && fabs(y) != endless && trunc(y) != y) p = (double)NAN;
    if (x != x || y != y) p = __dadd_rn(x, y);
    return x == 1.0 || y == 0.0 ? 1.0 : p;
}
__device__ double cbrt(double x) {
    double a = fabs(x), hl = 0.0, low = 0.0, h = __log_parts(a, hl);
    double t = __product(h, hl, 0.3333333333333333, 1.850371707708594e-17, low);
    double r = copysign(__exp_of(t, low), x);
    return x == 0.0 || !(a < (double)INFINITY) ? x : r;
}
__device__ double hypot(double x, double y) {
    double a = fmax(fabs(x), fabs(y)), b = fmin(fabs(x), fabs(y));
    double scale = a > 1e150 ? 2.4099198651028841e-181 : a < 1e-150 ? 4.149515568880993e+180 : 1.0;
    double s = __dmul_rn(a, scale), t = __dmul_rn(b, scale);
    double r = __ddiv_rn(__dsqrt_rn(__fma_rn(s, s, __dmul_rn(t, t))), scale);
    bool endless = a == (double)INFINITY;
    return endless ? a : x != x || y != y ? __dadd_rn(x, y) : r;
}
__device__ float exp(float x) { return expf(x); }
__device__ float exp2(float x) { return exp2f(x); }
__device__ float exp10(float x) { return exp10f(x); }
__device__ float log(float x) { return logf(x); }
__device__ float log2(float x) { return log2f(x); }
__device__ float log10(float x) { return log10f(x); }
__device__ float log1p(float x) { return log1pf(x); }
__device__ float expm1(float x) { return expm1f(x); }
__device__ float tanh(float x) { return tanhf(x); }
__device__ float sinh(float x) { return sinhf(x); }
__device__ float cosh(float x) { return coshf(x); }
__device__ float cbrt(float x) { return cbrtf(x); }
__device__ float pow(float x, float y) { return powf(x, y); }
__device__ float hypot(float x, float y) { return hypotf(x, y); }
__device__ float sin(float x) { return sinf(x); }
__device__ float cos(float x) { return cosf(x); }
__device__ float tan(float x) { return tanf(x); }
__device__ float asin(float x) { return asinf(x); }
__device__ float acos(float x) { return acosf(x); }
__device__ float atan(float x) { return atanf(x); }
__device__ float asinh(float x) { return asinhf(x); }
__device__ float acosh(float x) { return acoshf(x); }
__device__ float atanh(float x) { return atanhf(x); }
__device__ float erf(float x) { return erff(x); }
__device__ float erfc(float x) { return erfcf(x); }
__device__ float sinpi(float x) { return sinpif(x); }
__device__ float cospi(float x) { return cospif(x); }
__device__ float normcdf(float x) { return normcdff(x); }
__device__ float atan2(float y, float x) { return atan2f(y, x); }
__device__ float round(float x) { return roundf(x); }
__device__ double round(double x) {
    double t = trunc(x);
    double up = fabs(__dadd_rn(x, -t)) >= 0.5 ? 1.0 : 0.0;
    return x < 0.0 ? __dadd_rn(t, -up) : x > 0.0 ? __dadd_rn(t, up) : x;
}
__device__ float fmod(float x, float y) { return fmodf(x, y); }
__device__ float rsqrt(float x) { return rsqrtf(x); }
__device__ double rsqrt(double x) {
    double y = __ddiv_rn(1.0, __dsqrt_rn(x)), t = __dmul_rn(x, y);
    // 1 − x·y², which corrects the rounding errors.
    double rest = __fma_rn(-__fma_rn(x, y, -t), y, __fma_rn(-t, y, 1.0));
    return x > 0.0 && x < (double)INFINITY ? __fma_rn(__dmul_rn(y, 0.5), rest, y) : y;
}
__device__ double copysign(double x, double y) {
    return __hiloint2double((__double2hiint(x) & 0x7fffffff) | (__double2hiint(y) & 0x80000000), __double2loint(x));
}
