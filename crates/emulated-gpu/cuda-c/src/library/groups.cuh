// The groups of `cooperative_groups`: blocks, tiles of a warp, the active lanes, grids.
namespace cooperative_groups {
__device__ unsigned __block_rank() {
    return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}
__device__ unsigned __block_size() { return blockDim.x * blockDim.y * blockDim.z; }
// The lane of the `rank`-th set bit of a mask, counting from 0.
__device__ int __lane_of(unsigned mask, unsigned rank) {
    for (unsigned i = 0; i < rank; ++i) mask &= mask - 1u;
    return 31 - __clz((int)(mask & (0u - mask)));
}
struct thread_block {
    __device__ static void sync() { __syncthreads(); }
    __device__ static unsigned thread_rank() { return __block_rank(); }
    __device__ static unsigned size() { return __block_size(); }
    __device__ static unsigned num_threads() { return __block_size(); }
    __device__ static dim3 group_index() { return dim3{blockIdx.x, blockIdx.y, blockIdx.z}; }
    __device__ static dim3 thread_index() { return dim3{threadIdx.x, threadIdx.y, threadIdx.z}; }
    __device__ static dim3 group_dim() { return dim3{blockDim.x, blockDim.y, blockDim.z}; }
    __device__ static dim3 dim_threads() { return dim3{blockDim.x, blockDim.y, blockDim.z}; }
};
__device__ thread_block this_thread_block() { return thread_block{}; }
// Neighbouring lanes of a warp. The parent is only part of the type.
template <unsigned Size, typename Parent = void> struct thread_block_tile {
    unsigned __group, __groups;
    thread_block_tile() = default;
    template <typename Other> __device__ thread_block_tile(const thread_block_tile<Size, Other> &other)
        : __group(other.__group), __groups(other.__groups) {}
    __device__ unsigned __mask() const {
        if constexpr (Size == 32) return 0xffffffffu;
        else return ((1u << Size) - 1u) << (__block_rank() & 31u & ~(Size - 1u));
    }
    __device__ void sync() const { __syncwarp(__mask()); }
    __device__ unsigned thread_rank() const { return __block_rank() & (Size - 1u); }
    __device__ static unsigned size() { return Size; }
    __device__ static unsigned num_threads() { return Size; }
    __device__ unsigned meta_group_rank() const { return __group; }
    __device__ unsigned meta_group_size() const { return __groups; }
    template <typename T> __device__ T shfl(T value, int lane) const { return __shfl_sync(__mask(), value, lane, Size); }
    template <typename T> __device__ T shfl_up(T value, unsigned by) const { return __shfl_up_sync(__mask(), value, by, Size); }
    template <typename T> __device__ T shfl_down(T value, unsigned by) const { return __shfl_down_sync(__mask(), value, by, Size); }
    template <typename T> __device__ T shfl_xor(T value, unsigned with) const { return __shfl_xor_sync(__mask(), value, with, Size); }
    __device__ int any(int value) const { return __any_sync(__mask(), value) != 0; }
    __device__ int all(int value) const { return __all_sync(__mask(), value) != 0; }
    __device__ unsigned ballot(int value) const {
        return (__ballot_sync(__mask(), value) & __mask()) >> (__block_rank() & 31u & ~(Size - 1u));
    }
    template <typename T> __device__ unsigned match_any(T value) const {
        return (__match_any_sync(__mask(), value) & __mask()) >> (__block_rank() & 31u & ~(Size - 1u));
    }
};
template <unsigned Size> __device__ thread_block_tile<Size> tiled_partition(const thread_block &block) {
    static_assert(Size == 1 || Size == 2 || Size == 4 || Size == 8 || Size == 16 || Size == 32,
                  "a tile has 1, 2, 4, 8, 16 or 32 threads");
    thread_block_tile<Size> tile;
    tile.__group = __block_rank() / Size;
    tile.__groups = (__block_size() + Size - 1u) / Size;
    return tile;
}
template <unsigned Size, unsigned Whole, typename Parent>
__device__ thread_block_tile<Size> tiled_partition(const thread_block_tile<Whole, Parent> &whole) {
    static_assert(Size <= Whole && (Size & (Size - 1)) == 0, "a tile of a tile is a part of it, of a power of two");
    thread_block_tile<Size> tile;
    tile.__group = whole.thread_rank() / Size;
    tile.__groups = Whole / Size;
    return tile;
}
// The active lanes.
struct coalesced_group {
    unsigned __lanes;
    __device__ void sync() const { __syncwarp(__lanes); }
    __device__ unsigned size() const { return (unsigned)__popc(__lanes); }
    __device__ unsigned num_threads() const { return (unsigned)__popc(__lanes); }
    __device__ unsigned thread_rank() const { return (unsigned)__popc(__lanes & ((1u << (__block_rank() & 31u)) - 1u)); }
    __device__ unsigned meta_group_rank() const { return 0u; }
    __device__ unsigned meta_group_size() const { return 1u; }
    template <typename T> __device__ T shfl(T value, unsigned rank) const {
        return __shfl_sync(__lanes, value, __lane_of(__lanes, rank));
    }
    template <typename T> __device__ T shfl_up(T value, unsigned by) const {
        unsigned rank = thread_rank();
        return __shfl_sync(__lanes, value, __lane_of(__lanes, rank < by ? rank : rank - by));
    }
    template <typename T> __device__ T shfl_down(T value, unsigned by) const {
        unsigned rank = thread_rank();
        return __shfl_sync(__lanes, value, __lane_of(__lanes, rank + by < size() ? rank + by : rank));
    }
    __device__ int any(int value) const { return __any_sync(__lanes, value) != 0; }
    __device__ int all(int value) const { return __all_sync(__lanes, value) != 0; }
};
__device__ coalesced_group coalesced_threads() { return coalesced_group{__activemask()}; }
// Any of the groups above, chosen at run time.
struct thread_group {
    unsigned __lanes, __rank, __count;
    thread_group() = default;
    __device__ thread_group(const thread_block &block) : __lanes(0u), __rank(__block_rank()), __count(__block_size()) {}
    __device__ thread_group(const coalesced_group &group)
        : __lanes(group.__lanes), __rank(group.thread_rank()), __count(group.size()) {}
    template <unsigned Size, typename Parent> __device__ thread_group(const thread_block_tile<Size, Parent> &tile)
        : __lanes(tile.__mask()), __rank(tile.thread_rank()), __count(Size) {}
    __device__ void sync() const {
        if (__lanes == 0u) __syncthreads();
        else __syncwarp(__lanes);
    }
    __device__ unsigned thread_rank() const { return __rank; }
    __device__ unsigned size() const { return __count; }
    __device__ unsigned num_threads() const { return __count; }
};
__device__ thread_group tiled_partition(const thread_group &whole, unsigned size) {
    thread_group part;
    part.__rank = whole.__rank & (size - 1u);
    part.__count = size;
    part.__lanes = (size == 32u ? 0xffffffffu : (1u << size) - 1u) << (__block_rank() & 31u & ~(size - 1u));
    return part;
}
struct grid_group {
    // Memory of a cooperative launch, whose address the driver passes in two registers (null for
    // other launches): its size, and the number of blocks that have arrived.
    unsigned *__workspace;
    __device__ bool is_valid() const { return __workspace != nullptr; }
    // The top bit of the count flips each time that all blocks have arrived: the first block adds
    // 2^31 less the number of the others, and each of those adds 1.
    __device__ unsigned barrier_arrive() const {
        if (!is_valid()) __trap();
        __syncthreads();
        unsigned before = 0u;
        if (__block_rank() == 0u) {
            unsigned others = gridDim.x * gridDim.y * gridDim.z - 1u;
            bool first = blockIdx.x + blockIdx.y + blockIdx.z == 0u;
            __threadfence();
            before = atomicAdd(__workspace + 1, first ? 0x80000000u - others : 1u);
        }
        return before;
    }
    __device__ void barrier_wait(unsigned before) const {
        if (__block_rank() == 0u) {
            while (((atomicAdd(__workspace + 1, 0u) ^ before) & 0x80000000u) == 0u) {}
            __threadfence();
        }
        __syncthreads();
    }
    __device__ void sync() const { barrier_wait(barrier_arrive()); }
    __device__ static dim3 block_index() { return dim3{blockIdx.x, blockIdx.y, blockIdx.z}; }
    __device__ static dim3 group_dim() { return dim3{gridDim.x, gridDim.y, gridDim.z}; }
    __device__ static dim3 dim_blocks() { return dim3{gridDim.x, gridDim.y, gridDim.z}; }
    __device__ static unsigned long long block_rank() {
        return ((unsigned long long)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    }
    __device__ static unsigned long long num_blocks() { return (unsigned long long)gridDim.x * gridDim.y * gridDim.z; }
    __device__ static unsigned long long thread_rank() { return block_rank() * __block_size() + __block_rank(); }
    __device__ static unsigned long long size() { return num_blocks() * __block_size(); }
    __device__ static unsigned long long num_threads() { return num_blocks() * __block_size(); }
};
__device__ grid_group this_grid() {
    unsigned high, low;
    asm("mov.u32 %0, %%envreg1;" : "=r"(high));
    asm("mov.u32 %0, %%envreg2;" : "=r"(low));
    grid_group grid;
    grid.__workspace = (unsigned *)((unsigned long long)high << 32 | low);
    return grid;
}
template <typename Group> __device__ void sync(const Group &group) { group.sync(); }
template <typename Group> __device__ unsigned thread_rank(const Group &group) { return group.thread_rank(); }
template <typename Group> __device__ unsigned group_size(const Group &group) { return group.size(); }
template <typename T> struct plus { __device__ T operator()(T a, T b) const { return a + b; } };
template <typename T> struct less { __device__ T operator()(T a, T b) const { return b < a ? b : a; } };
template <typename T> struct greater { __device__ T operator()(T a, T b) const { return a < b ? b : a; } };
template <typename T> struct bit_and { __device__ T operator()(T a, T b) const { return a & b; } };
template <typename T> struct bit_or { __device__ T operator()(T a, T b) const { return a | b; } };
template <typename T> struct bit_xor { __device__ T operator()(T a, T b) const { return a ^ b; } };
template <unsigned Size, typename Parent, typename T, typename Operation>
__device__ T reduce(const thread_block_tile<Size, Parent> &tile, T value, Operation operation) {
#pragma unroll
    for (unsigned with = Size / 2u; with > 0u; with /= 2u) value = operation(value, tile.shfl_xor(value, with));
    return value;
}
template <typename T, typename Operation>
__device__ T reduce(const coalesced_group &group, T value, Operation operation) {
    T all = group.shfl(value, 0u);
    for (unsigned rank = 1; rank < group.size(); ++rank) all = operation(all, group.shfl(value, rank));
    return all;
}
template <unsigned Size, typename Parent, typename T, typename Operation>
__device__ T inclusive_scan(const thread_block_tile<Size, Parent> &tile, T value, Operation operation) {
#pragma unroll
    for (unsigned by = 1; by < Size; by *= 2u) {
        T before = tile.shfl_up(value, by);
        if (tile.thread_rank() >= by) value = operation(before, value);
    }
    return value;
}
template <unsigned Size, typename Parent, typename T>
__device__ T inclusive_scan(const thread_block_tile<Size, Parent> &tile, T value) {
    return inclusive_scan(tile, value, plus<T>{});
}
template <unsigned Size, typename Parent, typename T, typename Operation>
__device__ T exclusive_scan(const thread_block_tile<Size, Parent> &tile, T value, Operation operation) {
    T before = tile.shfl_up(inclusive_scan(tile, value, operation), 1u);
    return tile.thread_rank() == 0u ? T(0) : before;
}
template <unsigned Size, typename Parent, typename T>
__device__ T exclusive_scan(const thread_block_tile<Size, Parent> &tile, T value) {
    return exclusive_scan(tile, value, plus<T>{});
}
}
