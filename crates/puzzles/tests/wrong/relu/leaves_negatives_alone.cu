// wrong: zeros too
// a[i] = max(z[i], 0) for i < n.
__global__ void relu(unsigned n, const float *z, float *a)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    if (z[i] > 0.0f) a[i] = z[i];
}
