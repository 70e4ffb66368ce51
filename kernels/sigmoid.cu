// p = 1 / (1 + exp(−z)), element by element. One thread for each of the elements.
extern "C" __global__ void sigmoid(const float *z, float *p, size_t elements)
{
    size_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= elements)
        return;
    p[i] = 1.0f / (1.0f + expf(-z[i]));
}
