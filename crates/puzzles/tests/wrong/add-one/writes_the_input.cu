// wrong: x is an input
// out[i] = x[i] + 1, by thread i.
__global__ void add_one(const float *x, float *out)
{
    unsigned i = threadIdx.x;
    out[i] = x[i] + 1.0f;
    ((float *)x)[i] = 0.0f;
}
