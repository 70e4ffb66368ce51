// wrong: This is the mean
// db[j] = the sum of dz[i, j] over the batch, where dz is [batch, n]. A thread for each unit.
__global__ void bias_gradient(unsigned batch, unsigned n, const float *dz, float *db)
{
    unsigned j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= n)
        return;
    float sum = 0.0f;
    for (unsigned i = 0; i < batch; ++i)
        sum += dz[i * n + j];
    db[j] = sum / batch;
}
