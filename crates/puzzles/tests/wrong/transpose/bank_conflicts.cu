// costly: in a single bank
// out[c, r] = a[r, c], where a is [rows, columns]. Blocks have 32 by 32 threads.
__global__ void transpose(unsigned rows, unsigned columns, const float *a, float *out)
{
    __shared__ float tile[32][32];      // 33: the elements of a column are in 32 banks
    unsigned c = blockIdx.x * 32 + threadIdx.x;
    unsigned r = blockIdx.y * 32 + threadIdx.y;
    if (r < rows && c < columns)
        tile[threadIdx.y][threadIdx.x] = a[r * columns + c];
    __syncthreads();

    // The block of `out` that this tile belongs to, with x along its rows again.
    c = blockIdx.x * 32 + threadIdx.y;
    r = blockIdx.y * 32 + threadIdx.x;
    if (r < rows && c < columns)
        out[c * rows + r] = tile[threadIdx.x][threadIdx.y];
}
