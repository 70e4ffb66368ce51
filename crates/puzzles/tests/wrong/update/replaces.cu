// wrong: only the step
// w[i] -= rate dw[i] for i < n.
__global__ void update(unsigned n, float rate, const float *dw, float *w)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    w[i] = -rate * dw[i];
}
