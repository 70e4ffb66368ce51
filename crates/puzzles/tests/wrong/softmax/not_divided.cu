// wrong: divided by their sum
// p[i, c] = exp(z[i, c]) / the sum of exp(z[i, …]), where z and p are [rows, classes].
// A warp for each row: block i, 32 threads.
__global__ void softmax(unsigned classes, const float *z, float *p)
{
    const float *row = z + blockIdx.x * classes;
    float *result = p + blockIdx.x * classes;

    float largest = row[0];
    for (unsigned c = threadIdx.x; c < classes; c += 32)
        largest = fmaxf(largest, row[c]);
    for (int distance = 16; distance > 0; distance /= 2)
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, distance));

    float sum = 0.0f;
    for (unsigned c = threadIdx.x; c < classes; c += 32)
        sum += expf(row[c] - largest);
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, distance);

    for (unsigned c = threadIdx.x; c < classes; c += 32)
        result[c] = expf(row[c] - largest);
}
