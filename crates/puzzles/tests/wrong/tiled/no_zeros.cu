// stopped: has not been checked
// c[i, j] = the sum of a[i, t] b[j, t] over t, where a is [m, k], b is [n, k] and c is [m, n].
// Blocks have 8 by 8 threads.
__global__ void product(unsigned m, unsigned n, unsigned k, const float *a, const float *b, float *c)
{
    __shared__ float tile_a[8][9], tile_b[8][9];
    unsigned x = threadIdx.x, y = threadIdx.y;
    unsigned i = blockIdx.y * 8 + y;            // my row of a and of c
    unsigned j = blockIdx.x * 8 + x;            // my column of c
    unsigned row = blockIdx.x * 8 + y;          // the row of b that I fetch from
    float sum = 0.0f;
    for (unsigned first = 0; first < k; first += 8) {
        unsigned t = first + x;
        tile_a[y][x] = a[i * k + t];
        tile_b[y][x] = row < n && t < k ? b[row * k + t] : 0.0f;
        __syncthreads();
        for (unsigned d = 0; d < 8; ++d)
            sum += tile_a[y][d] * tile_b[x][d];
        __syncthreads();
    }
    if (i < m && j < n)
        c[i * n + j] = sum;
}
