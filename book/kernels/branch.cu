// out[i] = bit ? i + 100 : i * 2, where bit is one of the bits of i.
extern "C" __global__ void branch(unsigned bit, unsigned *out)
{
    unsigned i = threadIdx.x;
    if (i & bit)
        out[i] = i + 100;
    else
        out[i] = i * 2;
}
