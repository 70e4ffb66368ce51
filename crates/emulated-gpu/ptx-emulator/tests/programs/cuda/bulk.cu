// Bulk copies of sm_90 by libcu++'s functions and those of cuda::ptx: to shared memory, counted by a barrier
// object as transactions, and back to global memory in a bulk group.
#include <cuda/barrier>
#include <cuda/ptx>
namespace ptx = cuda::ptx;

using barrier = cuda::barrier<cuda::thread_scope_block>;

constexpr unsigned tile = 64;

// `out` has as many words as `in`: four tiles, reversed each and tripled.
extern "C" __global__ void k(unsigned* out, const unsigned* in)
{
    __shared__ alignas(128) unsigned from[2][tile], to[tile];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ barrier full[2];
    unsigned t = threadIdx.x;
    if (t == 0) {
        init(&full[0], blockDim.x);
        init(&full[1], blockDim.x);
        ptx::fence_proxy_async(ptx::space_shared);
    }
    __syncthreads();
    auto fetch = [&](unsigned stage) {
        barrier& here = full[stage % 2];
        if (t == 0) {
            cuda::device::memcpy_async_tx(from[stage % 2], in + stage * tile, cuda::aligned_size_t<16>(sizeof(to)), here);
            return cuda::device::barrier_arrive_tx(here, 1, sizeof(to));
        }
        return here.arrive();
    };
    barrier::arrival_token next = fetch(0);
    for (unsigned stage = 0; stage < 4; ++stage) {
        barrier::arrival_token now = std::move(next);
        if (stage < 3) next = fetch(stage + 1);
        full[stage % 2].wait(std::move(now));
        if (t == 0) ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>{});
        __syncthreads();
        to[t] = from[stage % 2][tile - 1 - t] * 3;
        ptx::fence_proxy_async(ptx::space_shared);
        __syncthreads();
        if (t == 0) {
            ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out + stage * tile, to, sizeof(to));
            ptx::cp_async_bulk_commit_group();
        }
    }
    if (t == 0) ptx::cp_async_bulk_wait_group(ptx::n32_t<0>{});
}
