// wrong: not transposed
// out[c, r] = a[r, c], where a is [rows, columns]. Blocks have 32 by 32 threads.
__global__ void transpose(unsigned rows, unsigned columns, const float *a, float *out)
{
    unsigned c = blockIdx.x * 32 + threadIdx.x;
    unsigned r = blockIdx.y * 32 + threadIdx.y;
    if (r < rows && c < columns)
        out[r * columns + c] = a[r * columns + c];     // right, and slow
}
