// Reduces each row of x, which is [m, n], to one number. One warp for each of the rows: a block of 32
// threads, each of which takes every 32nd element; then the 32 results are combined.
extern "C" __global__ void sum_rows(const float *x, float *sums, size_t n)
{
    const float *row = x + blockIdx.x * n;
    float sum = 0.0f;
    for (size_t j = threadIdx.x; j < n; j += 32)
        sum += row[j];
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, distance);
    if (threadIdx.x == 0)
        sums[blockIdx.x] = sum;
}

// The larger of two numbers, or NaN if one of them is NaN, which fmaxf would hide.
__device__ float larger(float a, float b) { return b > a || b != b ? b : a; }

extern "C" __global__ void max_rows(const float *x, float *largest, size_t n)
{
    const float *row = x + blockIdx.x * n;
    // A lane without an element begins with the first one, which doesn't change the result.
    float found = row[0];
    for (size_t j = threadIdx.x; j < n; j += 32)
        found = larger(found, row[j]);
    for (int distance = 16; distance > 0; distance /= 2)
        found = larger(found, __shfl_down_sync(0xffffffff, found, distance));
    if (threadIdx.x == 0)
        largest[blockIdx.x] = found;
}

// whole[rows[i], j] += x[i, j], where x is [m, n]. One thread for each column, so that no two
// threads add to the same number, and a row that is listed twice is added in order.
extern "C" __global__ void add_rows(const float *x, const size_t *rows, float *whole, size_t m,
                                    size_t n)
{
    size_t j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= n)
        return;
    for (size_t i = 0; i < m; ++i)
        whole[rows[i] * n + j] += x[i * n + j];
}
