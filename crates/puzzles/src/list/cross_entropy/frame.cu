// losses[i] = -ln softmax(z[i])[labels[i]], where z is [batch, classes]. A thread for each sample.
__global__ void cross_entropy(unsigned batch, unsigned classes, const float *z,
                              const unsigned *labels, float *losses)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= batch)
        return;
    const float *row = z + i * classes;
    // Your turn.
}
