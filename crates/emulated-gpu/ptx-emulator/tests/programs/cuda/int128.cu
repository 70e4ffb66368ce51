// 128-bit arithmetic, whose division NVIDIA's compiler expands to instructions with carries.
extern "C" __global__ void k(unsigned __int128* out, const unsigned __int128* in)
{
    unsigned t = threadIdx.x;
    unsigned __int128 a = in[2 * t], b = in[2 * t + 1];
    __int128 c = (__int128)a, d = (__int128)b;
    out += 8 * t;
    out[0] = a / b;
    out[1] = a % b;
    out[2] = (unsigned __int128)(c / d);
    out[3] = (unsigned __int128)(c % d);
    out[4] = a * b;
    out[5] = a - b;
    out[6] = (a + b) ^ (a >> (unsigned)(b & 127)) ^ (a << (unsigned)(b & 63));
    out[7] = ((unsigned __int128)(a < b) << 64 | (unsigned)(c < d)) + (unsigned long long)(double)(unsigned long long)a;
}
