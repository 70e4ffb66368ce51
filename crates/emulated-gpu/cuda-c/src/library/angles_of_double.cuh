// Trigonometric and hyperbolic functions of double and their inverses, in double-double arithmetic
// as in parts.cuh.

// The bits of 2/π after 64 zeros.
__constant__ unsigned long long __two_over_pi[20] = {
    0x0000000000000000ull, 0xa2f9836e4e441529ull, 0xfc2757d1f534ddc0ull, 0xdb6295993c439041ull,
    0xfe5163abdebbc561ull, 0xb7246e3a424dd2e0ull, 0x06492eea09d1921cull, 0xfe1deb1cb129a73eull,
    0xe88235f52ebb4484ull, 0xe99c7026b45f7e41ull, 0x3991d639835339f4ull, 0x9c845f8bbdf9283bull,
    0x1ff897ffde05980full, 0xef2f118b5a0a6d1full, 0x6d367ecf27cb09b7ull, 0x4f463f669e5fea2dull,
    0x7527bac7ebe5f17bull, 0x3d0739f78a5292eaull, 0x6bfb5fb11f8d5d08ull, 0x56033046fc7b6babull};
// Subtracts the nearest multiple of π/2 from x. `quarters` is the number of that multiple; its two
// low bits matter.
__device__ double __less_quarters_of(double x, double &low, int &quarters) {
    double a = fabs(x);
    if (a < 1048576.0) {
        double t = __fma_rn(x, 0.6366197723675814, 6755399441055744.0), k = __dadd_rn(t, -6755399441055744.0);
        quarters = __double2loint(t);
        // The first difference is exact.
        double r = __fma_rn(-k, 1.5707963267948966, x), p = __dmul_rn(k, 6.123233995736766e-17), pl = __fma_rn(k, 6.123233995736766e-17, -p), rest = 0.0;
        r = __sum_of_two(r, -p, rest);
        return __sum_of_larger(r, __dadd_rn(rest, __fma_rn(-k, -1.4973849048591698e-33, -pl)), low);
    }
    // The algorithm of Payne and Hanek: bits of the product with 2/π that are multiples of 4 aren't
    // computed.
    unsigned long long bits = (unsigned long long)__double_as_longlong(a), m = (bits & 0xfffffffffffffull) | 0x10000000000000ull;
    unsigned from = (unsigned)(bits >> 52) - 1013u, i = from >> 6, s = from & 63u;
    unsigned long long w0 = __two_over_pi[i], w1 = __two_over_pi[i + 1u], w2 = __two_over_pi[i + 2u], w3 = __two_over_pi[i + 3u];
    if (s != 0u) {
        w0 = (w0 << s) | (w1 >> (64u - s));
        w1 = (w1 << s) | (w2 >> (64u - s));
        w2 = (w2 << s) | (w3 >> (64u - s));
    }
    unsigned long long last = m * w2, carry = __umul64hi(m, w2), middle = m * w1 + carry;
    unsigned long long first = m * w0 + __umul64hi(m, w1) + (middle < carry ? 1ull : 0ull);
    int q = (int)(first >> 62);
    first = (first << 2) | (middle >> 62);
    middle = (middle << 2) | (last >> 62);
    last <<= 2;
    bool above = (long long)first < 0;
    if (above) {
        q += 1;
        first = ~first;
        middle = ~middle;
        last = ~last;
    }
    int n = __clzll((long long)first);
    if (n > 0) {
        first = (first << n) | (middle >> (64 - n));
        middle = (middle << n) | (last >> (64 - n));
    }
    double h = __dmul_rn((double)(first >> 11), 1.1102230246251565e-16);
    double l = __dmul_rn((double)((first << 53) | (middle >> 11)), 6.018531076210112e-36);
    double rl = 0.0, r = __product(h, l, 1.5707963267948966, 6.123233995736766e-17, rl), scale = __hiloint2double((1023 - n) << 20, 0);
    r = __sum_of_larger(r, rl, rl);
    bool negative = (x < 0.0) != above;
    quarters = x < 0.0 ? -q : q;
    scale = negative ? -scale : scale;
    low = __dmul_rn(rl, scale);
    return __dmul_rn(r, scale);
}
// Taylor series for |r| up to π/4.
__device__ double __sine_parts(double r, double rl, double &low) {
    double z = __dmul_rn(r, r);
    double p = __fma_rn(z, -8.22063524662433e-18, 2.8114572543455206e-15);
    p = __fma_rn(p, z, -7.647163731819816e-13);
    p = __fma_rn(p, z, 1.6059043836821613e-10);
    p = __fma_rn(p, z, -2.505210838544172e-08);
    p = __fma_rn(p, z, 2.7557319223985893e-06);
    p = __fma_rn(p, z, -0.0001984126984126984);
    p = __fma_rn(p, z, 0.008333333333333333);
    p = __fma_rn(p, z, -0.16666666666666666);
    return __sum_of_larger(r, __fma_rn(__dmul_rn(r, z), p, __fma_rn(__dmul_rn(z, -0.5), rl, rl)), low);
}
__device__ double __cosine_parts(double r, double rl, double &low) {
    double z = __dmul_rn(r, r), zl = __fma_rn(r, r, -z), h = __dmul_rn(z, 0.5), w = __dadd_rn(1.0, -h);
    double p = __fma_rn(z, 4.110317623312165e-19, -1.5619206968586225e-16);
    p = __fma_rn(p, z, 4.779477332387385e-14);
    p = __fma_rn(p, z, -1.1470745597729725e-11);
    p = __fma_rn(p, z, 2.08767569878681e-09);
    p = __fma_rn(p, z, -2.755731922398589e-07);
    p = __fma_rn(p, z, 2.48015873015873e-05);
    p = __fma_rn(p, z, -0.001388888888888889);
    p = __fma_rn(p, z, 0.041666666666666664);
    double rest = __dadd_rn(__dadd_rn(__dadd_rn(1.0, -w), -h), -__fma_rn(zl, 0.5, __dmul_rn(r, rl)));
    return __sum_of_larger(w, __fma_rn(__dmul_rn(z, z), p, rest), low);
}
__device__ double __turned_of(double r, double rl, int quarters) {
    double low = 0.0, s = (quarters & 1) != 0 ? __cosine_parts(r, rl, low) : __sine_parts(r, rl, low);
    return (quarters & 2) != 0 ? -s : s;
}
__device__ double sin(double x) {
    if (!(fabs(x) < (double)INFINITY)) return (double)NAN;
    int quarters = 0;
    double rl = 0.0, r = __less_quarters_of(x, rl, quarters);
    return x == 0.0 ? x : __turned_of(r, rl, quarters);
}
__device__ double cos(double x) {
    if (!(fabs(x) < (double)INFINITY)) return (double)NAN;
    int quarters = 0;
    double rl = 0.0, r = __less_quarters_of(x, rl, quarters);
    return __turned_of(r, rl, quarters + 1);
}
__device__ void sincos(double x, double *s, double *c) { *s = sin(x); *c = cos(x); }
__device__ double tan(double x) {
    if (!(fabs(x) < (double)INFINITY)) return (double)NAN;
    int quarters = 0;
    double rl = 0.0, sl = 0.0, cl = 0.0, r = __less_quarters_of(x, rl, quarters);
    double s = __sine_parts(r, rl, sl), c = __cosine_parts(r, rl, cl);
    bool odd = (quarters & 1) != 0;
    double n = odd ? -c : s, nl = odd ? -cl : sl, d = odd ? s : c, dl = odd ? sl : cl, q = __ddiv_rn(n, d);
    double rest = __fma_rn(-q, dl, __dadd_rn(__fma_rn(-q, d, n), nl));
    return x == 0.0 ? x : __dadd_rn(q, __ddiv_rn(rest, d));
}
// The reduction for multiples of π.
__device__ double __less_halves_of(double x, double &low, int &quarters) {
    double y = __fma_rn(rint(__dmul_rn(x, 0.5)), -2.0, x), n = rint(__dadd_rn(y, y));
    quarters = (int)n;
    return __product(__fma_rn(n, -0.5, y), 0.0, 3.141592653589793, 1.2246467991473532e-16, low);
}
__device__ double sinpi(double x) {
    int quarters = 0;
    double rl = 0.0, r = __less_halves_of(x, rl, quarters), s = __turned_of(r, rl, quarters);
    return !(fabs(x) < (double)INFINITY) ? (double)NAN : trunc(x) == x ? copysign(0.0, x) : s;
}
__device__ double cospi(double x) {
    int quarters = 0;
    double rl = 0.0, r = __less_halves_of(x, rl, quarters), c = __turned_of(r, rl, quarters + 1);
    return !(fabs(x) < (double)INFINITY) ? (double)NAN : c == 0.0 ? 0.0 : c;
}
__device__ void sincospi(double x, double *s, double *c) { *s = sinpi(x); *c = cospi(x); }
// The arc tangent of (y + yl) / (x + xl), both not negative: π/2 less the arc tangent of the
// inverse if the quotient is above 1, π/4 plus that of the difference quotient around 1, and then
// the series.
__device__ double __atan_parts(double y, double yl, double x, double xl, double &low) {
    bool steep = y > x;
    double n = steep ? x : y, nl = steep ? xl : yl, d = steep ? y : x, dl = steep ? yl : xl;
    bool middle = n > __dmul_rn(d, 0.41421356237309503);
    double ml = 0.0, al = 0.0, m = __sum_of_two(n, -d, ml), a = __sum_of_two(n, d, al);
    ml = __dadd_rn(ml, __dadd_rn(nl, -dl));
    al = __dadd_rn(al, __dadd_rn(nl, dl));
    m = middle ? m : n, ml = middle ? ml : nl, a = middle ? a : d, al = middle ? al : dl;
    double v = __ddiv_rn(m, a), vl = __ddiv_rn(__fma_rn(-v, al, __dadd_rn(__fma_rn(-v, a, m), ml)), a), z = __dmul_rn(v, v);
    double p = __fma_rn(z, -0.02127659574468085, 0.022222222222222223);
    p = __fma_rn(p, z, -0.023255813953488372);
    p = __fma_rn(p, z, 0.024390243902439025);
    p = __fma_rn(p, z, -0.02564102564102564);
    p = __fma_rn(p, z, 0.02702702702702703);
    p = __fma_rn(p, z, -0.02857142857142857);
    p = __fma_rn(p, z, 0.030303030303030304);
    p = __arc_series(z, p);
    double hl = 0.0, sl = 0.0, h = __sum_of_larger(v, __fma_rn(__dmul_rn(v, z), p, vl), hl);
    double s = __sum_of_larger(0.7853981633974483, h, sl);
    sl = __dadd_rn(sl, __dadd_rn(hl, 3.061616997868383e-17));
    h = middle ? s : h, hl = middle ? sl : hl;
    s = __sum_of_larger(1.5707963267948966, -h, sl);
    sl = __dadd_rn(sl, __dadd_rn(6.123233995736766e-17, -hl));
    return __sum_of_larger(steep ? s : h, steep ? sl : hl, low);
}
__device__ double atan(double x) {
    double low = 0.0, r = __atan_parts(fmin(fabs(x), 1e300), 0.0, 1.0, 0.0, low);
    return x == 0.0 || x != x ? x : copysign(r, x);
}
// √(1 − x²)
__device__ double __other_side(double x, double &low) {
    double p = __dmul_rn(x, x), wl = 0.0, w = __sum_of_two(1.0, -p, wl), s = 0.0;
    wl = __dadd_rn(wl, -__fma_rn(x, x, -p));
    w = __sum_of_larger(w, wl, wl);
    s = __dsqrt_rn(w);
    low = w > 0.0 ? __ddiv_rn(__dadd_rn(__fma_rn(-s, s, w), wl), __dadd_rn(s, s)) : 0.0;
    return s;
}
__device__ double asin(double x) {
    double a = fabs(x), low = 0.0, sl = 0.0, s = __other_side(fmin(a, 1.0), sl), r = __atan_parts(a, 0.0, s, sl, low);
    return x == 0.0 ? x : a <= 1.0 ? copysign(r, x) : (double)NAN;
}
__device__ double acos(double x) {
    double a = fabs(x), low = 0.0, rest = 0.0, sl = 0.0, s = __other_side(fmin(a, 1.0), sl), r = __atan_parts(s, sl, a, 0.0, low);
    double other = __sum_of_larger(3.141592653589793, -r, rest);
    other = __dadd_rn(other, __dadd_rn(rest, __dadd_rn(1.2246467991473532e-16, -low)));
    return !(a <= 1.0) ? (double)NAN : x < 0.0 ? other : r;
}
__device__ double atan2(double y, double x) {
    if (x != x || y != y) return __dadd_rn(x, y);
    double a = fabs(y), b = fabs(x), endless = (double)INFINITY, low = 0.0, rest = 0.0;
    if (a == endless || b == endless) {
        a = a == endless ? 1.0 : 0.0;
        b = b == endless ? 1.0 : 0.0;
    }
    double most = fmax(a, b), scale = most > 1e200 ? 1.6069380442589903e-60 : most < 1e-200 ? 1.6069380442589903e+60 : 1.0;
    b = most == 0.0 ? 1.0 : b;
    double r = __atan_parts(__dmul_rn(a, scale), 0.0, __dmul_rn(b, scale), 0.0, low), other = __sum_of_larger(3.141592653589793, -r, rest);
    other = __dadd_rn(other, __dadd_rn(rest, __dadd_rn(1.2246467991473532e-16, -low)));
    return copysign(__double2hiint(x) < 0 ? other : r, y);
}
// ln(1 + t + tl)
__device__ double __log1p_of(double t, double tl) {
    double ul = 0.0, hl = 0.0, u = __sum_of_two(1.0, t, ul), h = __log_parts(u, hl);
    return __dadd_rn(h, __dadd_rn(hl, __ddiv_rn(__dadd_rn(ul, tl), u)));
}
// √(x² + sign)
__device__ double __root_parts(double x, double sign, double &low) {
    double p = __dmul_rn(x, x), wl = 0.0, w = __sum_of_two(p, sign, wl), s = __dsqrt_rn(w);
    wl = __dadd_rn(wl, __fma_rn(x, x, -p));
    low = s > 0.0 ? __ddiv_rn(__dadd_rn(__fma_rn(-s, s, w), wl), __dadd_rn(s, s)) : 0.0;
    return s;
}
__device__ double __log_of_twice(double x) {
    double hl = 0.0, sl = 0.0, h = __log_parts(x, hl), s = __sum_of_larger(h, 0.6931471805599453, sl);
    return __dadd_rn(s, __dadd_rn(sl, __dadd_rn(hl, 2.3190468138462996e-17)));
}
__device__ double asinh(double x) {
    double a = fabs(x), sl = 0.0, r = a;
    if (!(a < (double)INFINITY) || x == 0.0) return x;
    if (a > 268435456.0) {
        r = __log_of_twice(a);
    } else if (a > 3e-9) {
        // a + a² / (1 + √(1 + a²))
        double s = __root_parts(a, 1.0, sl), dl = 0.0, d = __sum_of_two(s, 1.0, dl);
        dl = __dadd_rn(dl, sl);
        double z = __dmul_rn(a, a), zl = __fma_rn(a, a, -z), q = __ddiv_rn(z, d), tl = 0.0;
        double ql = __ddiv_rn(__fma_rn(-q, dl, __dadd_rn(__fma_rn(-q, d, z), zl)), d), t = __sum_of_two(a, q, tl);
        r = __log1p_of(t, __dadd_rn(tl, ql));
    }
    return copysign(r, x);
}
__device__ double acosh(double x) {
    if (!(x >= 1.0)) return (double)NAN;
    if (x > 268435456.0) return x < (double)INFINITY ? __log_of_twice(x) : x;
    double t = __dadd_rn(x, -1.0), ul = 0.0, p = __dmul_rn(t, t);
    double pl = __fma_rn(t, t, -p), u = __sum_of_two(__dadd_rn(t, t), p, ul), s = __dsqrt_rn(u), tl = 0.0;
    ul = __dadd_rn(ul, pl);
    double sl = s > 0.0 ? __ddiv_rn(__dadd_rn(__fma_rn(-s, s, u), ul), __dadd_rn(s, s)) : 0.0, v = __sum_of_two(t, s, tl);
    return __log1p_of(v, __dadd_rn(tl, sl));
}
__device__ double atanh(double x) {
    double a = fabs(x), n = __dadd_rn(a, a), d = __dadd_rn(1.0, -a), dl = 0.0;
    if (x == 0.0 || x != x) return x;
    if (!(a < 1.0)) return a == 1.0 ? copysign((double)INFINITY, x) : (double)NAN;
    d = __sum_of_two(1.0, -a, dl);
    double q = __ddiv_rn(n, d), ql = __ddiv_rn(__fma_rn(-q, dl, __fma_rn(-q, d, n)), d);
    double r = a < 3e-9 ? a : __dmul_rn(__log1p_of(q, ql), 0.5);
    return copysign(r, x);
}
__device__ double fmod(double x, double y) {
    double endless = (double)INFINITY;
    if (!(fabs(x) < endless) || !(fabs(y) > 0.0)) return (double)NAN;
    if (fabs(y) == endless) return x;
    unsigned long long a = (unsigned long long)__double_as_longlong(fabs(x)), b = (unsigned long long)__double_as_longlong(fabs(y));
    if (a < b) return x;
    // Integers in the same unit; subnormal numbers share the exponent of the smallest normal ones.
    int ea = (int)(a >> 52), eb = (int)(b >> 52);
    unsigned long long m = a & 0xfffffffffffffull, d = b & 0xfffffffffffffull;
    m = ea == 0 ? m : m | 0x10000000000000ull;
    d = eb == 0 ? d : d | 0x10000000000000ull;
    int apart = max(ea, 1) - max(eb, 1);
    m %= d;
    while (apart > 0) {
        int step = min(apart, 11);
        m = (m << step) % d;
        apart -= step;
    }
    if (m == 0ull) return copysign(0.0, x);
    int e = max(eb, 1), high = __clzll((long long)m) - 11, up = min(high, e - 1);
    m <<= up;
    e -= up;
    unsigned long long bits = (m & 0x10000000000000ull) != 0ull ? (m & 0xfffffffffffffull) | ((unsigned long long)e << 52) : m;
    return copysign(__longlong_as_double((long long)bits), x);
}
