// c[i, j] = the sum of a[i, t] b[j, t] over t, where a is [m, k], b is [n, k] and c is [m, n].
// One thread for each element of c.
__global__ void product(unsigned m, unsigned n, unsigned k, const float *a, const float *b, float *c)
{
    // Your turn.
}
