// c[i, j] = the sum of a[i, t] b[j, t] over t, where a is [m, k], b is [n, k] and c is [m, n].
// By one thread.
__global__ void product(unsigned m, unsigned n, unsigned k, const float *a, const float *b, float *c)
{
    // Your turn.
}
