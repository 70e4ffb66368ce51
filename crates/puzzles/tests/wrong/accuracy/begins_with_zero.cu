// wrong: begins with 0 is never exceeded
// *right += the number of samples whose largest logit is that of their label; z is [batch, classes].
__global__ void accuracy(unsigned batch, unsigned classes, const float *z, const unsigned *labels,
                         unsigned *right)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= batch)
        return;
    const float *row = z + i * classes;
    unsigned best = 0;
    float largest = 0.0f;
    for (unsigned c = 0; c < classes; ++c)
        if (row[c] > largest) {
            largest = row[c];
            best = c;
        }
    if (best == labels[i])
        atomicAdd(right, 1u);
}
