// Groups that depend on the data: labelled and binary partitions, coalesced threads, an aggregated atomic.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

// As in NVIDIA's "CUDA Pro Tip: Optimized Filtering with Warp-Aggregated Atomics".
__device__ unsigned aggregated(unsigned* counter)
{
    cg::coalesced_group own = cg::coalesced_threads();
    unsigned previous;
    if (own.thread_rank() == 0) previous = atomicAdd(counter, own.size());
    return own.shfl(previous, 0) + own.thread_rank();
}

// out[0] is the count, out[1] and so on the numbers that were kept; then 5 words for each thread.
extern "C" __global__ void k(unsigned* out, const unsigned* in)
{
    unsigned t = threadIdx.x, n = blockDim.x, x = in[t];
    if (x % 3 == 0) out[1 + aggregated(out)] = x;
    out += 1 + n + t * 5;
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(cg::this_thread_block());
    cg::coalesced_group label = cg::labeled_partition(warp, x % 5);
    out[0] = cg::reduce(label, x, cg::plus<unsigned>());
    out[1] = label.size() * 100 + label.thread_rank();
    cg::coalesced_group half = cg::binary_partition(warp, x > 1u << 31);
    out[2] = cg::reduce(half, x, cg::less<unsigned>());
    out[3] = 0;
    if (x & 4) {
        cg::coalesced_group here = cg::coalesced_threads();
        out[3] = here.size() * 100 + here.thread_rank();
        out[3] += here.shfl(x, here.size() - 1) & 0xff0000;
        if (x & 8) out[3] += cg::coalesced_threads().size() << 24;
    }
    out[4] = half.ballot(x & 1);
}
