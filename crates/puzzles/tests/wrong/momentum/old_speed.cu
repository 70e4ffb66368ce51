// wrong: with the old v
// v[i] = decay v[i] + dw[i], then w[i] -= rate v[i], for i < n.
__global__ void momentum(unsigned n, float rate, float decay, const float *dw, float *v, float *w)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float speed = decay * v[i] + dw[i];
    w[i] -= rate * v[i];
    v[i] = speed;
}
