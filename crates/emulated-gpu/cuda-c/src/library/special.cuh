// The error functions of double and their inverses, and the gamma function.

// erfc(x)·e^(x²) for x from 0 to 28: a polynomial in (x − 4) / (x + 4) that interpolates (1 + 2x)
// times this function at Chebyshev nodes, with an error of 10^−17. Above 28, the series in 1/x².
__device__ double __scaled_erfc(double x) {
    if (x > 28.0) {
        double i = __ddiv_rn(1.0, x), z = __dmul_rn(__dmul_rn(i, i), 0.5);
        double s = __fma_rn(z, __fma_rn(z, __fma_rn(z, 10395.0, -945.0), 105.0), -15.0);
        s = __fma_rn(z, __fma_rn(z, __fma_rn(z, s, 3.0), -1.0), 1.0);
        return __dmul_rn(__dmul_rn(i, 0.5641895835477563), s);
    }
    double t = __ddiv_rn(__dadd_rn(x, -4.0), __dadd_rn(x, 4.0)), u = __fma_rn(t, 1.1428571428571428, 0.14285714285714285);
    double p = __fma_rn(u, 5.859461159560386e-11, -9.351782513657033e-11);
    p = __fma_rn(p, u, -8.620039202984176e-10);
    p = __fma_rn(p, u, 1.478620627688971e-09);
    p = __fma_rn(p, u, 8.378720850673402e-09);
    p = __fma_rn(p, u, -1.821132027678383e-08);
    p = __fma_rn(p, u, -7.03585345113273e-08);
    p = __fma_rn(p, u, 2.3685153699031817e-07);
    p = __fma_rn(p, u, 4.531957969433537e-07);
    p = __fma_rn(p, u, -3.125193224296597e-06);
    p = __fma_rn(p, u, 6.694183013640995e-07);
    p = __fma_rn(p, u, 3.414605503776373e-05);
    p = __fma_rn(p, u, -0.00010246350192279499);
    p = __fma_rn(p, u, -8.36807856457092e-05);
    p = __fma_rn(p, u, 0.0017257044639713076);
    p = __fma_rn(p, u, -0.007665324201635066);
    p = __fma_rn(p, u, 0.022129789677326987);
    p = __fma_rn(p, u, -0.047931115994645654);
    p = __fma_rn(p, u, 0.08083857072910729);
    p = __fma_rn(p, u, -0.10434370398531613);
    p = __fma_rn(p, u, 0.09124356129722609);
    p = __fma_rn(p, u, -0.01663582317882297);
    p = __fma_rn(p, u, -0.12193736651647732);
    p = __fma_rn(p, u, 1.2505272632390394);
    return __ddiv_rn(p, __fma_rn(x, 2.0, 1.0));
}
// erfc(x + xl) for x of at least 0.
__device__ double __erfc_of(double x, double xl) {
    if (x > 27.3) return 0.0;
    double p = __dmul_rn(x, x), pl = __fma_rn(__dadd_rn(x, x), xl, __fma_rn(x, x, -p)), low = 0.0;
    int k = 0;
    double h = __exp_parts(-p, -pl, k, low), q = __scaled_erfc(x);
    return __times_power(__fma_rn(h, q, __dmul_rn(low, q)), k);
}
// erf(x) for |x| up to 1, by its Taylor series.
__device__ double __erf_near(double x) {
    double z = __dmul_rn(x, x);
    double p = __fma_rn(z, -5.136209054585811e-22, 1.131218725924631e-20);
    p = __fma_rn(p, z, -2.3784598852774293e-19);
    p = __fma_rn(p, z, 4.763348040515068e-18);
    p = __fma_rn(p, z, -9.063970842808673e-17);
    p = __fma_rn(p, z, 1.6342614095367152e-15);
    p = __fma_rn(p, z, -2.7835162072109215e-14);
    p = __fma_rn(p, z, 4.4632242632864775e-13);
    p = __fma_rn(p, z, -6.7113668551641105e-12);
    p = __fma_rn(p, z, 9.422759064650411e-11);
    p = __fma_rn(p, z, -1.2290555301717928e-09);
    p = __fma_rn(p, z, 1.4807192815879218e-08);
    p = __fma_rn(p, z, -1.6365844691234924e-07);
    p = __fma_rn(p, z, 1.6462114365889248e-06);
    p = __fma_rn(p, z, -1.492565035840625e-05);
    p = __fma_rn(p, z, 0.00012055332981789664);
    p = __fma_rn(p, z, -0.0008548327023450853);
    p = __fma_rn(p, z, 0.005223977625442188);
    p = __fma_rn(p, z, -0.026866170645131252);
    p = __fma_rn(p, z, 0.11283791670955126);
    p = __fma_rn(p, z, -0.37612638903183754);
    double h = __dmul_rn(x, 1.1283791670955126), l = __fma_rn(x, 1.1283791670955126, -h);
    return __dadd_rn(h, __fma_rn(__dmul_rn(x, z), p, __fma_rn(x, 1.533545961316588e-17, l)));
}
__device__ double erf(double x) {
    double a = fabs(x);
    if (x != x || x == 0.0) return x;
    return a < 1.0 ? __erf_near(x) : copysign(__dadd_rn(1.0, -__erfc_of(fmin(a, 28.0), 0.0)), x);
}
__device__ double erfc(double x) {
    if (x != x) return x;
    if (fabs(x) < 0.25) return __dadd_rn(1.0, -__erf_near(x));
    return x < 0.0 ? __dadd_rn(2.0, -__erfc_of(fmin(-x, 28.0), 0.0)) : __erfc_of(fmin(x, 28.0), 0.0);
}
__device__ double erfcx(double x) {
    if (x != x) return x;
    if (fabs(x) < 0.5) return __dmul_rn(__exp_of(__dmul_rn(x, x), 0.0), __dadd_rn(1.0, -__erf_near(x)));
    if (x >= 0.0) return __scaled_erfc(x);
    if (x < -27.0) return (double)INFINITY;
    double p = __dmul_rn(x, x), e = __exp_of(p, __fma_rn(x, x, -p));
    return __dadd_rn(__dadd_rn(e, e), -__scaled_erfc(-x));
}
__device__ double normcdf(double x) {
    if (x != x) return x;
    double y = __limited(x, 40.0), a = fabs(y), tl = 0.0, t = __product(a, 0.0, 0.7071067811865476, -4.833646656726457e-17, tl);
    t = __sum_of_larger(t, tl, tl);
    if (t < 0.75) return __fma_rn(y < 0.0 ? -__erf_near(t) : __erf_near(t), 0.5, 0.5);
    double c = __erfc_of(t, tl);
    return y < 0.0 ? __dmul_rn(c, 0.5) : __fma_rn(c, -0.5, 1.0);
}
// Halley's iteration, started from Hastings' approximation of the quantiles of the normal
// distribution (Abramowitz and Stegun, 26.2.22), for y up to 1.
__device__ double __erfc_inverse(double y) {
    double t = __dsqrt_rn(__dmul_rn(log(__dmul_rn(y, 0.5)), -2.0));
    if (y < 1e-300) t = __dsqrt_rn(__dmul_rn(__dadd_rn(log(y), -0.6931471805599453), -2.0));
    double x = __dmul_rn(t - (2.30753 + 0.27061 * t) / (1.0 + 0.99229 * t + 0.04481 * t * t), 0.7071067811865476);
    for (int i = 0; i < 3; ++i) {
        double e = __exp_of(__dmul_rn(__dmul_rn(x, x), 0.5), 0.0);
        double u = __dmul_rn(__dadd_rn(__scaled_erfc(x), -__dmul_rn(__dmul_rn(y, e), e)), -0.886226925452758);
        x = __dadd_rn(x, -__ddiv_rn(u, __fma_rn(x, u, 1.0)));
    }
    return x;
}
__device__ double __erf_inverse(double y) {
    double x = __dmul_rn(y, __fma_rn(__dmul_rn(y, y), 0.23201366653465449, 0.88622692545275801));
    for (int i = 0; i < 4; ++i) {
        double u = __dmul_rn(__dmul_rn(__dadd_rn(__erf_near(x), -y), __exp_of(__dmul_rn(x, x), 0.0)), 0.886226925452758);
        x = __dadd_rn(x, -__ddiv_rn(u, __fma_rn(x, u, 1.0)));
    }
    return x;
}
__device__ double erfcinv(double y) {
    if (!(y > 0.0 && y < 2.0)) return y == 0.0 ? (double)INFINITY : y == 2.0 ? -(double)INFINITY : (double)NAN;
    if (y > 0.25 && y < 1.75) return __erf_inverse(__dadd_rn(1.0, -y));
    return y < 1.0 ? __erfc_inverse(y) : -__erfc_inverse(__dadd_rn(2.0, -y));
}
__device__ double erfinv(double y) {
    double a = fabs(y);
    if (!(a < 1.0)) return a == 1.0 ? copysign((double)INFINITY, y) : (double)NAN;
    return y == 0.0 ? y : a < 0.75 ? __erf_inverse(y) : copysign(__erfc_inverse(__dadd_rn(1.0, -a)), y);
}
__device__ double normcdfinv(double p) { return __dmul_rn(erfcinv(__dadd_rn(p, p)), -1.4142135623730951); }
// ln Γ(2 + t) for t from −0.7 to 1/2, by its Taylor series, whose coefficients are (ζ(k) − 1) / k.
__device__ double __log_gamma_near(double t) {
    double p = __fma_rn(t, 2.2737369600659724e-14, -4.6640760264283744e-14);
    p = __fma_rn(p, t, 9.573630387838556e-14);
    p = __fma_rn(p, t, -1.9664756310966165e-13);
    p = __fma_rn(p, t, 4.04220052528944e-13);
    p = __fma_rn(p, t, -8.315385841420285e-13);
    p = __fma_rn(p, t, 1.711991790559618e-12);
    p = __fma_rn(p, t, -3.527742476575915e-12);
    p = __fma_rn(p, t, 7.275974480239079e-12);
    p = __fma_rn(p, t, -1.5021384080754142e-11);
    p = __fma_rn(p, t, 3.1044247747322276e-11);
    p = __fma_rn(p, t, -6.4229645638381e-11);
    p = __fma_rn(p, t, 1.330476437424449e-10);
    p = __fma_rn(p, t, -2.7595228851242334e-10);
    p = __fma_rn(p, t, 5.731367241678862e-10);
    p = __fma_rn(p, t, -1.1921401405860912e-09);
    p = __fma_rn(p, t, 2.4836745438024785e-09);
    p = __fma_rn(p, t, -5.183475041970047e-09);
    p = __fma_rn(p, t, 1.0838659214896955e-08);
    p = __fma_rn(p, t, -2.2711094608943164e-08);
    p = __fma_rn(p, t, 4.7698101693639804e-08);
    p = __fma_rn(p, t, -1.0043224823968099e-07);
    p = __fma_rn(p, t, 2.1207184805554665e-07);
    p = __fma_rn(p, t, -4.492469198764566e-07);
    p = __fma_rn(p, t, 9.55141213040742e-07);
    p = __fma_rn(p, t, -2.039215753801366e-06);
    p = __fma_rn(p, t, 4.374866789907488e-06);
    p = __fma_rn(p, t, -9.439488275268397e-06);
    p = __fma_rn(p, t, 2.050721277567069e-05);
    p = __fma_rn(p, t, -4.492623673813314e-05);
    p = __fma_rn(p, t, 9.945751278180853e-05);
    p = __fma_rn(p, t, -0.00022315475845357939);
    p = __fma_rn(p, t, 0.0005096695247430425);
    p = __fma_rn(p, t, -0.001192753911703261);
    p = __fma_rn(p, t, 0.0028905103307415234);
    p = __fma_rn(p, t, -0.007385551028673986);
    p = __fma_rn(p, t, 0.020580808427784546);
    p = __fma_rn(p, t, -0.0673523010531981);
    p = __fma_rn(p, t, 0.3224670334241132);
    p = __fma_rn(p, t, 0.42278433509846713);
    return __dmul_rn(p, t);
}
// The correction to Stirling's formula: 1 / 12x − 1 / 360x³ + …
__device__ double __stirling(double x) {
    double i = __ddiv_rn(1.0, x), z = __dmul_rn(i, i);
    double p = __fma_rn(z, 0.17964437236883057, -0.029550653594771242);
    p = __fma_rn(p, z, 0.00641025641025641);
    p = __fma_rn(p, z, -0.0019175269175269176);
    p = __fma_rn(p, z, 0.0008417508417508417);
    p = __fma_rn(p, z, -0.0005952380952380953);
    p = __fma_rn(p, z, 0.0007936507936507937);
    p = __fma_rn(p, z, -0.002777777777777778);
    p = __fma_rn(p, z, 0.08333333333333333);
    return __dmul_rn(p, i);
}
__device__ double __log_gamma(double x) {
    if (x < 0.5) return __dadd_rn(__dadd_rn(__log_gamma_near(x), -log1p(x)), -log(x));
    if (x < 1.3) return __dadd_rn(__log_gamma_near(__dadd_rn(x, -1.0)), -log1p(__dadd_rn(x, -1.0)));
    if (x < 12.0) {
        double factor = 1.0;
        while (x > 2.5) {
            x = __dadd_rn(x, -1.0);
            factor = __dmul_rn(factor, x);
        }
        return __dadd_rn(log(factor), __log_gamma_near(__dadd_rn(x, -2.0)));
    }
    double hl = 0.0, low = 0.0, sl = 0.0, h = __log_parts(x, hl), p = __product(h, hl, __dadd_rn(x, -0.5), 0.0, low);
    double s = __sum_of_two(p, -x, sl);
    return __dadd_rn(s, __dadd_rn(__dadd_rn(low, sl), __dadd_rn(__stirling(x), 0.9189385332046728)));
}
__device__ double lgamma(double x) {
    double a = fabs(x), endless = (double)INFINITY;
    if (x != x) return x;
    if (a == endless) return endless;
    if (x > 0.0) return a > 2.5e305 ? endless : __log_gamma(x);
    if (trunc(a) == a) return endless;
    if (a < 1e-300) return -log(a);
    return __dadd_rn(log(__ddiv_rn(3.141592653589793, __dmul_rn(a, fabs(sinpi(a))))), -__log_gamma(a));
}
// Γ(x) / 2^k for x up to 200: Stirling's formula for an argument of at least 12, divided by the
// factors in between.
__device__ double __gamma_parts(double x, int &k) {
    double factor = 1.0, fl = 0.0, yl = 0.0, y = x;
    for (int n = 0; y < 12.0; ++n) {
        factor = __product(factor, fl, y, yl, fl);
        factor = __sum_of_larger(factor, fl, fl);
        y = __sum_of_two((double)(n + 1), x, yl);
    }
    double hl = 0.0, low = 0.0, bl = 0.0, sl = 0.0, el = 0.0, h = __log_parts(y, hl);
    hl = __dadd_rn(hl, __ddiv_rn(yl, y));
    double b = __sum_of_two(y, -0.5, bl), p = __product(h, hl, b, __dadd_rn(bl, yl), low), s = __sum_of_two(p, -y, sl);
    sl = __dadd_rn(sl, __dadd_rn(low, -yl));
    double e = __sum_of_two(s, __dadd_rn(__stirling(y), 0.9189385332046728), el);
    double g = __exp_parts(e, __dadd_rn(el, sl), k, low);
    return __ddiv_rn(__dadd_rn(g, low), factor);
}
__device__ double tgamma(double x) {
    double a = fabs(x), endless = (double)INFINITY;
    int k = 0;
    if (x != x || x == endless) return x;
    if (x == 0.0) return copysign(endless, x);
    if (x < 0.0 && trunc(a) == a) return (double)NAN;
    if (a < 1e-300) return __ddiv_rn(1.0, x);
    if (x > 172.0) return endless;
    if (a > 190.0) return copysign(0.0, __dadd_rn(a, -2.0 * trunc(__dmul_rn(a, 0.5))) < 1.0 ? -1.0 : 1.0);
    double g = __gamma_parts(a, k);
    if (x > 0.0) return __times_power(g, k);
    return __times_power(__ddiv_rn(-3.141592653589793, __dmul_rn(__dmul_rn(a, sinpi(a)), g)), -k);
}
__device__ float erfcxf(float x) { return (float)erfcx((double)x); }
__device__ float erfinvf(float x) { return (float)erfinv((double)x); }
__device__ float erfcinvf(float x) { return (float)erfcinv((double)x); }
__device__ float normcdfinvf(float x) { return (float)normcdfinv((double)x); }
__device__ float lgammaf(float x) { return (float)lgamma((double)x); }
__device__ float tgammaf(float x) { return (float)tgamma((double)x); }
__device__ float erfcx(float x) { return erfcxf(x); }
__device__ float erfinv(float x) { return erfinvf(x); }
__device__ float erfcinv(float x) { return erfcinvf(x); }
__device__ float normcdfinv(float x) { return normcdfinvf(x); }
__device__ float lgamma(float x) { return lgammaf(x); }
__device__ float tgamma(float x) { return tgammaf(x); }
