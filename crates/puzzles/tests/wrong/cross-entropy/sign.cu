// wrong: The sign is wrong
// losses[i] = -ln softmax(z[i])[labels[i]], where z is [batch, classes]. A thread for each sample.
__global__ void cross_entropy(unsigned batch, unsigned classes, const float *z,
                              const unsigned *labels, float *losses)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= batch)
        return;
    const float *row = z + i * classes;
    float largest = row[0];
    for (unsigned c = 1; c < classes; ++c)
        largest = fmaxf(largest, row[c]);
    float sum = 0.0f;
    for (unsigned c = 0; c < classes; ++c)
        sum += expf(row[c] - largest);
    losses[i] = row[labels[i]] - largest - logf(sum);
}
