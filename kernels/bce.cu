// losses[i] = −Σ_c (y·ln p + (1−y)·ln(1−p)) with p = sigmoid(z), where z and y are
// [batch, classes] and losses is [batch]. One thread for each sample.
//
// From the logits: a term equals max(z, 0) − z·y + ln(1 + exp(−|z|)), in which nothing overflows.
extern "C" __global__ void bce(const float *z, const float *y, float *losses,
                               size_t batch, size_t classes)
{
    size_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= batch)
        return;
    float sum = 0.0f;
    for (size_t c = 0; c < classes; ++c) {
        float logit = z[i * classes + c];
        float positive = logit < 0.0f ? 0.0f : logit;
        sum += positive - logit * y[i * classes + c] + log1pf(expf(-fabsf(logit)));
    }
    losses[i] = sum;
}
