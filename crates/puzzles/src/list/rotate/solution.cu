// x[i] gets what x[i + 1] held; the last one gets what x[0] held. One block of n threads.
__global__ void rotate(unsigned n, float *x)
{
    unsigned i = threadIdx.x;
    float next = x[(i + 1) % n];
    __syncthreads();
    x[i] = next;
}
