// Copies of elements. One thread for each of them.

// Copies a view with four axes to contiguous memory: n are the lengths, s the strides.
extern "C" __global__ void copy_strided(const float *x, float *y, size_t n0, size_t n1, size_t n2,
                                        size_t n3, size_t s0, size_t s1, size_t s2, size_t s3)
{
    size_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n0 * n1 * n2 * n3)
        return;
    size_t i3 = i % n3, i2 = i / n3 % n2, i1 = i / n3 / n2 % n1, i0 = i / n3 / n2 / n1;
    y[i] = x[i0 * s0 + i1 * s1 + i2 * s2 + i3 * s3];
}

// Copies x, which is [outer, part, inner], into whole, which is [outer, length, inner], at index `start`
// of the middle axis.
extern "C" __global__ void place(const float *x, float *whole, size_t outer, size_t part,
                                 size_t inner, size_t start, size_t length)
{
    size_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= outer * part * inner)
        return;
    size_t k = i % inner, j = i / inner % part, o = i / inner / part;
    whole[(o * length + start + j) * inner + k] = x[i];
}
