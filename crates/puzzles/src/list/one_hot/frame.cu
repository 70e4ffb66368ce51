// y[i, c] = 1 where c is labels[i], and 0 elsewhere; y is [batch, classes]. One thread for each row.
__global__ void one_hot(unsigned batch, unsigned classes, const unsigned *labels, float *y)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= batch)
        return;
    y[i * classes + labels[i]] = 1.0f;  // is that all?
}
