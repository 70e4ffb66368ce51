// wrong: each thread has to do more than one element
// out[i] = x[i] x[i] for i < n, by however many threads there are.
__global__ void square(unsigned n, const float *x, float *out)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)              // once is not enough
        out[i] = x[i] * x[i];
}
