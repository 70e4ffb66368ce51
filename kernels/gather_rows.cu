// gathered[i, j] = table[rows[i], j], where table is [N, n], rows is [m] and gathered is [m, n].
// One thread for each element of gathered: x is its column, y its row.
extern "C" __global__ void gather_rows(const float *table, const size_t *rows, float *gathered,
                                       size_t m, size_t n)
{
    size_t j = blockIdx.x * blockDim.x + threadIdx.x;
    size_t i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= m || j >= n)
        return;
    gathered[i * n + j] = table[rows[i] * n + j];
}
