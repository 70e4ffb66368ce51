// wrong: an integer was divided
// x[i] = (pixel[i] / 255 - 0.1307) / 0.3081 for i < n.
__global__ void normalise(unsigned n, const unsigned *pixel, float *x)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    x[i] = (pixel[i] / 255 - 0.1307f) / 0.3081f;
}
