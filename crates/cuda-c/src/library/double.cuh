// The names that C++ has for float and double alike: of a float, they are the functions of float. The
// mathematics of double isn't built but for what is an instruction, and says so.
__device__ float exp(float x) { return expf(x); }
__device__ double exp(double x) { return exp_of_double(x); }
__device__ float exp2(float x) { return exp2f(x); }
__device__ double exp2(double x) { return exp2_of_double(x); }
__device__ float log(float x) { return logf(x); }
__device__ double log(double x) { return log_of_double(x); }
__device__ float log2(float x) { return log2f(x); }
__device__ double log2(double x) { return log2_of_double(x); }
__device__ float log10(float x) { return log10f(x); }
__device__ double log10(double x) { return log10_of_double(x); }
__device__ float log1p(float x) { return log1pf(x); }
__device__ double log1p(double x) { return log1p_of_double(x); }
__device__ float tanh(float x) { return tanhf(x); }
__device__ double tanh(double x) { return tanh_of_double(x); }
__device__ float pow(float x, float y) { return powf(x, y); }
__device__ double pow(double x, double y) { return pow_of_double(x, y); }
__device__ float round(float x) { return roundf(x); }
__device__ double round(double x) {
    double t = trunc(x);
    double up = fabs(__dadd_rn(x, -t)) >= 0.5 ? 1.0 : 0.0;
    return x < 0.0 ? __dadd_rn(t, -up) : x > 0.0 ? __dadd_rn(t, up) : x;
}
__device__ float fmod(float x, float y) { return fmodf(x, y); }
__device__ double fmod(double x, double y) { return fmod_of_double(x, y); }
__device__ float rsqrt(float x) { return rsqrtf(x); }
__device__ double rsqrt(double x) { return 1.0 / sqrt(x); }
__device__ double copysign(double x, double y) {
    return __hiloint2double((__double2hiint(x) & 0x7fffffff) | (__double2hiint(y) & 0x80000000), __double2loint(x));
}
