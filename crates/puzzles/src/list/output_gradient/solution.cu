// dz = (p - y) / batch, where p, y and dz are [batch, classes].
__global__ void output_gradient(unsigned batch, unsigned classes, const float *p,
                                const float *y, float *dz)
{
    unsigned c = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= batch || c >= classes)
        return;
    dz[i * classes + c] = (p[i * classes + c] - y[i * classes + c]) / (float)batch;
}
