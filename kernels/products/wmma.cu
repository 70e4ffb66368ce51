// The three products on tensor cores, with the fragments of nvcuda::wmma: a warp multiplies 16 x 8 numbers
// by 8 x 16 in one instruction, and its 32 threads hold such matrices together. The hardware defines which
// thread holds which number. Factors are rounded to TF32, which needs compute capability 8.0; sums have
// single precision. Tiles are copied to shared memory in two stages, as in vectorised.cu.

#include <mma.h>

using namespace nvcuda;

constexpr int TILE = 64;  // rows and columns of c that a block computes
constexpr int DEPTH = 32; // terms of the sum in a tile
constexpr int STEP = 8;   // terms of the sum in an instruction
constexpr int SIDE = 16;  // rows and columns of the square that an instruction computes
constexpr int OWN = 2;    // squares of a warp, next to each other

// A tile keeps the order that its matrix has in memory: TILE rows of DEPTH numbers, or DEPTH rows of TILE.
// Rows are 4 or 8 numbers longer than that. A warp reads 32 numbers at once, 8 along one direction and 4
// along the other, and so these are in 32 different banks.
constexpr int ALONG = DEPTH + 4;
constexpr int ACROSS = TILE + 8;
constexpr int SIZE = TILE * ALONG;
static_assert(SIZE == DEPTH * ACROSS, "both ways take as much");

// The layout of a fragment in memory.
template <bool by_rows>
struct Order {
    using type = wmma::row_major;
};
template <>
struct Order<false> {
    using type = wmma::col_major;
};

// Loads four neighbouring numbers; 0 for those outside the matrix.
__device__ float4 load_four(const float *__restrict__ from, size_t length, size_t at, bool inside,
                            bool aligned)
{
    if (!inside || at >= length)
        return make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (aligned)
        return *(const float4 *)(from + at);
    return make_float4(from[at], at + 1 < length ? from[at + 1] : 0.0f,
                       at + 2 < length ? from[at + 2] : 0.0f,
                       at + 3 < length ? from[at + 3] : 0.0f);
}

// This thread's four numbers of the first half of a tile, or of the second. Rows in memory run along l
// or, if transposed, along i.
template <bool along_l>
__device__ float4 fetch(const float *__restrict__ from, unsigned half, size_t i0, size_t l0, size_t rows,
                        size_t k)
{
    unsigned thread = half * 256 + threadIdx.y * 16 + threadIdx.x;
    if (along_l) {
        size_t i = i0 + thread / 8, l = l0 + thread % 8 * 4;
        return load_four(from + i * k, k, l, i < rows, k % 4 == 0);
    }
    size_t l = l0 + thread / 16, i = i0 + thread % 16 * 4;
    return load_four(from + l * rows, rows, i, l < k, rows % 4 == 0);
}

// ANCHOR: round
// Stores the four numbers, rounded: once here, and not by every warp that reads them.
template <bool along_l>
__device__ void place(float *tile, unsigned half, float4 four)
{
    unsigned thread = half * 256 + threadIdx.y * 16 + threadIdx.x;
    unsigned at = along_l ? thread / 8 * ALONG + thread % 8 * 4 : thread / 16 * ACROSS + thread % 16 * 4;
    *(float4 *)(tile + at) =
        make_float4(wmma::__float_to_tf32(four.x), wmma::__float_to_tf32(four.y),
                    wmma::__float_to_tf32(four.z), wmma::__float_to_tf32(four.w));
}
// ANCHOR_END: round

// c[i, j] is the sum over l of a(i, l) · b(l, j). A transposed matrix is stored with its rows and columns
// exchanged.
template <bool a_transposed, bool b_transposed>
__device__ void product(const float *__restrict__ a, const float *__restrict__ b,
                        float *__restrict__ c, size_t m, size_t n, size_t k)
{
    using AOrder = typename Order<!a_transposed>::type;
    using BOrder = typename Order<!b_transposed>::type;
    __shared__ __align__(32) float tiles[2][2][SIZE];
    size_t i0 = (size_t)blockIdx.y * TILE, j0 = (size_t)blockIdx.x * TILE;
    unsigned thread = threadIdx.y * 16 + threadIdx.x, stage = 0;
    // Each of the 8 warps has 16 rows and 32 columns; it multiplies nothing if all of them are outside c.
    unsigned row = thread / 64 * SIDE, column = thread / 32 % 2 * (OWN * SIDE);
    bool mine = i0 + row < m && j0 + column < n;

    wmma::fragment<wmma::accumulator, 16, 16, 8, float> sum[OWN];
    for (int s = 0; s < OWN; ++s)
        wmma::fill_fragment(sum[s], 0.0f);
    for (int half = 0; half < 2; ++half) {
        place<!a_transposed>(tiles[0][0], half, fetch<!a_transposed>(a, half, i0, 0, m, k));
        place<b_transposed>(tiles[0][1], half, fetch<b_transposed>(b, half, j0, 0, n, k));
    }
    for (size_t l0 = 0; l0 < k; l0 += DEPTH) {
        __syncthreads();
        // After the last tile these are zeros, and are not used.
        float4 next_a[2], next_b[2];
        for (int half = 0; half < 2; ++half) {
            next_a[half] = fetch<!a_transposed>(a, half, i0, l0 + DEPTH, m, k);
            next_b[half] = fetch<b_transposed>(b, half, j0, l0 + DEPTH, n, k);
        }
        // ANCHOR: fragments
        const float *a_tile = tiles[stage][0], *b_tile = tiles[stage][1];
        if (mine) {
#pragma unroll
            for (int l = 0; l < DEPTH; l += STEP) {
                const float *left = a_tile + (a_transposed ? l * ACROSS + row : row * ALONG + l);
                wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, AOrder> rows;
                wmma::load_matrix_sync(rows, left, a_transposed ? ACROSS : ALONG);
                for (int s = 0; s < OWN; ++s) {
                    int at = column + s * SIDE;
                    const float *right = b_tile + (b_transposed ? at * ALONG + l : l * ACROSS + at);
                    wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, BOrder> columns;
                    wmma::load_matrix_sync(columns, right, b_transposed ? ALONG : ACROSS);
                    wmma::mma_sync(sum[s], rows, columns, sum[s]);
                }
            }
        }
        // ANCHOR_END: fragments
        stage = 1 - stage;
        for (int half = 0; half < 2; ++half) {
            place<!a_transposed>(tiles[stage][0], half, next_a[half]);
            place<b_transposed>(tiles[stage][1], half, next_b[half]);
        }
    }
    // Only the layout in shared memory is known; that of the fragments is not.
    float *results = tiles[0][0];
    __syncthreads();
    if (mine)
        for (int s = 0; s < OWN; ++s)
            wmma::store_matrix_sync(results + row * ACROSS + column + s * SIDE, sum[s], ACROSS,
                                    wmma::mem_row_major);
    __syncthreads();
    column = thread % TILE;
    for (row = thread / TILE; row < TILE && j0 + column < n; row += 256 / TILE)
        if (i0 + row < m)
            c[(i0 + row) * n + j0 + column] = results[row * ACROSS + column];
}

// c = a · bᵀ, where a is [m, k], b is [n, k] and c is [m, n].
extern "C" __global__ void matmul_a_bt(const float *__restrict__ a, const float *__restrict__ b,
                                       float *__restrict__ c, size_t m, size_t n, size_t k)
{
    product<false, true>(a, b, c, m, n, k);
}

// c = aᵀ · b, where a is [k, m], b is [k, n] and c is [m, n].
extern "C" __global__ void matmul_at_b(const float *__restrict__ a, const float *__restrict__ b,
                                       float *__restrict__ c, size_t m, size_t n, size_t k)
{
    product<true, false>(a, b, c, m, n, k);
}

// c = a · b, where a is [m, k], b is [k, n] and c is [m, n].
extern "C" __global__ void matmul_a_b(const float *__restrict__ a, const float *__restrict__ b,
                                      float *__restrict__ c, size_t m, size_t n, size_t k)
{
    product<false, false>(a, b, c, m, n, k);
}
