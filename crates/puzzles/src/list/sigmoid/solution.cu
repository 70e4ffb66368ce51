// p[i] = 1 / (1 + exp(-z[i])) for i < n.
__global__ void sigmoid(unsigned n, const float *z, float *p)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    p[i] = 1.0f / (1.0f + expf(-z[i]));
}
