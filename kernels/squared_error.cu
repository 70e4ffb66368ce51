// losses[i] = ½·Σ_c (z − y)², where z and y are [batch, classes] and losses is [batch].
// One thread for each sample.
extern "C" __global__ void squared_error(const float *z, const float *y, float *losses,
                                         size_t batch, size_t classes)
{
    size_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= batch)
        return;
    float sum = 0.0f;
    for (size_t c = 0; c < classes; ++c) {
        float difference = z[i * classes + c] - y[i * classes + c];
        sum += 0.5f * difference * difference;
    }
    losses[i] = sum;
}
