// Inline PTX and built-in functions that must only run if the program runs them: they are in
// conditional code.
__device__ float load_nc(const float *p) { float v; asm("ld.global.nc.f32 %0, [%1];" : "=f"(v) : "l"(p)); return v; }
extern "C" __global__ void guard_if(const float *x, float *y, int n) {
    int i = threadIdx.x; float v = 0;
    if (i < n) v = load_nc(x + i);
    y[i] = v;
}
extern "C" __global__ void guard_ternary(const float *x, float *y, int n) { int i = threadIdx.x; y[i] = i < n ? load_nc(x + i) : 0.f; }
extern "C" __global__ void guard_null(const float *x, const float *bias, float *y) { int i = threadIdx.x; float b = 0; if (bias) b = load_nc(bias + i); y[i] = x[i] + b; }
extern "C" __global__ void guard_volatile(const float *x, float *y, int n) {
    int i = threadIdx.x; float v = 0;
    if (i < n) asm volatile("ld.global.f32 %0, [%1];" : "=f"(v) : "l"(x + i));
    y[i] = v;
}
extern "C" __global__ void two_sides(const float *x, const float *z, float *y, int n) {
    int i = threadIdx.x; float v;
    if (i < n) v = load_nc(x + i); else v = load_nc(z + i - n);
    y[i] = v;
}
extern "C" __global__ void div_zero(const int *x, int *y) { int i = threadIdx.x, q = -1; if (x[i] != 0) asm("div.s32 %0, %1, %2;" : "=r"(q) : "r"(100), "r"(x[i])); y[i] = q; }
extern "C" __global__ void shuffle_in_branch(int *y) { int l = threadIdx.x, r = 0; if (l < 16) asm("shfl.sync.idx.b32 %0, %1, 0, 31, 0xffff;" : "=r"(r) : "r"(l)); y[l] = r; }
extern "C" __global__ void active(unsigned *y) { unsigned m = 0; if (threadIdx.x < 10) asm("activemask.b32 %0;" : "=r"(m)); y[threadIdx.x] = m; }
extern "C" __global__ void atomic_in_branch(int *c, int *y, int n) { int r = 0; if (threadIdx.x < n) asm("atom.global.add.s32 %0, [%1], 1;" : "=r"(r) : "l"(c)); y[threadIdx.x] = r; }
extern "C" __global__ void early_return(const float *x, float *y, int n) { int i = threadIdx.x; if (i >= n) return; y[i] = load_nc(x + i); }
extern "C" __global__ void loop_zero(const float *x, float *y, int m) { float s = 0; for (int j = 0; j < m; j++) s += load_nc(x + 1000); y[threadIdx.x] = s; }
extern "C" __global__ void loop_guard(const float *x, float *y, int n) { float s = 0; for (int j = 0; j < 4; j++) { int i = threadIdx.x * 4 + j; if (i < n) s += load_nc(x + i); } y[threadIdx.x] = s; }
extern "C" __global__ void short_circuit(const float *x, float *y, int n) { int i = threadIdx.x; y[i] = (i < n && load_nc(x + i) > 0) ? 1 : 0; }
extern "C" __global__ void in_switch(const float *x, float *y, int n) { int i = threadIdx.x; float v = 0; switch (i < n) { case 1: v = load_nc(x + i); break; default: v = 3; } y[i] = v; }
extern "C" __global__ void break_loop(const float *x, float *y, int n) { int i = threadIdx.x; float v = 0; while (true) { if (i >= n) break; v += load_nc(x + i); i += 32; } y[threadIdx.x] = v; }
extern "C" __global__ void vector_load(const float4 *x, float4 *y, int n) { int i = threadIdx.x; float4 v = make_float4(0, 0, 0, 0); if (i < n) asm("ld.global.nc.v4.f32 {%0,%1,%2,%3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(x + i)); y[i] = v; }
extern "C" __global__ void store_asm(float *y, int n) { int i = threadIdx.x; if (i < n) asm("st.global.f32 [%0], %1;" :: "l"(y + i), "f"(5.f)); }
extern "C" __global__ void store_mem(float *y, int n) { int i = threadIdx.x, d = 0; if (i < n) asm("st.global.f32 [%1], %2; mov.u32 %0, 1;" : "=r"(d) : "l"(y + i), "f"(5.f) : "memory"); if (d > 5) y[0] = d; }
extern "C" __global__ void red_asm(int *c, int n) { if (threadIdx.x < n) asm("red.global.add.s32 [%0], 1;" :: "l"(c)); }
extern "C" __global__ void plain_load(const float *x, float *y, int n) { int i = threadIdx.x; float v = 0; if (i < n) v = x[i]; y[i] = v; }
extern "C" __global__ void ldg_load(const float *x, float *y, int n) { int i = threadIdx.x; float v = 0; if (i < n) v = __ldg(x + i); y[i] = v; }
extern "C" __global__ void trap_asm(int *y, int n) { int r = 0; if (threadIdx.x < n) asm("{ trap; mov.u32 %0, 1; }" : "=r"(r)); y[threadIdx.x] = r; }
extern "C" __global__ void lane_counter(unsigned *y) { unsigned r = 7; if (threadIdx.x & 1) asm("vote.sync.ballot.b32 %0, 1, 0xaaaaaaaa;" : "=r"(r)); y[threadIdx.x] = r; }
extern "C" __global__ void predicated(int *c, int *y) { int t = threadIdx.x, r = -1; if (t == 3) asm("atom.global.exch.b32 %0, [%1], %2;" : "=r"(r) : "l"(c), "r"(t)); y[t] = r; }
extern "C" __global__ void vol(const volatile float *x, float *y, int n) { int i = threadIdx.x; float v = 0; if (i < n) v = x[i]; y[i] = v; }
extern "C" __global__ void div0(const int *x, int *y) { int i = threadIdx.x, q = -1; if (x[i] != 0) q = 100 / x[i]; y[i] = q; }
extern "C" __global__ void sh(const float *x, float *y, int n) { __shared__ float s[16]; int i = threadIdx.x; if (i < 16) s[i] = x[i]; __syncthreads(); float v = 0; if (i < 16) v = s[i]; y[i] = v; }
extern "C" __global__ void nullp(const float *x, const float *b, float *y) { int i = threadIdx.x; y[i] = x[i] + (b ? b[i] : 0.f); }
extern "C" __global__ void atom(int *c, int *y, int n) { int r = 0; if (threadIdx.x < n) r = atomicAdd(c, 1); y[threadIdx.x] = r; }
extern "C" __global__ void shf(int *y) { int l = threadIdx.x, r = 0; if (l < 16) r = __shfl_sync(0xffff, l, 0); y[l] = r; }
extern "C" __global__ void asm_twice(const float *x, float *y) { __shared__ float s[32]; s[threadIdx.x] = 1; __syncthreads(); unsigned p = 0; float a, b; asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }" : "=r"(p) : "l"(&s[31 - threadIdx.x])); asm volatile("ld.shared.f32 %0, [%1];" : "=f"(a) : "r"(p)); __syncthreads(); s[threadIdx.x] = 2; __syncthreads(); asm volatile("ld.shared.f32 %0, [%1];" : "=f"(b) : "r"(p)); y[threadIdx.x] = a + 10 * b; }
extern "C" __global__ void merge2(unsigned *y) { int t = threadIdx.x; unsigned a, b = 5; asm("activemask.b32 %0;" : "=r"(a)); if (t < 10) asm("activemask.b32 %0;" : "=r"(b)); y[t] = a * 3 + b; }
extern "C" __global__ void unrolled(unsigned *y) { int t = threadIdx.x; unsigned s = 0; 
#pragma unroll
 for (int j = 0; j < 4; j++) if (t > j * 3) { unsigned m; asm("activemask.b32 %0;" : "=r"(m)); s += m; } y[t] = s; }
extern "C" __global__ void whileasm(unsigned *y) { int t = threadIdx.x, i = 0; unsigned r = 0; while (i < t) { asm("match.any.sync.b32 %0, %1, 0xffffffff;" : "=r"(r) : "r"(1)); break; } y[t] = r; }
extern "C" __global__ void invariant(const int *p, int *y, int n) { int t = threadIdx.x, s = 0; for (int j = t; j < n; j += 8) { int v; asm("ld.global.nc.s32 %0, [%1];" : "=r"(v) : "l"(p + 3)); s += v; } y[t] = s; }
extern "C" __global__ void andor(const int *p, int *y, int n) { int t = threadIdx.x; int v = 0; bool b = t < n; if (b || t == 31) { asm("ld.global.nc.s32 %0, [%1];" : "=r"(v) : "l"(p + (t & 3))); } y[t] = v; }
