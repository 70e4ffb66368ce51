// Double-double arithmetic: a number is the sum of a double and its rounding error, so that a
// result is known to about 60 bits before it is rounded.

// a + b and its rounding error, for |a| of at least |b|.
__device__ double __sum_of_larger(double a, double b, double &low) {
    double s = __dadd_rn(a, b);
    low = __dadd_rn(b, -__dadd_rn(s, -a));
    return s;
}
// a + b and its rounding error, for any a and b.
__device__ double __sum_of_two(double a, double b, double &low) {
    double s = __dadd_rn(a, b);
    double t = __dadd_rn(s, -a);
    low = __dadd_rn(__dadd_rn(a, -__dadd_rn(s, -t)), __dadd_rn(b, -t));
    return s;
}
// (a + al) · (b + bl)
__device__ double __product(double a, double al, double b, double bl, double &low) {
    double p = __dmul_rn(a, b);
    low = __dadd_rn(__fma_rn(a, b, -p), __fma_rn(a, bl, __dmul_rn(al, b)));
    return p;
}
// ln(x) of a finite positive x: e · ln(2) + 2 · artanh(s) with s = (m − 1) / (m + 1).
__device__ double __log_parts(double x, double &low) {
    bool tiny = x < 2.2250738585072014e-308;
    x = tiny ? __dmul_rn(x, 18014398509481984.0) : x;
    int high = __double2hiint(x);
    int e = (high - 0x3fe6a09e) >> 20;
    double m = __hiloint2double(high - (e << 20), __double2loint(x));
    double k = (double)(tiny ? e - 54 : e);
    double dl = 0.0, sl = 0.0, zl = 0.0, cl = 0.0, wl = 0.0, vl = 0.0, hl = 0.0;
    double f = __dadd_rn(m, -1.0), d = __sum_of_two(m, 1.0, dl);
    double s = __ddiv_rn(f, d);
    sl = __ddiv_rn(__fma_rn(-s, dl, __fma_rn(-s, d, f)), d);
    double z = __product(s, sl, s, sl, zl);
    double p = __fma_rn(z, 0.06896551724137931, 0.07407407407407407);
    p = __fma_rn(p, z, 0.08);
    p = __fma_rn(p, z, 0.08695652173913043);
    p = __fma_rn(p, z, 0.09523809523809523);
    p = __fma_rn(p, z, 0.10526315789473684);
    p = __fma_rn(p, z, 0.11764705882352941);
    p = __fma_rn(p, z, 0.13333333333333333);
    p = __fma_rn(p, z, 0.15384615384615385);
    p = __fma_rn(p, z, 0.18181818181818182);
    p = __fma_rn(p, z, 0.2222222222222222);
    p = __fma_rn(p, z, 0.2857142857142857);
    p = __fma_rn(p, z, 0.4);
    double c = __sum_of_larger(0.6666666666666666, __dmul_rn(p, z), cl);
    cl = __dadd_rn(cl, 3.700743415417188e-17);
    double w = __product(z, zl, c, cl, wl);
    double v = __product(w, wl, s, sl, vl);
    double h = __sum_of_larger(__dadd_rn(s, s), v, hl);
    hl = __dadd_rn(hl, __fma_rn(sl, 2.0, vl));
    double rl = 0.0;
    double r = __sum_of_larger(__dmul_rn(k, 6.93147180369123816490e-01), h, rl);
    rl = __dadd_rn(rl, __fma_rn(k, 1.9082149292705877e-10, hl));
    return __sum_of_larger(r, rl, low);
}
// e^(x + xl) / 2^k for |x| up to 2000, by the Taylor series of e^r.
__device__ double __exp_parts(double x, double xl, int &k, double &low) {
    double t = __fma_rn(x, 1.4426950408889634, 6755399441055744.0);
    double n = __dadd_rn(t, -6755399441055744.0);
    k = __double2loint(t);
    double rl = 0.0, hl = 0.0;
    double r = __sum_of_two(__fma_rn(-n, 6.93147180369123816490e-01, x), __fma_rn(-n, 1.9082149292705877e-10, xl), rl);
    double p = __fma_rn(r, 1.1470745597729725e-11, 1.6059043836821613e-10);
    p = __fma_rn(p, r, 2.08767569878681e-09);
    p = __fma_rn(p, r, 2.505210838544172e-08);
    p = __fma_rn(p, r, 2.755731922398589e-07);
    p = __fma_rn(p, r, 2.7557319223985893e-06);
    p = __fma_rn(p, r, 2.48015873015873e-05);
    p = __fma_rn(p, r, 1.984126984126984e-04);
    p = __fma_rn(p, r, 1.388888888888889e-03);
    p = __fma_rn(p, r, 8.333333333333333e-03);
    p = __fma_rn(p, r, 4.1666666666666664e-02);
    p = __fma_rn(p, r, 1.6666666666666666e-01);
    p = __fma_rn(p, r, 0.5);
    double h = __sum_of_larger(1.0, r, hl);
    hl = __dadd_rn(hl, __fma_rn(__dmul_rn(r, r), p, __fma_rn(rl, r, rl)));
    return __sum_of_larger(h, hl, low);
}
// h · 2^k, rounded once.
__device__ double __times_power(double h, int k) {
    int half = k >> 1;
    double first = __hiloint2double((half + 1023) << 20, 0), second = __hiloint2double((k - half + 1023) << 20, 0);
    return __dmul_rn(__dmul_rn(h, first), second);
}
__device__ double __exp_of(double x, double xl) {
    int k = 0;
    double low = 0.0, h = __exp_parts(x, xl, k, low);
    return __times_power(h, k);
}
__device__ double __limited(double x, double limit) { return x > limit ? limit : x < -limit ? -limit : x; }
// e^x − 1 for 0 ≤ x ≤ 50.
__device__ double __expm1_parts(double x, double &low) {
    if (x < 0.5) {
        double p = __fma_rn(x, 1.5619206968586225e-16, 2.8114572543455206e-15);
        p = __fma_rn(p, x, 4.779477332387385e-14);
        p = __fma_rn(p, x, 7.647163731819816e-13);
        p = __fma_rn(p, x, 1.1470745597729725e-11);
        p = __fma_rn(p, x, 1.6059043836821613e-10);
        p = __fma_rn(p, x, 2.08767569878681e-09);
        p = __fma_rn(p, x, 2.505210838544172e-08);
        p = __fma_rn(p, x, 2.755731922398589e-07);
        p = __fma_rn(p, x, 2.7557319223985893e-06);
        p = __fma_rn(p, x, 2.48015873015873e-05);
        p = __fma_rn(p, x, 1.984126984126984e-04);
        p = __fma_rn(p, x, 1.388888888888889e-03);
        p = __fma_rn(p, x, 8.333333333333333e-03);
        p = __fma_rn(p, x, 4.1666666666666664e-02);
        p = __fma_rn(p, x, 1.6666666666666666e-01);
        p = __fma_rn(p, x, 0.5);
        return __sum_of_larger(x, __dmul_rn(__dmul_rn(x, x), p), low);
    }
    int k = 0;
    double hl = 0.0, sl = 0.0, h = __exp_parts(x, 0.0, k, hl);
    double s = __sum_of_two(__times_power(h, k), -1.0, sl);
    return __sum_of_larger(s, __dadd_rn(sl, __times_power(hl, k)), low);
}
