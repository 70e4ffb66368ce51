// dz = (p − y) / whole, the gradient at the last layer for a share of a larger batch: p, y and dz
// are [batch, classes], and the larger batch has `whole` samples. One thread for each element of
// dz.
extern "C" __global__ void output_gradient_of_share(const float *p, const float *y, float *dz,
                                                    size_t batch, size_t classes, size_t whole)
{
    size_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= batch * classes)
        return;
    dz[i] = (p[i] - y[i]) / (float)whole;
}
