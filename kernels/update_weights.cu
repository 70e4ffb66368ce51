// parameters -= learning_rate · Σ_i gradients[i], where parameters is [count] and gradients is
// [batch, count], a row for each sample. One thread for each of the parameters.
extern "C" __global__ void update_weights(float *parameters, const float *gradients,
                                          float learning_rate, size_t batch, size_t count)
{
    size_t j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= count)
        return;
    float sum = 0.0f;
    for (size_t i = 0; i < batch; ++i)
        sum += gradients[i * count + j];
    parameters[j] -= learning_rate * sum;
}
