// wrong: no thread has written to it
// out[i] = x[i] + 1, by thread i.
__global__ void add_one(const float *x, float *out)
{
    unsigned i = threadIdx.x;
    float y = x[i] + 1.0f; if (y == 1234.0f) out[i] = y;
}
