// w[i] -= rate dw[i] for i < n.
__global__ void update(unsigned n, float rate, const float *dw, float *w)
{
    // Your turn.
}
