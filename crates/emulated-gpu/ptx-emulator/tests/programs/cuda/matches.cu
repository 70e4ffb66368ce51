// __match_any_sync and functions that are built on it: groups of lanes, each with a different mask.
extern "C" __global__ void k(unsigned* out, const unsigned* in)
{
    unsigned t = threadIdx.x, x = in[t];
    unsigned same = __match_any_sync(~0u, x % 7);
    out[t * 6] = same;
    // The lanes of each value reduce among themselves.
    unsigned sum = 0;
    for (unsigned left = same; left; left &= left - 1) sum += __shfl_sync(same, x, __ffs(left) - 1);
    out[t * 6 + 1] = sum;
    unsigned leader = __ffs(same) - 1, base = 0;
    if (t % 32 == leader) base = 1000 * __popc(same);
    out[t * 6 + 2] = __shfl_sync(same, base, leader) + __popc(same & ((1u << t % 32) - 1));
    out[t * 6 + 3] = __ballot_sync(same, x & 8) | __any_sync(same, x & 16) << 31;
    int all;
    out[t * 6 + 4] = __match_all_sync(same, x % 14, &all) ^ (unsigned)all << 30;
    __syncwarp(same);
    unsigned least = x;
#if __CUDA_ARCH__ >= 800
    least = __reduce_min_sync(same, x);
#else
    for (unsigned left = same; left; left &= left - 1) least = min(least, __shfl_sync(same, x, __ffs(left) - 1));
#endif
    out[t * 6 + 5] = least;
}
