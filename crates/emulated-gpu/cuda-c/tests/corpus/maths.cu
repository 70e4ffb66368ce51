// The functions of math.h and CUDA, and special numbers.

// launch exp_log within 8 <<<1, 64>>> f32[64]=drawn f32[64]=zero f32[64]=zero
extern "C" __global__ void exp_log(const float *x, float *a, float *b) {
    a[threadIdx.x] = expf(x[threadIdx.x]) + exp2f(x[threadIdx.x]) + exp10f(x[threadIdx.x]);
    b[threadIdx.x] = logf(fabsf(x[threadIdx.x]) + 2) + log2f(fabsf(x[threadIdx.x]) + 2) + log1pf(fabsf(x[threadIdx.x]) + 1);
}

// launch roots within 4 <<<1, 64>>> f32[64]=drawn f32[64]=zero
extern "C" __global__ void roots(const float *x, float *y) {
    float v = fabsf(x[threadIdx.x]) + 0.01f;
    y[threadIdx.x] = sqrtf(v) + cbrtf(v) + rsqrtf(v) + hypotf(v, 1.0f);
}

// launch trigonometry within 64 <<<1, 64>>> f32[64]=drawn f32[64]=zero
extern "C" __global__ void trigonometry(const float *x, float *y) {
    float v = x[threadIdx.x];
    y[threadIdx.x] = 8 + sinf(v) + cosf(v) + atanf(v) + atan2f(v, 2.0f) + asinf(v / 3) + acosf(v / 3);
}

// launch powers within 64 <<<1, 64>>> f32[64]=drawn f32[64]=zero
extern "C" __global__ void powers(const float *x, float *y) {
    float v = fabsf(x[threadIdx.x]) + 0.5f;
    y[threadIdx.x] = powf(v, 2.5f) + powf(v, -1.25f);
}

// launch rounding <<<1, 64>>> f32[64]=drawn f32[448]=zero
extern "C" __global__ void rounding(const float *x, float *out) {
    float v = x[threadIdx.x] * 2.5f, *o = out + 7 * threadIdx.x;
    o[0] = floorf(v);
    o[1] = ceilf(v);
    o[2] = truncf(v);
    o[3] = rintf(v);
    o[4] = roundf(v);
    o[5] = nearbyintf(v);
    o[6] = fmodf(v, 0.75f);
}

// launch exact <<<1, 64>>> f32[64]=drawn f32[64]=drawn f32[384]=zero
extern "C" __global__ void exact(const float *x, const float *y, float *out) {
    float a = x[threadIdx.x], b = y[threadIdx.x], *o = out + 6 * threadIdx.x;
    o[0] = __fadd_rz(a, b);
    o[1] = __fmul_ru(a, b);
    o[2] = __fmaf_rd(a, b, a);
    o[3] = __fdiv_rn(a, b);
    o[4] = __fsqrt_rn(fabsf(a));
    o[5] = __frcp_rn(b);
}

// launch comparisons <<<1, 64>>> f32[64]=drawn f32[64]=drawn s32[64]=zero
extern "C" __global__ void comparisons(const float *x, const float *y, int *out) {
    float a = x[threadIdx.x], b = threadIdx.x % 7 == 0 ? __int_as_float(0x7fc00000) : y[threadIdx.x];
    out[threadIdx.x] = (a < b) | (a <= b) << 1 | (a == b) << 2 | (a != b) << 3 | (a >= b) << 4 | !(a > b) << 5 | (isnan(b) != 0) << 6;
}

// launch minima <<<1, 64>>> f32[64]=drawn f32[64]=drawn f32[192]=zero
extern "C" __global__ void minima(const float *x, const float *y, float *out) {
    float a = threadIdx.x % 5 == 0 ? __int_as_float(0x7fc00000) : x[threadIdx.x], b = y[threadIdx.x];
    out[3 * threadIdx.x] = fminf(a, b);
    out[3 * threadIdx.x + 1] = fmaxf(a, b);
    out[3 * threadIdx.x + 2] = fdimf(b, 0.5f);
}

// launch infinities <<<1, 8>>> f32[8]=iota f32[40]=zero
extern "C" __global__ void infinities(const float *x, float *out) {
    float big = x[threadIdx.x] * 1e38f * 1e3f, *o = out + 5 * threadIdx.x;
    o[0] = big;
    o[1] = 1.0f / big;
    o[2] = isinf(big) ? 1 : 0;
    o[3] = copysignf(1.0f, -big);
    o[4] = signbit(-0.0f) ? 2 : 3;
}

// launch subnormal <<<1, 32>>> f32[32]=iota
extern "C" __global__ void subnormal(float *x) { x[threadIdx.x] = x[threadIdx.x] * 1e-30f * 1e-12f; }

// launch scaling <<<1, 32>>> f32[32]=drawn s32[32]=zero f32[32]=zero
extern "C" __global__ void scaling(const float *x, int *e, float *m) {
    m[threadIdx.x] = frexpf(x[threadIdx.x], &e[threadIdx.x]);
    m[threadIdx.x] += ldexpf(x[threadIdx.x], 3) + scalbnf(x[threadIdx.x], -2);
}

// launch parts <<<1, 32>>> f32[32]=drawn f32[64]=zero
extern "C" __global__ void parts(const float *x, float *out) {
    float whole;
    out[2 * threadIdx.x] = modff(x[threadIdx.x] * 3, &whole);
    out[2 * threadIdx.x + 1] = whole;
}

// launch doubles <<<1, 32>>> f64[32]=drawn f64[128]=zero
extern "C" __global__ void doubles(const double *x, double *out) {
    double v = x[threadIdx.x], *o = out + 4 * threadIdx.x;
    o[0] = sqrt(fabs(v));
    o[1] = fma(v, v, -1.0);
    o[2] = floor(v * 3) + ceil(v) + trunc(v) + rint(v);
    o[3] = fmin(v, 0.5) / (fmax(v, 0.25) + 1);
}

// launch double_rounding <<<1, 32>>> f64[32]=drawn f32[96]=zero
extern "C" __global__ void double_rounding(const double *x, float *out) {
    double v = x[threadIdx.x] / 3;
    out[3 * threadIdx.x] = __double2float_rn(v);
    out[3 * threadIdx.x + 1] = __double2float_ru(v);
    out[3 * threadIdx.x + 2] = (float)__dadd_rd(v, 1e-20);
}

// launch fast within 16 <<<1, 64>>> f32[64]=drawn f32[64]=zero
extern "C" __global__ void fast(const float *x, float *y) {
    float v = fabsf(x[threadIdx.x]) + 1;
    y[threadIdx.x] = __fdividef(v, 3.0f) + __frsqrt_rn(v) + __saturatef(v / 4);
}

// launch horner <<<1, 32>>> f64[32]=drawn
extern "C" __global__ void horner(double *x) {
    const double c[] = {1.0, 1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120};
    double s = 0;
    for (int i = sizeof(c) / sizeof(c[0]) - 1; i >= 0; i--) s = s * x[threadIdx.x] + c[i];
    x[threadIdx.x] = s;
}

// launch norms within 8 <<<1, 16>>> f32[64]=drawn f32[16]=zero
extern "C" __global__ void norms(const float4 *x, float *out) {
    float4 v = x[threadIdx.x];
    out[threadIdx.x] = norm3df(v.x, v.y, v.z) + rnorm4df(v.x, v.y, v.z, v.w + 3) + norm4df(v.x, v.y, v.z, v.w);
}

// launch integers_of_math <<<1, 32>>> s32[32]=drawn s64[32]=drawn
extern "C" __global__ void integers_of_math(int *a, long long *b) {
    a[threadIdx.x] = __mulhi(a[threadIdx.x] * 70000, 90000) + __hadd(a[threadIdx.x], 7) + __rhadd(a[threadIdx.x], 8);
    b[threadIdx.x] = llabs(b[threadIdx.x]) + llmin(b[threadIdx.x], 3ll) + __mul64hi(b[threadIdx.x] << 40, 1ll << 40);
}

// launch special within 64 <<<1, 32>>> f32[32]=drawn f32[32]=zero
extern "C" __global__ void special(const float *x, float *y) {
    float v = fabsf(x[threadIdx.x]) + 0.5f;
    y[threadIdx.x] = 4 + erff(v) + erfcf(v) + tgammaf(v) + expm1f(v) + sinhf(v) + coshf(v) + asinhf(v);
}

// launch lerp_all <<<1, 32>>> f32[32]=drawn f32[32]=drawn
__device__ __forceinline__ float lerp(float a, float b, float t) { return a + t * (b - a); }
extern "C" __global__ void lerp_all(const float *a, float *b) { b[threadIdx.x] = lerp(a[threadIdx.x], b[threadIdx.x], 0.3f); }
