// CUB's collectives, on parts of a warp, warps and blocks.
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>

constexpr int THREADS = 64;

// out[thread * 6 + index of the result]
extern "C" __global__ void k(unsigned* out, const unsigned* in)
{
    unsigned t = threadIdx.x, x = in[t];
    out += t * 6;
    using Eighth = cub::WarpReduce<unsigned, 8>;
    __shared__ typename Eighth::TempStorage eighths[THREADS / 8];
    unsigned sum = Eighth(eighths[t / 8]).Sum(x);
    out[0] = t % 8 == 0 ? sum : 0;
    using Half = cub::WarpScan<unsigned, 16>;
    __shared__ typename Half::TempStorage halves[THREADS / 16];
    Half(halves[t / 16]).InclusiveSum(x, out[1]);
    using Quarter = cub::WarpReduce<float, 4>;
    __shared__ typename Quarter::TempStorage quarters[THREADS / 4];
    float greatest = Quarter(quarters[t / 4]).Reduce((float)(x % 1000), cub::Max());
    out[2] = t % 4 == 0 ? (unsigned)greatest : 0;
    using Block = cub::BlockReduce<unsigned, THREADS>;
    __shared__ typename Block::TempStorage block;
    sum = Block(block).Sum(x);
    out[3] = t == 0 ? sum : 0;
    using Scan = cub::BlockScan<unsigned, THREADS>;
    __shared__ typename Scan::TempStorage scan;
    Scan(scan).ExclusiveSum(x, out[4]);
    using Sort = cub::BlockRadixSort<unsigned, THREADS, 1>;
    __shared__ typename Sort::TempStorage sort;
    unsigned keys[1] = {x};
    Sort(sort).Sort(keys);
    out[5] = keys[0];
}
