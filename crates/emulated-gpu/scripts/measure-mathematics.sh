#!/bin/sh
# Measures the errors of cuda-c's mathematical functions in units in the last place. It compiles the library, which is CUDA
# C, with g++, and evaluates each function for every float (or every STRIDE-th), compared with glibc in double precision,
# and for as many doubles, compared with libquadmath. Needs g++ and an x86-64 processor with fma.
#
#     [STRIDE=1] crates/emulated-gpu/scripts/measure-mathematics.sh [FUNCTION …]
set -eu
cd "$(dirname "$0")/../../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/measure.cpp" <<'END'
// By this, glibc's headers name the vectors of functions that they have. No arithmetic is made faster.
#define __FAST_MATH__
#include <cmath>
#undef __FAST_MATH__
#include <cstdint>
#include <initializer_list>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <quadmath.h>
#undef INFINITY
#undef NAN
#define __device__ static inline
#define __constant__ static const
template <typename T, typename F> static T bits(F from) { T to; memcpy(&to, &from, sizeof to); return to; }
#define INFINITY bits<float>(0x7f800000)
#define NAN bits<float>(0x7fffffff)
#ifndef INT_MAX
#define INT_MAX 2147483647
#define INT_MIN (-2147483647 - 1)
#endif
namespace own {
static inline double __fma_rn(double a, double b, double c) { return __builtin_fma(a, b, c); }
static inline float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
static inline double __dadd_rn(double a, double b) { return a + b; }
static inline double __dmul_rn(double a, double b) { return a * b; }
static inline double __ddiv_rn(double a, double b) { return a / b; }
static inline double __dsqrt_rn(double a) { return __builtin_sqrt(a); }
static inline float __fadd_rn(float a, float b) { return a + b; }
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline int __double2hiint(double x) { return (int)(bits<int64_t>(x) >> 32); }
static inline int __double2loint(double x) { return (int)bits<int64_t>(x); }
static inline double __hiloint2double(int h, int l) { return bits<double>((int64_t)(((uint64_t)(uint32_t)h << 32) | (uint32_t)l)); }
static inline long long __double_as_longlong(double x) { return bits<int64_t>(x); }
static inline double __longlong_as_double(long long x) { return bits<double>((int64_t)x); }
static inline int __float_as_int(float x) { return bits<int>(x); }
static inline unsigned __float_as_uint(float x) { return bits<unsigned>(x); }
static inline float __int_as_float(int x) { return bits<float>(x); }
static inline unsigned __funnelshift_l(unsigned l, unsigned h, unsigned s) { return s & 31 ? (h << (s & 31)) | (l >> (32 - (s & 31))) : h; }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) { return (unsigned long long)(((unsigned __int128)a * b) >> 64); }
static inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
static inline double rint(double x) { return __builtin_rint(x); }
static inline float truncf(float x) { return __builtin_truncf(x); }
static inline float rintf(float x) { return __builtin_rintf(x); }
static inline float fabsf(float x) { return __builtin_fabsf(x); }
static inline double fabs(double x) { return __builtin_fabs(x); }
static inline double trunc(double x) { return __builtin_trunc(x); }
static inline double fmin(double a, double b) { return __builtin_fmin(a, b); }
static inline double fmax(double a, double b) { return __builtin_fmax(a, b); }
static inline double sqrt(double x) { return __builtin_sqrt(x); }
static inline float rsqrtf(float x) { return 1 / x; }
template <typename T> static inline T max(T a, T b) { return a > b ? a : b; }
template <typename T> static inline T min(T a, T b) { return a < b ? a : b; }
static inline long long __double2ll_rn(double x) { return __builtin_llrint(x); }
static inline long long __float2ll_rn(float x) { return __builtin_llrintf(x); }
static inline float __ex2(float x) { return x; }
static inline float __lg2(float x) { return x; }
static inline float __sinf(float x) { return x; }
static inline float __cosf(float x) { return x; }
static inline float __fdividef(float a, float b) { return a / b; }
#include "library.inc"
}
static uint64_t stride;
template <typename O, typename R> static void single(const char *name, O own, R exact) {
    // The float nearest to the true value is off by at most half a unit.
    double worst = 0.5; float at = 0; uint64_t wrong = 0, neighbours = 0, count = 0;
    auto look = [&](float x, float found) {
        double e = exact((double)x); float rounded = (float)e;
        if (bits<uint32_t>(found) == bits<uint32_t>(rounded) || (rounded != rounded && found != found)) return;
        neighbours++;
        if (!std::isfinite(found) || !std::isfinite(rounded) || (rounded == 0) != (found == 0)) {
            // Either one was rounded to infinity or 0 and the other wasn't, or it is wrong.
            int64_t apart = llabs((int64_t)bits<int32_t>(found) - bits<int32_t>(rounded));
            if (apart > 1) { if (!wrong++) printf("%s(%a) = %a, not %a\n", name, x, found, rounded); return; }
        }
        int p; frexp(e, &p); double unit = ldexp(1.0, (p < -125 ? -125 : p) - 24);
        double error = std::fabs(e - found) / unit;
        if (error > worst) { worst = error; at = x; }
    };
    // Several at a time, with glibc's vector functions where they exist. These err by some units of a double's last
    // place, so results that are very close to the middle between two floats, or differ, are checked one by one.
    constexpr int many = 1024;
    float x[many], found[many]; double e[many]; unsigned char sure[many];
    for (uint64_t first = 0; first < (1ull << 32); first += many * stride) {
        for (int i = 0; i < many; i++) x[i] = bits<float>((uint32_t)(first + i * stride));
#pragma omp simd
        for (int i = 0; i < many; i++) found[i] = own(x[i]);
#pragma omp simd
        for (int i = 0; i < many; i++) e[i] = exact((double)x[i]);
        for (int i = 0; i < many; i++) {
            uint32_t own = bits<uint32_t>(found[i]);
            bool same = (own == bits<uint32_t>((float)(e[i] * (1 - 0x1p-40)))) & (own == bits<uint32_t>((float)(e[i] * (1 + 0x1p-40))));
            sure[i] = same | ((found[i] != found[i]) & (e[i] != e[i]));
        }
        for (int i = 0; i < many && first + i * stride < (1ull << 32); i++, count++)
            if (!sure[i]) look(x[i], found[i]);
    }
    printf("%-15s %.4f ulp at %a; of %llu floats %llu are not the nearest%s\n", name, worst, at, (unsigned long long)count, (unsigned long long)neighbours, wrong ? "  WRONG" : "");
    fflush(stdout);
}
static uint64_t state = 88172645463325252ull;
static uint64_t next() { state ^= state << 13; state ^= state >> 7; state ^= state << 17; return state; }
template <typename O, typename R> static void twice(const char *name, O own, R exact, double from, double to, bool powers = false) {
    double worst = 0, at = 0; uint64_t wrong = 0;
    for (uint64_t i = 0; i < (1ull << 24) / stride + 4096; i++) {
        double u = (double)(next() >> 11) * 0x1p-53, x = from + (to - from) * u;
        if (powers) x = bits<double>((uint64_t)(next() & 0x7fffffffffffffffull));
        else if (i & 1) x = ldexp(x, -(int)(next() % 60));
        if (x != x || x > to || x < from) continue;
        double found = own(x); __float128 e = exact((__float128)x); double rounded = (double)e;
        if (!std::isfinite(rounded) || !std::isfinite(found)) { if (bits<uint64_t>(found) != bits<uint64_t>(rounded) && !(found != found && rounded != rounded) && !wrong++) printf("%s(%a) = %a, not %a\n", name, x, found, rounded); continue; }
        int p; frexpq(e, &p); __float128 unit = ldexpq(1, (p < -1021 ? -1021 : p) - 53);
        double error = (double)(fabsq(e - found) / unit);
        if (error > worst) { worst = error; at = x; }
    }
    printf("%-10s %.4f ulp at %a%s (double)\n", name, worst, at, wrong ? "  WRONG" : "");
    fflush(stdout);
}
// The root near `x` of erf(x) = y, or of erfc(x) = y, by Newton's steps.
static __float128 polished(__float128 x, __float128 y, bool complement) {
    if (!finiteq(x) || x == 0) return x;
    for (int i = 0; i < 3; i++) {
        __float128 slope = M_2_SQRTPIq * expq(-x * x);
        x -= complement ? (y - erfcq(x)) / slope : (erfq(x) - y) / slope;
    }
    return x;
}
// The modified functions, by their series.
static __float128 modified(__float128 x, int order) {
    __float128 term = order ? x / 2 : 1, sum = term;
    for (int k = 1; fabsq(term) > fabsq(sum) * 1e-30q; k++) sum += term *= x * x / 4 / ((__float128)k * (k + order));
    return sum;
}
// The sine of r half turns, for r from -1 to 1.
static double turned_sine(double r) {
    double near = std::fabs(r) > 0.5 ? std::copysign(1 - std::fabs(r), r) : r;
    return near == 0 ? near : sin(M_PI * near);
}
// x, or the bound that it is beyond: where all floats have ended, or where a function does. Outside of
// that, glibc's vectors go one by one. (The bounds are read, since the compiler would take what it knows of
// them out of the vectors again.)
static double end, one;
static inline double kept(double x, double from, double to) { return x < from ? from : x > to ? to : x; }
// The value where x is between the bounds, else what isn't a number.
static inline double inside(double x, double from, double to, double value) { return x < from ? NAN : x > to ? NAN : value; }
int main(int, char **arguments) {
    stride = strtoull(arguments[1], nullptr, 10);
    const char *only = arguments[2];
    end = strtod("300", nullptr), one = strtod("1", nullptr);
#define LARGE kept(x, -end, end)
#define POSITIVE(f) inside(x, 0, INFINITY, f(std::fabs(x)))
#define UNIT(f) inside(x, -1, 1, f(kept(x, -one, one)))
#define ONE(f, e) if (!*only || !strcmp(only, #f)) single(#f, [](float x) { return own::f(x); }, [](double x) { return (double)(e); })
    ONE(expf, exp(LARGE)); ONE(exp2f, exp2(LARGE)); ONE(exp10f, exp10(LARGE)); ONE(expm1f, expm1(LARGE));
    ONE(logf, POSITIVE(log)); ONE(log2f, POSITIVE(log2)); ONE(log10f, POSITIVE(log10)); ONE(log1pf, inside(x, -1, INFINITY, log1p(kept(x, -one, INFINITY))));
    ONE(sinf, sin(x)); ONE(cosf, cos(x)); ONE(tanf, tan(x));
    ONE(asinf, UNIT(asin)); ONE(acosf, UNIT(acos)); ONE(atanf, atan(x));
    ONE(sinhf, sinh(LARGE)); ONE(coshf, cosh(LARGE)); ONE(tanhf, tanh(LARGE));
    ONE(asinhf, asinh(x)); ONE(acoshf, inside(x, 1, INFINITY, acosh(kept(x, one, INFINITY)))); ONE(atanhf, UNIT(atanh));
    ONE(erff, erf(LARGE)); ONE(erfcf, erfc(LARGE)); ONE(normcdff, 0.5 * erfc(-LARGE * M_SQRT1_2)); ONE(cbrtf, cbrt(x));
    ONE(__frsqrt_rn, 1 / sqrt(x)); ONE(lgammaf, lgamma(x)); ONE(tgammaf, tgamma(x));
    ONE(rcbrtf, 1 / cbrt(x)); ONE(sinpif, x == rint(x) && x - x == 0 ? std::copysign(0.0, x) : turned_sine(x - 2 * rint(x / 2))); ONE(cospif, turned_sine(0.5 - std::fabs(x - 2 * rint(x / 2))));
    ONE(erfcxf, own::erfcx(x)); ONE(erfinvf, own::erfinv(x)); ONE(erfcinvf, own::erfcinv(x)); ONE(normcdfinvf, own::normcdfinv(x));
    ONE(j0f, j0(x)); ONE(j1f, j1(x)); ONE(y0f, y0(x)); ONE(y1f, y1(x));
    ONE(cyl_bessel_i0f, own::cyl_bessel_i0(x)); ONE(cyl_bessel_i1f, own::cyl_bessel_i1(x));
#define TWO(f, e, ...) if (!*only || !strcmp(only, #f)) twice(#f, [](double x) { return own::f(x); }, [](__float128 x) { return e; }, __VA_ARGS__)
    TWO(exp, expq(x), -760, 720); TWO(exp2, exp2q(x), -1090, 1030); TWO(exp10, powq(10, x), -330, 310); TWO(expm1, expm1q(x), -50, 720);
    TWO(log, logq(x), 0, 1e300, true); TWO(log2, logq(x) / M_LN2q, 0, 1e300, true); TWO(log10, log10q(x), 0, 1e300, true);
    TWO(log, logq(x), 0.4, 2.5); TWO(log2, logq(x) / M_LN2q, 0.4, 2.5); TWO(log1p, log1pq(x), -0.9999, 3);
    TWO(tanh, tanhq(x), -25, 25); TWO(sinh, sinhq(x), -715, 715); TWO(sinh, sinhq(x), -1, 1); TWO(cosh, coshq(x), -715, 715);
    TWO(cbrt, cbrtq(x), 0, 1e308, true); TWO(rsqrt, 1 / sqrtq(x), 0, 1e308, true);
    TWO(sin, sinq(x), -1e6, 1e6); TWO(sin, sinq(x), 0, 1e300, true); TWO(cos, cosq(x), -1e6, 1e6); TWO(cos, cosq(x), 0, 1e300, true);
    TWO(tan, tanq(x), -1e6, 1e6); TWO(tan, tanq(x), 0, 1e300, true); TWO(sinpi, sinq(M_PIq * (x - 2 * rintq(x / 2))), -100, 100);
    TWO(cospi, cosq(M_PIq * (x - 2 * rintq(x / 2))), -100, 100);
    TWO(asin, asinq(x), -1, 1); TWO(acos, acosq(x), -1, 1); TWO(atan, atanq(x), -100, 100); TWO(atan, atanq(x), 0, 1e300, true);
    TWO(asinh, asinhq(x), -1e10, 1e10); TWO(asinh, asinhq(x), 0, 1e300, true); TWO(acosh, acoshq(x), 1, 3); TWO(acosh, acoshq(x), 1, 1e300, true); TWO(atanh, atanhq(x), -1, 1);
    TWO(erf, erfq(x), -7, 7); TWO(erfc, erfcq(x), -7, 27.5); TWO(normcdf, erfcq(-x * M_SQRT1_2q) / 2, -39, 9);
    TWO(erfcx, x > 60 ? 2 * M_2_SQRTPIq / 4 / x * (1 - 1 / (2 * x * x) + 3 / (4 * x * x * x * x) - 15 / (8 * powq(x, 6)) + 105 / (16 * powq(x, 8))) : expq(x * x) * erfcq(x), -26, 100);
    TWO(erfinv, polished(own::erfinv((double)x), x, false), -1, 1); TWO(erfcinv, polished(own::erfcinv((double)x), x, true), 0, 2); TWO(erfcinv, polished(own::erfcinv((double)x), x, true), 0, 1, true);
    TWO(normcdfinv, -M_SQRT2q * polished(own::erfcinv((double)(2 * x)), 2 * x, true), 0, 1);
    TWO(lgamma, lgammaq(x), 0, 20); TWO(lgamma, lgammaq(x), 0, 1e300, true); TWO(lgamma, lgammaq(x), -2.2, 0); TWO(lgamma, lgammaq(x), -50, -11.5);
    TWO(tgamma, tgammaq(x), 0, 171.5); TWO(tgamma, tgammaq(x), -20, 0); TWO(tgamma, tgammaq(x), -170, -20);
    TWO(j0, j0q(x), 0, 8); TWO(j1, j1q(x), 0, 8); TWO(y0, y0q(x), 0, 8); TWO(y1, y1q(x), 0, 8); TWO(rcbrt, 1 / cbrtq(x), 0, 1e308, true);
    TWO(cyl_bessel_i0, modified(x, 0), -30, 700); TWO(cyl_bessel_i1, modified(x, 1), -30, 700);
    if (!*only || !strcmp(only, "waves"))
        for (int n : {0, 1, 2, 3, 10, 128}) {
            // In absolute terms, as the guide has it, relative to 1.
            double worst[2] = {0, 0};
            for (int i = 0; i < 100000 / (int)(1 + stride / 100000); i++) {
                double x = (n > 8 ? 1.5 * n : 8) + (double)(next() >> 11) * 0x1p-53 * (i & 1 ? 100 : 10000);
                worst[0] = fmax(worst[0], fabs((double)(own::jn(n, x) - jnq(n, x))));
                worst[1] = fmax(worst[1], fabs((double)(own::yn(n, x) - ynq(n, x))));
            }
            printf("j%d, y%d    %.2g and %.2g apart at most from 8, or 1.5 n, to 10000 (double)\n", n, n, worst[0], worst[1]);
        }
    if (!*only || !strcmp(only, "atan2"))
        twice("atan2", [](double x) { return own::atan2(x, -3.0); }, [](__float128 x) { return atan2q(x, -3); }, -50, 50);
    if (!*only || !strcmp(only, "fmod"))
        twice("fmod", [](double x) { return own::fmod(x, 3.1e-5); }, [](__float128 x) { return fmodq(x, 3.1e-5); }, -1e300, 1e300, true);
    if (!*only || !strcmp(only, "pow")) {
        static double y;
        for (double exponent : {0.3, 2.0, -3.7, 17.0, 150.5}) {
            y = exponent; printf("y = %5.1f: ", y);
            twice("pow", [](double x) { return own::pow(x, y); }, [](__float128 x) { return powq(x, y); }, 0.0, 1e300, true);
        }
        twice("pow 1.0001", [](double x) { return own::pow(1.0001, x); }, [](__float128 x) { return powq(1.0001, x); }, -7e6, 7e6);
    }
    if (!*only || !strcmp(only, "hypot"))
        twice("hypot", [](double x) { return own::hypot(x, 3.0); }, [](__float128 x) { return hypotq(x, 3); }, 0, 50);
}
END
library=crates/emulated-gpu/cuda-c/src/library
# The library as one file, which the program above includes.
cat "$library/float.cuh" "$library/angles.cuh" "$library/parts.cuh" "$library/double.cuh" \
    "$library/angles_of_double.cuh" "$library/numbers.cuh" "$library/special.cuh" "$library/bessel.cuh" >"$folder/library.inc"
g++ -std=gnu++17 -O3 -march=native -mprefer-vector-width=512 -fopenmp -fno-trapping-math -fno-math-errno -ffp-contract=off -w "$folder/measure.cpp" -o "$folder/measure" -lquadmath
if [ $# = 0 ]; then set -- ""; fi
for name; do "$folder/measure" "${STRIDE:-1}" "$name"; done
