// to[i] = from[first + i * step]
extern "C" __global__ void stride(unsigned n, unsigned first, unsigned step,
                                  const float *from, float *to)
{
    unsigned i = threadIdx.x;
    if (i < n)
        to[i] = from[first + i * step];
}
