// Tiles of several warps, which use the shared memory that is reserved for the system.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

// 3 words for each thread.
extern "C" __global__ void k(unsigned* out, const unsigned* in)
{
    __shared__ cg::block_tile_memory<128> memory;
    cg::thread_block block = cg::this_thread_block(memory);
    auto tile = cg::tiled_partition<64>(block);
    unsigned t = threadIdx.x, x = in[t];
    out += t * 3;
    out[0] = cg::reduce(tile, x, cg::plus<unsigned>());
    out[1] = tile.shfl(x, tile.meta_group_rank() * 7 + 3);
    tile.sync();
    out[2] = tile.any(x % 64 == 5) * 2 + tile.all(x % 2 == 0);
}
