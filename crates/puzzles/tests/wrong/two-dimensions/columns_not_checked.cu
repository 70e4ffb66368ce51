// stopped: has not been checked
// out[r, c] = 3 a[r, c], where a and out are [rows, columns].
__global__ void scale(unsigned rows, unsigned columns, const float *a, float *out)
{
    unsigned c = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r * columns + c >= rows * columns + 7)
        return;
    out[r * columns + c] = 3.0f * a[r * columns + c];
}
