// Softmax of each row, a warp for each, with shuffles; and the losses that go with it.
extern "C" __global__ void softmax(float* p, const float* z, int rows, int columns)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (row >= rows) return;
    float most = -3.402823466e38f;
    for (int i = lane; i < columns; i += 32) most = fmaxf(most, z[row * columns + i]);
    for (int step = 16; step > 0; step /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, step));
    float sum = 0.0f;
    for (int i = lane; i < columns; i += 32) sum += expf(z[row * columns + i] - most);
    for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
    sum = __shfl_sync(0xffffffffu, sum, 0);
    for (int i = lane; i < columns; i += 32) p[row * columns + i] = expf(z[row * columns + i] - most) / sum;
}

extern "C" __global__ void special_functions(float* y, double* yd, const float* x, const double* xd, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    y[i] = sinf(v) + cosf(v) * tanhf(v) + logf(v) + sqrtf(v) + rsqrtf(v) + powf(v, 1.5f) + floorf(v) + rintf(v) + erff(v) + __expf(v) + fmodf(v, 3.0f);
    double w = xd[i];
    yd[i] = sin(w) + exp(w) / sqrt(w) + log(w) + floor(w) + pow(w, 0.3) + (double)(long long)w + (double)(unsigned)v;
}
