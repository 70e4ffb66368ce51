// wrong: parentheses
// dz = (p - y) / batch, where y[i, c] is 1 if c is labels[i] and 0 elsewhere.
__global__ void output_gradient(unsigned batch, unsigned classes, const float *p,
                                const unsigned *labels, float *dz)
{
    unsigned c = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= batch || c >= classes)
        return;
    float y = c == labels[i] ? 1.0f : 0.0f;
    dz[i * classes + c] = p[i * classes + c] - y / (float)batch;
}
