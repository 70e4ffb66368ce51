// Layers of neural networks, forwards, backwards and their optimisers.

// launch relu <<<2, 32>>> f32[64]=drawn s32=60
extern "C" __global__ void relu(float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = x[i] > 0.0f ? x[i] : 0.0f;
}

// launch relu_grad <<<1, 64>>> f32[64]=drawn f32[64]=drawn
extern "C" __global__ void relu_grad(const float *z, float *d) { d[threadIdx.x] *= z[threadIdx.x] > 0; }

// launch leaky <<<1, 64>>> f32[64]=drawn f32=0.01
extern "C" __global__ void leaky(float *x, float slope) {
    float &v = x[threadIdx.x];
    if (v < 0) v *= slope;
}

// launch sigmoid within 4 <<<1, 64>>> f32[64]=drawn
extern "C" __global__ void sigmoid(float *x) { x[threadIdx.x] = 1.0f / (1.0f + expf(-x[threadIdx.x])); }

// launch tanh_layer within 4 <<<1, 64>>> f32[64]=drawn
extern "C" __global__ void tanh_layer(float *x) { x[threadIdx.x] = tanhf(x[threadIdx.x]); }

// launch gelu within 8 <<<1, 64>>> f32[64]=drawn
extern "C" __global__ void gelu(float *x) {
    float v = x[threadIdx.x];
    x[threadIdx.x] = 0.5f * v * (1.0f + erff(v * 0.70710678f));
}

// launch softmax_rows within 4 <<<1, 8>>> f32[80]=drawn f32[80]=zero s32=8 s32=10
extern "C" __global__ void softmax_rows(const float *z, float *p, int rows, int n) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float largest = -3.402823e38f, sum = 0.f;
    for (int j = 0; j < n; j++) largest = fmaxf(largest, z[r * n + j]);
    for (int j = 0; j < n; j++) sum += expf(z[r * n + j] - largest);
    for (int j = 0; j < n; j++) p[r * n + j] = expf(z[r * n + j] - largest) / sum;
}

// launch softmax_warp within 4 <<<4, 32>>> f32[128]=drawn
extern "C" __global__ void softmax_warp(float *x) {
    float v = x[blockIdx.x * 32 + threadIdx.x], m = v;
    for (int d = 16; d; d >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, d));
    float e = __expf(v - m), s = e;
    for (int d = 16; d; d >>= 1) s += __shfl_xor_sync(~0u, s, d);
    x[blockIdx.x * 32 + threadIdx.x] = e / s;
}

// launch cross_entropy within 8 <<<1, 8>>> f32[80]=0.1 s32[8]=iota f32[8]=zero
extern "C" __global__ void cross_entropy(const float *p, const int *label, float *loss) {
    loss[threadIdx.x] = -logf(p[threadIdx.x * 10 + label[threadIdx.x]]);
}

// launch mse_grad <<<1, 64>>> f32[64]=drawn f32[64]=drawn f32[64]=zero s32=64
extern "C" __global__ void mse_grad(const float *p, const float *y, float *d, int n) {
    int i = threadIdx.x;
    d[i] = 2.0f * (p[i] - y[i]) / n;
}

// launch layernorm within 8 <<<4, 32>>> f32[128]=drawn f32[32]=drawn f32[32]=drawn f32[128]=zero
extern "C" __global__ void layernorm(const float *x, const float *gamma, const float *beta, float *y) {
    const float *row = x + blockIdx.x * 32;
    float v = row[threadIdx.x], mean = v;
    for (int d = 16; d; d >>= 1) mean += __shfl_xor_sync(0xffffffff, mean, d);
    mean /= 32;
    float var = (v - mean) * (v - mean);
    for (int d = 16; d; d >>= 1) var += __shfl_xor_sync(0xffffffff, var, d);
    float s = rsqrtf(var / 32 + 1e-5f);
    y[blockIdx.x * 32 + threadIdx.x] = (v - mean) * s * gamma[threadIdx.x] + beta[threadIdx.x];
}

// launch batchnorm_stats <<<1, 8>>> f32[128]=drawn f32[8]=zero f32[8]=zero
extern "C" __global__ void batchnorm_stats(const float *x, float *mean, float *var) {
    float m = 0, m2 = 0;
    for (int i = 0; i < 16; i++) {
        float v = x[i * 8 + threadIdx.x], d = v - m;
        m += d / (i + 1);
        m2 += d * (v - m);
    }
    mean[threadIdx.x] = m;
    var[threadIdx.x] = m2 / 16;
}

// launch sgd <<<1, 64>>> f32[64]=drawn f32[64]=drawn f32[64]=zero f32=0.1 f32=0.9
extern "C" __global__ void sgd(float *w, const float *g, float *v, float lr, float momentum) {
    int i = threadIdx.x;
    v[i] = momentum * v[i] + g[i];
    w[i] -= lr * v[i];
}

// launch adam within 4 <<<1, 64>>> f32[64]=drawn f32[64]=drawn f32[64]=zero f32[64]=zero s32=3
extern "C" __global__ void adam(float *w, const float *g, float *m, float *v, int t) {
    const float b1 = 0.9f, b2 = 0.999f, eps = 1e-8f, lr = 1e-3f;
    int i = threadIdx.x;
    m[i] = b1 * m[i] + (1 - b1) * g[i];
    v[i] = b2 * v[i] + (1 - b2) * g[i] * g[i];
    float c1 = 1, c2 = 1;
    for (int k = 0; k < t; k++) c1 *= b1, c2 *= b2;
    w[i] -= lr * (m[i] / (1 - c1)) / (sqrtf(v[i] / (1 - c2)) + eps);
}

// launch dropout <<<1, 64>>> f32[64]=drawn u32=77 f32=0.5
extern "C" __global__ void dropout(float *x, unsigned seed, float rate) {
    unsigned s = seed + threadIdx.x * 747796405u;
    s = ((s >> ((s >> 28) + 4)) ^ s) * 277803737u;
    s = (s >> 22) ^ s;
    float u = s * 2.3283064365386963e-10f;
    x[threadIdx.x] = u < rate ? 0.0f : x[threadIdx.x] / (1.0f - rate);
}

// launch linear <<<1, (10,4)>>> f32[80]=drawn f32[200]=drawn f32[10]=drawn f32[40]=zero s32=20
extern "C" __global__ void linear(const float *x, const float *w, const float *b, float *z, int n) {
    int o = threadIdx.x, s = threadIdx.y;
    float acc = b[o];
    for (int k = 0; k < n; k++) acc += x[s * n + k] * w[o * n + k];
    z[s * blockDim.x + o] = acc;
}

// launch linear_dw <<<1, (8,4)>>> f32[24]=drawn f32[48]=drawn f32[32]=zero s32=6
extern "C" __global__ void linear_dw(const float *dz, const float *x, float *dw, int batch) {
    int i = threadIdx.x, o = threadIdx.y;
    float sum = 0;
    for (int s = 0; s < batch; s++) sum += dz[s * 4 + o] * x[s * 8 + i];
    dw[o * 8 + i] = sum;
}

// launch bias_grad <<<1, 10>>> f32[60]=drawn f32[10]=zero s32=6
extern "C" __global__ void bias_grad(const float *dz, float *db, int batch) {
    float s = 0;
    for (int i = 0; i < batch; ++i) s += dz[i * blockDim.x + threadIdx.x];
    db[threadIdx.x] = s;
}

// launch one_hot <<<1, 16>>> s32[16]=iota f32[160]=zero
extern "C" __global__ void one_hot(const int *labels, float *y) {
    for (int c = 0; c < 10; c++) y[threadIdx.x * 10 + c] = c == labels[threadIdx.x] % 10;
}

// launch embedding <<<4, 8>>> s32[4]=iota f32[64]=drawn f32[32]=zero
extern "C" __global__ void embedding(const int *tokens, const float *table, float *out) {
    out[blockIdx.x * blockDim.x + threadIdx.x] = table[tokens[blockIdx.x] * blockDim.x + threadIdx.x];
}

// launch attention within 8 <<<1, 8>>> f32[32]=drawn f32[32]=drawn f32[32]=drawn f32[32]=zero
extern "C" __global__ void attention(const float *q, const float *k, const float *v, float *out) {
    const int T = 8, D = 4;
    int t = threadIdx.x;
    float score[T], top = -1e30f, sum = 0;
    for (int j = 0; j <= t; j++) {
        float s = 0;
        for (int d = 0; d < D; d++) s += q[t * D + d] * k[j * D + d];
        score[j] = s * 0.5f;
        top = max(top, score[j]);
    }
    for (int j = 0; j <= t; j++) sum += score[j] = expf(score[j] - top);
    for (int d = 0; d < D; d++) {
        float s = 0;
        for (int j = 0; j <= t; j++) s += score[j] / sum * v[j * D + d];
        out[t * D + d] = s;
    }
}

// launch clip_by_norm within 4 <<<1, 32>>> f32[32]=drawn f32=1
extern "C" __global__ void clip_by_norm(float *g, float limit) {
    float s = g[threadIdx.x] * g[threadIdx.x];
    for (int d = 16; d; d >>= 1) s += __shfl_xor_sync(~0u, s, d);
    float norm = sqrtf(s);
    if (norm > limit) g[threadIdx.x] *= limit / norm;
}

// launch accuracy <<<1, 16>>> f32[160]=drawn s32[16]=iota s32[1]=zero
extern "C" __global__ void accuracy(const float *p, const int *y, int *right) {
    int best = 0;
    for (int c = 1; c < 10; c++)
        if (p[threadIdx.x * 10 + c] > p[threadIdx.x * 10 + best]) best = c;
    if (best == y[threadIdx.x] % 10) atomicAdd(right, 1);
}

// launch maxpool_back <<<1, 8>>> f32[16]=drawn f32[8]=drawn f32[16]=zero
extern "C" __global__ void maxpool_back(const float *x, const float *dy, float *dx) {
    int i = threadIdx.x, which = x[2 * i] >= x[2 * i + 1] ? 0 : 1;
    dx[2 * i + which] = dy[i];
}

// launch rope within 64 <<<1, 16>>> f32[32]=drawn
extern "C" __global__ void rope(float2 *x) {
    float angle = threadIdx.x * 0.1f, s, c;
    sincosf(angle, &s, &c);
    float2 v = x[threadIdx.x];
    x[threadIdx.x] = make_float2(v.x * c - v.y * s, v.x * s + v.y * c);
}
