// dz = (p − y) / batch, the gradient at the last layer, the same for every loss here; all three
// are [batch, classes]. One thread for each of their elements.
extern "C" __global__ void output_gradient(const float *p, const float *y, float *dz,
                                           size_t batch, size_t classes)
{
    size_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= batch * classes)
        return;
    dz[i] = (p[i] - y[i]) / (float)batch;
}
