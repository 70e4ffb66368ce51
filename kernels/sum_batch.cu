// db[j] = Σ_i dz[i, j], where dz is [batch, n] and db is [n].
// One thread for each element of db.
extern "C" __global__ void sum_batch(const float *dz, float *db, size_t batch, size_t n)
{
    size_t j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= n)
        return;
    float sum = 0.0f;
    for (size_t i = 0; i < batch; ++i)
        sum += dz[i * n + j];
    db[j] = sum;
}
