// p[i, j] = exp(z[i, j]) / Σ_c exp(z[i, c]), where z and p are [batch, classes].
// One thread for each element of p: x is its column, y its row. Each computes the sum over its whole
// row, once for each class, so that no thread has to wait for another.
extern "C" __global__ void softmax(const float *z, float *p, size_t batch, size_t classes)
{
    size_t j = blockIdx.x * blockDim.x + threadIdx.x;
    size_t i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= batch || j >= classes)
        return;
    const float *row = z + i * classes;
    // The largest z of the row is subtracted first. That changes nothing, since it cancels, and
    // keeps exp from overflowing.
    float largest = row[0];
    for (size_t c = 1; c < classes; ++c)
        largest = fmaxf(largest, row[c]);
    float sum = 0.0f;
    for (size_t c = 0; c < classes; ++c)
        sum += expf(row[c] - largest);
    p[i * classes + j] = expf(row[j] - largest) / sum;
}
