// A training step of one sample by one thread: the forward pass and, if `gradients` is not null, the
// backward pass.
//
// sizes is [layers + 1]: n0 … nL. x is [batch, n0] and y is [batch, nL].
// parameters is [count]: w1 b1 … wL bL, one after the other. gradients is [batch, count], a row for
// each sample in the layout of the parameters; null to run only the forward pass.
// z, a and dz are [batch, n1] … [batch, nL], one after the other; the last a is p.
enum Loss { CROSS_ENTROPY, BCE, SQUARED_ERROR };

extern "C" __global__ void train_step(const size_t *sizes, size_t layers, unsigned loss,
                                      size_t batch, const float *x, const float *y,
                                      const float *parameters, size_t count,
                                      float *z, float *a, float *dz, float *gradients)
{
    size_t sample = blockIdx.x * blockDim.x + threadIdx.x;
    if (sample >= batch)
        return;
    size_t classes = sizes[layers];
    x += sample * sizes[0];
    y += sample * classes;

    const float *w = parameters;
    const float *a_prev = x;
    size_t before = 0; // The units of the layers before this one.
    float *p = a;
    for (size_t l = 1; l <= layers; ++l) {
        size_t m = sizes[l - 1], n = sizes[l];
        const float *b = w + n * m;
        float *z_l = z + batch * before + sample * n;
        float *a_l = a + batch * before + sample * n;
        for (size_t j = 0; j < n; ++j) {
            float sum = 0.0f;
            for (size_t i = 0; i < m; ++i)
                sum += w[j * m + i] * a_prev[i];
            z_l[j] = sum + b[j];
            if (l < layers)
                a_l[j] = z_l[j] < 0.0f ? 0.0f : z_l[j];
        }
        if (l == layers) {
            p = a_l;
            float largest = z_l[0], sum = 0.0f;
            for (size_t c = 1; c < classes; ++c)
                largest = fmaxf(largest, z_l[c]);
            for (size_t c = 0; c < classes; ++c)
                sum += expf(z_l[c] - largest);
            for (size_t c = 0; c < classes; ++c)
                p[c] = loss == CROSS_ENTROPY ? expf(z_l[c] - largest) / sum
                     : loss == BCE ? 1.0f / (1.0f + expf(-z_l[c]))
                                   : z_l[c];
        }
        before += n;
        a_prev = a_l;
        w = b + n;
    }
    if (!gradients)
        return;

    gradients += sample * count;
    before -= classes;
    for (size_t c = 0; c < classes; ++c)
        dz[batch * before + sample * classes + c] = (p[c] - y[c]) / (float)batch;
    for (size_t l = layers; l >= 1; --l) {
        size_t m = sizes[l - 1], n = sizes[l];
        count -= n * (m + 1); // Where the layer's parameters begin.
        w = parameters + count;
        float *dw = gradients + count, *db = dw + n * m;
        const float *dz_l = dz + batch * before + sample * n;
        if (l > 1)
            before -= m;
        a_prev = l > 1 ? a + batch * before + sample * m : x;
        for (size_t j = 0; j < n; ++j) {
            for (size_t i = 0; i < m; ++i)
                dw[j * m + i] = dz_l[j] * a_prev[i];
            db[j] = dz_l[j];
        }
        if (l == 1)
            continue;
        const float *z_prev = z + batch * before + sample * m;
        float *dz_prev = dz + batch * before + sample * m;
        for (size_t i = 0; i < m; ++i) {
            float da = 0.0f;
            for (size_t j = 0; j < n; ++j)
                da += dz_l[j] * w[j * m + i];
            dz_prev[i] = z_prev[i] > 0.0f ? da : 0.0f;
        }
    }
}
