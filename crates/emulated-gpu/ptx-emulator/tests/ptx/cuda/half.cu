// Half precision: f16, f16x2 and, if available, bf16. cuda_fp16.h needs the toolkit's headers, so
// the instructions are written out as in that header.
__device__ float widen(unsigned short h) { float f; asm("{ cvt.f32.f16 %0, %1;}\n" : "=f"(f) : "h"(h)); return f; }
__device__ unsigned short narrow(float f) { unsigned short h; asm("{ cvt.rn.f16.f32 %0, %1;}\n" : "=h"(h) : "f"(f)); return h; }

extern "C" __global__ void axpy_half(unsigned short* y, const unsigned short* x, float a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = narrow(a * widen(x[i]) + widen(y[i]));
}

#if __CUDA_ARCH__ >= 530
extern "C" __global__ void fma_half2(unsigned* y, const unsigned* x, const unsigned* a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned r;
    asm("{ fma.rn.f16x2 %0, %1, %2, %3;\n}" : "=r"(r) : "r"(x[i]), "r"(a[i]), "r"(y[i]));
    asm("{ add.f16x2 %0, %1, %2;\n mul.f16x2 %0, %0, %2;\n sub.rn.f16x2 %0, %0, %2; neg.f16x2 %0, %0; }" : "+r"(r) : "r"(x[i]), "r"(a[i]));
    unsigned short low, high, both;
    asm("{.reg .f16 low,high;\n mov.b32 {low,high}, %2;\n mov.b16 %0, low;\n mov.b16 %1, high;}" : "=h"(low), "=h"(high) : "r"(r));
    asm("{ .reg .pred __$temp3;\n setp.gt.f16 __$temp3, %1, %2;\n selp.u16 %0, 1, 0, __$temp3;}" : "=h"(both) : "h"(low), "h"(high));
    y[i] = r + both;
}
#endif

#if __CUDA_ARCH__ >= 800
extern "C" __global__ void bfloat(unsigned short* y, const float* x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned short h; unsigned pair;
    asm("{ cvt.rn.bf16.f32 %0, %1;}\n" : "=h"(h) : "f"(x[i]));
    asm("{ cvt.rn.bf16x2.f32 %0, %1, %2;}\n" : "=r"(pair) : "f"(x[i]), "f"(x[n - 1 - i]));
    asm("{ fma.rn.bf16x2 %0, %0, %0, %0;\n max.bf16x2 %0, %0, %0;\n}" : "+r"(pair));
    y[i] = h + pair;
}
#endif
