// Output to the host by printf, assert and trap; device functions, recursion, function pointers.
#include <assert.h>

__device__ __noinline__ int collatz(int n) { return n <= 1 ? 0 : 1 + collatz(n % 2 ? 3 * n + 1 : n / 2); }
__device__ __noinline__ float twice(float x) { return 2.0f * x; }
__device__ __noinline__ float thrice(float x) { return 3.0f * x; }
struct Pair { double a; int b[3]; };
__device__ __noinline__ Pair swap(Pair p, float x) { Pair q; q.a = p.b[0] + x; q.b[0] = (int)p.a; q.b[1] = p.b[2]; q.b[2] = p.b[1]; return q; }

extern "C" __global__ void talk(int* out, float* f, int n, int which)
{
    int i = threadIdx.x;
    assert(i < n);
    if (i == 0) printf("n = %d, f = %f, %s\n", n, f[0], "done");
    out[i] = collatz(i);
    float (*function)(float) = which ? twice : thrice;
    f[i] = function(f[i]);
    Pair p; p.a = f[i]; p.b[0] = i; p.b[1] = n; p.b[2] = which;
    p = swap(p, f[i]);
    out[i] += p.b[1] + (int)p.a;
    if (which == 77) __trap();
}

extern "C" __global__ void choose(int* out, int which)
{
    switch (which) {
        case 0: out[0] = 3; out[5] = 1; break;
        case 1: out[1] = out[2] * 5; break;
        case 2: out[2] = out[9] / 7; break;
        case 3: out[3] = out[1] % 9; break;
        case 4: out[4] = out[1] << 9; break;
        case 5: out[8] = 9; break;
        case 6: out[7] = out[6] ^ 9; break;
        default: out[6] = -1;
    }
}
