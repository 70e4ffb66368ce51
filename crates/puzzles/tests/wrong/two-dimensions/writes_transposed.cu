// wrong: right but transposed
// out[r, c] = 3 a[r, c], where a and out are [rows, columns].
__global__ void scale(unsigned rows, unsigned columns, const float *a, float *out)
{
    unsigned c = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r >= rows || c >= columns)
        return;
    out[c * rows + r] = 3.0f * a[r * columns + c];
}
