__constant__ unsigned weights[4] = {1, 10, 100, 1000};  // read-only, the same for all threads
__device__ unsigned launches = 0;                       // stays from one launch to the next

// out[i] = weights[i mod 4] * (31 - i); one access to each kind of memory.
extern "C" __global__ void spaces(unsigned *out)
{
    __shared__ unsigned box[32];                        // one for each block
    volatile unsigned note;                             // one for each thread
    unsigned i = threadIdx.x;
    box[i] = i;
    __syncthreads();
    note = weights[i % 4] * box[31 - i];
    atomicAdd(&launches, 1u);
    out[i] = note;
}
