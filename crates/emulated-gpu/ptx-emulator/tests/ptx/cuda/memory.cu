// Memory spaces: constant tables, global variables with initial values, local arrays, dynamic
// shared memory, vectors, volatile, and blocks that wait for each other.
__constant__ float table[16] = { 1.0f, 2.5f, -3.0f };
__constant__ int numbers[] = { 1, 2, 3, -4 };
__device__ int grid[3][2] = { { 1, 2 }, { 3 } };
__device__ double scale = 0.5;
__device__ int* pointer = &grid[1][0];
__device__ const char* text = "text";
__device__ volatile unsigned arrived;
struct __align__(16) Cell { char c; short s; int i; long long l; };
__device__ Cell cells[2] = { { 'a', 2, 3, 4 } };
extern __shared__ float4 dynamic[];

extern "C" __global__ void spaces(float* out, const float4* in, int n, unsigned char* bytes, short* words)
{
    int t = threadIdx.x;
    int local[32];
    for (int i = 0; i < 32; ++i) local[i] = i * n;
    dynamic[t] = in[t];
    __syncthreads();
    float4 v = dynamic[(t + 1) % blockDim.x];
    double2 w = ((const double2*)in)[t];
    ((float2*)out)[t] = make_float2(v.x + v.w, (float)(w.x * w.y * scale));
    out[t] = table[t & 15] + numbers[t & 3] + local[(t * 7) & 31] + grid[t % 3][t & 1] + *pointer + text[t & 3] + cells[t & 1].s + __ldg(&out[n]);
    bytes[t] = (unsigned char)words[t];
    words[t] = (short)(bytes[t + 1] * (signed char)bytes[t + 2]);
}

// A barrier of a cooperative launch: every block waits until all have arrived.
extern "C" __global__ void together(int* out, unsigned blocks)
{
    out[blockIdx.x] = blockIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd((unsigned*)&arrived, 1u);
        while (arrived < blocks) { }
        __threadfence();
    }
    __syncthreads();
    out[gridDim.x + blockIdx.x] = out[(blockIdx.x + 1) % gridDim.x];
}

#if __CUDA_ARCH__ >= 800
extern "C" __global__ void copies(float* out, const float* in)
{
    __shared__ float4 buffer[64];
    unsigned to = (unsigned)__cvta_generic_to_shared(&buffer[threadIdx.x]);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), "l"(in + threadIdx.x * 4));
    asm volatile("cp.async.commit_group;");
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    out[threadIdx.x] = buffer[63 - threadIdx.x].x;
}
#endif
