// Tiles of a warp (cooperative groups): sums, scans, votes and matches of each size.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

template <int N> __device__ void tile(unsigned* out, unsigned x)
{
    cg::thread_block_tile<N> own = cg::tiled_partition<N>(cg::this_thread_block());
    unsigned sum = x;
    for (int step = N / 2; step > 0; step /= 2) sum += own.shfl_xor(sum, step);
    out[0] = sum;
    out[1] = own.shfl_down(x, 1);
    out[2] = own.shfl(x, 1);
    out[3] = own.ballot(x & 1);
    out[4] = own.any(x % 16 == 3) + 2 * own.all(x % 16 < 15);
    out[5] = own.match_any(x & 3);
    out[6] = cg::reduce(own, x, cg::greater<unsigned>());
    out[7] = cg::inclusive_scan(own, x);
    own.sync();
}

// out[(thread * 5 + index of the size) * 8 + index of the result], from one word for each thread.
extern "C" __global__ void k(unsigned* out, const unsigned* in)
{
    unsigned t = threadIdx.x, x = in[t];
    out += t * 40;
    tile<2>(out, x);
    tile<4>(out + 8, x);
    tile<8>(out + 16, x);
    tile<16>(out + 24, x);
    tile<32>(out + 32, x);
}
