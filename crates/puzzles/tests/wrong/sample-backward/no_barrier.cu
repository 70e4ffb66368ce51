// stopped: Between the write and the read
// The gradients of one sample: db2 = dz2 = p - y, dw2 = dz2 a1ᵀ, db1 = dz1 = w2ᵀ dz2 where z1 > 0,
// dw1 = dz1 xᵀ. One block of 64 threads; w2 and dw2 are [c, h], dw1 is [h, m]; c and h are at most 64.
__global__ void sample_backward(unsigned m, unsigned h, unsigned c, unsigned label, const float *x,
                                const float *z1, const float *a1, const float *p, const float *w2,
                                float *db2, float *dw2, float *db1, float *dw1)
{
    __shared__ float dz2[64], dz1[64];
    for (unsigned k = threadIdx.x; k < c; k += 64) {
        dz2[k] = p[k] - (k == label ? 1.0f : 0.0f);
        db2[k] = dz2[k];
    }

    for (unsigned at = threadIdx.x; at < c * h; at += 64)
        dw2[at] = dz2[at / h] * a1[at % h];
    for (unsigned j = threadIdx.x; j < h; j += 64) {
        float da = 0.0f;
        for (unsigned k = 0; k < c; ++k)
            da += dz2[k] * w2[k * h + j];
        dz1[j] = z1[j] > 0.0f ? da : 0.0f;
        db1[j] = dz1[j];
    }
    __syncthreads();

    for (unsigned at = threadIdx.x; at < h * m; at += 64)
        dw1[at] = dz1[at / m] * x[at % m];
}
