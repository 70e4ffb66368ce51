// printf from lanes that are not adjacent, and assert.
extern "C" __global__ void k(unsigned* out, const unsigned* in)
{
    unsigned t = threadIdx.x;
    if (t % 16 == 3) out[t] = printf("%u of %s: %5.2f %c %lld\n", t, "block", in[t] / 8.0, 'a' + t % 26, -(long long)in[t]);
    else out[t] = in[t] + 1;
}
