// losses[i] = −Σ_c y[i, c]·ln softmax(z)[i, c], where z and y are [batch, classes] and losses is
// [batch]. One thread for each sample.
//
// From the logits: the logarithm of the softmax is z − ln Σ exp z, so no logarithm is taken of a
// probability that has underflowed to 0.
extern "C" __global__ void cross_entropy(const float *z, const float *y, float *losses,
                                         size_t batch, size_t classes)
{
    size_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= batch)
        return;
    const float *row = z + i * classes;
    float largest = row[0];
    for (size_t c = 1; c < classes; ++c)
        largest = fmaxf(largest, row[c]);
    float exponentials = 0.0f;
    for (size_t c = 0; c < classes; ++c)
        exponentials += expf(row[c] - largest);
    float log_sum = largest + logf(exponentials);
    float sum = 0.0f;
    for (size_t c = 0; c < classes; ++c)
        sum += y[i * classes + c] * (log_sum - row[c]);
    losses[i] = sum;
}
