// dz = da where z > 0, and 0 elsewhere: the slope of ReLU is 1 or 0, and 0 at the kink.
// One thread for each of the elements.
extern "C" __global__ void relu_backward(const float *da, const float *z, float *dz,
                                         size_t elements)
{
    size_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= elements)
        return;
    dz[i] = z[i] > 0.0f ? da[i] : 0.0f;
}
