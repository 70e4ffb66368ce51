// Barrier objects as libcu++ and cooperative groups use them: phases of a block, arrivals separate from waits,
// threads that drop out, copies that a barrier counts, a pipeline of two stages.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>
namespace cg = cooperative_groups;

using barrier = cuda::barrier<cuda::thread_scope_block>;

// Copies come in two stages: while one is added up, the next one is in flight.
__device__ unsigned pipelined(const unsigned* in, unsigned* room)
{
    cg::thread_block block = cg::this_thread_block();
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto pipe = cuda::make_pipeline(block, &state);
    unsigned n = block.size(), sum = 0, ahead = 0;
    for (unsigned batch = 0; batch < 4; ++batch) {
        for (; ahead < 4 && ahead < batch + 2; ++ahead) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, room + ahead % 2 * n, in + ahead * n, sizeof(unsigned) * n, pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        sum = sum * 3 + room[batch % 2 * n + (block.thread_rank() + 1) % n];
        pipe.consumer_release();
    }
    return sum;
}

// Stores 5 words for each thread of a block of 64; `in` has four numbers for each thread.
extern "C" __global__ void k(unsigned* out, const unsigned* in)
{
    __shared__ barrier all, few, copied;
    __shared__ unsigned room[128];
    cg::thread_block block = cg::this_thread_block();
    unsigned t = threadIdx.x, n = blockDim.x;
    if (t == 0) {
        init(&all, n);
        init(&few, n);
        init(&copied, n);
    }
    block.sync();
    out += t * 5;

    // In each phase every thread passes a number to the next thread.
    unsigned x = in[t];
    for (int phase = 0; phase < 3; ++phase) {
        room[t] = x;
        all.arrive_and_wait();
        x = x * 5 + room[(t + 1) % n];
        barrier::arrival_token token = all.arrive();
        x ^= phase;
        all.wait(std::move(token));
    }
    out[0] = x;

    // Every second thread drops out; the others go on without it.
    room[t] = t & 1 ? x : 0;
    if (t & 1) {
        few.arrive_and_drop();
    } else {
        few.arrive_and_wait();
        x += room[t + 1];
        few.arrive_and_wait();
    }
    out[1] = x;

    // All threads copy together, and the barrier counts the copies.
    block.sync();
    cuda::memcpy_async(block, room, in + n, sizeof(unsigned) * n, copied);
    copied.arrive_and_wait();
    out[2] = room[n - 1 - t];

    // Cooperative groups' own barrier.
    block.sync();
    cg::memcpy_async(block, room, in + 2 * n, sizeof(unsigned) * n);
    cg::wait(block);
    out[3] = room[n - 1 - t];
    block.sync();

    out[4] = pipelined(in, room);
}
