// The fragments of `nvcuda::wmma`. The hardware defines which elements of a matrix a lane holds.
// `x` has these elements, and all fragments of one kind hold them in the same order.
#define __WMMA_SHAPE(M) if constexpr (m == 16) { M("m16n16k16") } else if constexpr (m == 8) { M("m8n32k16") } else { M("m32n8k16") }
#define __WMMA_8(w) "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3]), "=r"(w[4]), "=r"(w[5]), "=r"(w[6]), "=r"(w[7])
#define __WMMA_4(w) "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
#define __WMMA_IN8(w) "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]), "r"(w[4]), "r"(w[5]), "r"(w[6]), "r"(w[7])
#define __WMMA_IN4(w) "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3])
#define __WMMA_IN2(w) "r"(w[0]), "r"(w[1])
#define __WMMA_F8(w) "=f"(w[0]), "=f"(w[1]), "=f"(w[2]), "=f"(w[3]), "=f"(w[4]), "=f"(w[5]), "=f"(w[6]), "=f"(w[7])
#define __WMMA_INF8(w) "f"(w[0]), "f"(w[1]), "f"(w[2]), "f"(w[3]), "f"(w[4]), "f"(w[5]), "f"(w[6]), "f"(w[7])
namespace nvcuda {
namespace wmma {
struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
struct col_major {};
enum layout_t { mem_row_major, mem_col_major };
namespace precision { struct tf32 {}; }
template <typename A, typename B> struct __same { static constexpr bool value = false; };
template <typename A> struct __same<A, A> { static constexpr bool value = true; };
// The number of elements that a lane holds, by matrix and element type.
template <typename Use, int m, int n, int k, typename T> struct __count;
template <int m, int n, int k> struct __count<matrix_a, m, n, k, half> { static constexpr int value = 16; };
template <int m, int n, int k> struct __count<matrix_b, m, n, k, half> { static constexpr int value = 16; };
template <int m, int n, int k> struct __count<matrix_a, m, n, k, __nv_bfloat16> { static constexpr int value = m / 2; };
template <int m, int n, int k> struct __count<matrix_b, m, n, k, __nv_bfloat16> { static constexpr int value = n / 2; };
template <int m, int n, int k> struct __count<matrix_a, m, n, k, signed char> { static constexpr int value = m / 2; };
template <int m, int n, int k> struct __count<matrix_b, m, n, k, signed char> { static constexpr int value = n / 2; };
template <int m, int n, int k> struct __count<matrix_a, m, n, k, unsigned char> { static constexpr int value = m / 2; };
template <int m, int n, int k> struct __count<matrix_b, m, n, k, unsigned char> { static constexpr int value = n / 2; };
template <int m, int n, int k, typename T> struct __count<accumulator, m, n, k, T> { static constexpr int value = 8; };
template <> struct __count<matrix_a, 16, 16, 8, precision::tf32> { static constexpr int value = 4; };
template <> struct __count<matrix_b, 16, 16, 8, precision::tf32> { static constexpr int value = 4; };
template <typename T> struct __element { using type = T; };
template <> struct __element<precision::tf32> { using type = float; };
template <typename Use, int m, int n, int k, typename T, typename Layout = void> struct alignas(16) fragment {
    static constexpr int num_elements = __count<Use, m, n, k, T>::value;
    using element_type = typename __element<T>::type;
    typename __element<T>::type x[num_elements];
};
__device__ float __float_to_tf32(float value) {
    unsigned bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
    return __uint_as_float(bits);
}
template <typename Use, int m, int n, int k, typename T, typename Layout, typename Value>
__device__ void fill_fragment(fragment<Use, m, n, k, T, Layout> &f, Value value) {
#pragma unroll
    for (int i = 0; i < f.num_elements; ++i) f.x[i] = value;
}
#define __WMMA_LOAD(use, layout, shape, type, words, list) \
    asm volatile("wmma.load." use ".sync.aligned." layout "." shape "." type " " list : words(w) : "l"(p), "r"(ldm) : "memory");
#define __WMMA_LOADS(use, shape, type, words, list) \
    if constexpr (__same<Layout, row_major>::value) { __WMMA_LOAD(use, "row", shape, type, words, list) } \
    else { __WMMA_LOAD(use, "col", shape, type, words, list) }
#define __WMMA_L8 "{%0, %1, %2, %3, %4, %5, %6, %7}, [%8], %9;"
#define __WMMA_L4 "{%0, %1, %2, %3}, [%4], %5;"
#define __WMMA_L2 "{%0, %1}, [%2], %3;"
#define __WMMA_L1 "{%0}, [%1], %2;"
#define __WMMA_A16(shape) __WMMA_LOADS("a", shape, "f16", __WMMA_8, __WMMA_L8)
#define __WMMA_B16(shape) __WMMA_LOADS("b", shape, "f16", __WMMA_8, __WMMA_L8)
template <int m, int n, int k, typename Layout>
__device__ void load_matrix_sync(fragment<matrix_a, m, n, k, half, Layout> &f, const half *p, unsigned ldm) {
    unsigned *w = (unsigned *)f.x;
    __WMMA_SHAPE(__WMMA_A16)
}
template <int m, int n, int k, typename Layout>
__device__ void load_matrix_sync(fragment<matrix_b, m, n, k, half, Layout> &f, const half *p, unsigned ldm) {
    unsigned *w = (unsigned *)f.x;
    __WMMA_SHAPE(__WMMA_B16)
}
// The number of registers depends on the shape, and differs for a and b if the shape isn't square.
#define __WMMA_W2(w) "=r"(w[0]), "=r"(w[1])
#define __WMMA_W1(w) "=r"(w[0])
#define __WMMA_BYTES(use, thin, wide, T, type) \
    template <int m, int n, int k, typename Layout> \
    __device__ void load_matrix_sync(fragment<matrix_##use, m, n, k, T, Layout> &f, const T *p, unsigned ldm) { \
        unsigned *w = (unsigned *)f.x; \
        if constexpr (m == 16) { __WMMA_LOADS(#use, "m16n16k16", type, __WMMA_W2, __WMMA_L2) } \
        else if constexpr (__same<matrix_##use, matrix_a>::value == (m == 8)) { __WMMA_LOADS(#use, thin, type, __WMMA_W1, __WMMA_L1) } \
        else { __WMMA_LOADS(#use, wide, type, __WMMA_4, __WMMA_L4) } \
    }
__WMMA_BYTES(a, "m8n32k16", "m32n8k16", signed char, "s8")
__WMMA_BYTES(b, "m32n8k16", "m8n32k16", signed char, "s8")
__WMMA_BYTES(a, "m8n32k16", "m32n8k16", unsigned char, "u8")
__WMMA_BYTES(b, "m32n8k16", "m8n32k16", unsigned char, "u8")
#define __WMMA_BRAINS(use, thin, wide) \
    template <int m, int n, int k, typename Layout> \
    __device__ void load_matrix_sync(fragment<matrix_##use, m, n, k, __nv_bfloat16, Layout> &f, const __nv_bfloat16 *p, unsigned ldm) { \
        unsigned *w = (unsigned *)f.x; \
        if constexpr (m == 16) { __WMMA_LOADS(#use, "m16n16k16", "bf16", __WMMA_4, __WMMA_L4) } \
        else if constexpr (__same<matrix_##use, matrix_a>::value == (m == 8)) { __WMMA_LOADS(#use, thin, "bf16", __WMMA_W2, __WMMA_L2) } \
        else { __WMMA_LOADS(#use, wide, "bf16", __WMMA_8, __WMMA_L8) } \
    }
__WMMA_BRAINS(a, "m8n32k16", "m32n8k16")
__WMMA_BRAINS(b, "m32n8k16", "m8n32k16")
template <typename Layout>
__device__ void load_matrix_sync(fragment<matrix_a, 16, 16, 8, precision::tf32, Layout> &f, const float *p, unsigned ldm) {
    unsigned *w = (unsigned *)f.x;
    __WMMA_LOADS("a", "m16n16k8", "tf32", __WMMA_4, __WMMA_L4)
}
template <typename Layout>
__device__ void load_matrix_sync(fragment<matrix_b, 16, 16, 8, precision::tf32, Layout> &f, const float *p, unsigned ldm) {
    unsigned *w = (unsigned *)f.x;
    __WMMA_LOADS("b", "m16n16k8", "tf32", __WMMA_4, __WMMA_L4)
}
// Accumulators can be stored by rows or by columns, which is chosen at run time.
#define __WMMA_C(T, letters, type, out, list, in, store_list) \
    template <int m, int n, int k> \
    __device__ void load_matrix_sync(fragment<accumulator, m, n, k, T> &f, const T *p, unsigned ldm, layout_t layout) { \
        letters *w = (letters *)f.x; \
        if (layout == mem_row_major) { __WMMA_ACROSS(__WMMA_LOAD, "row", type, out, list) } \
        else { __WMMA_ACROSS(__WMMA_LOAD, "col", type, out, list) } \
    } \
    template <int m, int n, int k> \
    __device__ void store_matrix_sync(T *p, const fragment<accumulator, m, n, k, T> &f, unsigned ldm, layout_t layout) { \
        const letters *w = (const letters *)f.x; \
        if (layout == mem_row_major) { __WMMA_ACROSS(__WMMA_STORE, "row", type, in, store_list) } \
        else { __WMMA_ACROSS(__WMMA_STORE, "col", type, in, store_list) } \
    }
#define __WMMA_ACROSS(M, layout, type, words, list) \
    if constexpr (k == 8) { M("c", layout, "m16n16k8", type, words, list) } \
    else if constexpr (m == 16) { M("c", layout, "m16n16k16", type, words, list) } \
    else if constexpr (m == 8) { M("c", layout, "m8n32k16", type, words, list) } \
    else { M("c", layout, "m32n8k16", type, words, list) }
#define __WMMA_STORE(use, layout, shape, type, words, list) \
    asm volatile("wmma.store.d.sync.aligned." layout "." shape "." type " " list : : "l"(p), words(w), "r"(ldm) : "memory");
#define __WMMA_S8 "[%0], {%1, %2, %3, %4, %5, %6, %7, %8}, %9;"
#define __WMMA_S4 "[%0], {%1, %2, %3, %4}, %5;"
__WMMA_C(float, float, "f32", __WMMA_F8, __WMMA_L8, __WMMA_INF8, __WMMA_S8)
__WMMA_C(int, unsigned, "s32", __WMMA_8, __WMMA_L8, __WMMA_IN8, __WMMA_S8)
#undef __WMMA_ACROSS
#define __WMMA_ACROSS(M, layout, type, words, list) \
    if constexpr (m == 16) { M("c", layout, "m16n16k16", type, words, list) } \
    else if constexpr (m == 8) { M("c", layout, "m8n32k16", type, words, list) } \
    else { M("c", layout, "m32n8k16", type, words, list) }
__WMMA_C(half, unsigned, "f16", __WMMA_4, __WMMA_L4, __WMMA_IN4, __WMMA_S4)
// d = a · b + c
#define __WMMA_MMA(la, lb, shape, types, list, out, ...) \
    asm volatile("wmma.mma.sync.aligned." la "." lb "." shape "." types " " list : out(o) : __VA_ARGS__);
#define __WMMA_ORDERS(shape, types, list, out, ...) \
    if constexpr (__same<LayoutA, row_major>::value && __same<LayoutB, row_major>::value) { __WMMA_MMA("row", "row", shape, types, list, out, __VA_ARGS__) } \
    else if constexpr (__same<LayoutA, row_major>::value) { __WMMA_MMA("row", "col", shape, types, list, out, __VA_ARGS__) } \
    else if constexpr (__same<LayoutB, row_major>::value) { __WMMA_MMA("col", "row", shape, types, list, out, __VA_ARGS__) } \
    else { __WMMA_MMA("col", "col", shape, types, list, out, __VA_ARGS__) }
#define __WMMA_ABC8 "{%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11, %12, %13, %14, %15}, {%16, %17, %18, %19, %20, %21, %22, %23}, "
#define __WMMA_ABC4 "{%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15, %16, %17, %18, %19}, "
template <int m, int n, int k, typename LayoutA, typename LayoutB, typename D, typename C>
__device__ void mma_sync(fragment<accumulator, m, n, k, D> &d, const fragment<matrix_a, m, n, k, half, LayoutA> &a,
                         const fragment<matrix_b, m, n, k, half, LayoutB> &b, const fragment<accumulator, m, n, k, C> &c) {
    const unsigned *p = (const unsigned *)a.x, *q = (const unsigned *)b.x;
    if constexpr (__same<D, float>::value && __same<C, float>::value) {
        float *o = d.x;
#define __WMMA_ONE(shape) __WMMA_ORDERS(shape, "f32.f32", __WMMA_ABC8 "{%24, %25, %26, %27, %28, %29, %30, %31};", __WMMA_F8, __WMMA_IN8(p), __WMMA_IN8(q), __WMMA_INF8(c.x))
        __WMMA_SHAPE(__WMMA_ONE)
#undef __WMMA_ONE
    } else if constexpr (__same<D, half>::value && __same<C, half>::value) {
        unsigned *o = (unsigned *)d.x;
        const unsigned *v = (const unsigned *)c.x;
#define __WMMA_ONE(shape) __WMMA_ORDERS(shape, "f16.f16", __WMMA_ABC4 "{%20, %21, %22, %23};", __WMMA_4, __WMMA_IN8(p), __WMMA_IN8(q), __WMMA_IN4(v))
        __WMMA_SHAPE(__WMMA_ONE)
#undef __WMMA_ONE
    } else if constexpr (__same<D, float>::value) {
        float *o = d.x;
        const unsigned *v = (const unsigned *)c.x;
#define __WMMA_ONE(shape) __WMMA_ORDERS(shape, "f32.f16", __WMMA_ABC8 "{%24, %25, %26, %27};", __WMMA_F8, __WMMA_IN8(p), __WMMA_IN8(q), __WMMA_IN4(v))
        __WMMA_SHAPE(__WMMA_ONE)
#undef __WMMA_ONE
    } else {
        unsigned *o = (unsigned *)d.x;
#define __WMMA_ONE(shape) __WMMA_ORDERS(shape, "f16.f32", __WMMA_ABC4 "{%20, %21, %22, %23, %24, %25, %26, %27};", __WMMA_4, __WMMA_IN8(p), __WMMA_IN8(q), __WMMA_INF8(c.x))
        __WMMA_SHAPE(__WMMA_ONE)
#undef __WMMA_ONE
    }
}
#define __WMMA_IN1(w) "r"(w[0])
#define __WMMA_OTHER(T, types, Sum, Word, out, sums, list, lists, a16, a8, a32, b16, b8, b32) \
    template <int m, int n, int k, typename LayoutA, typename LayoutB> \
    __device__ void mma_sync(fragment<accumulator, m, n, k, Sum> &d, const fragment<matrix_a, m, n, k, T, LayoutA> &a, \
                             const fragment<matrix_b, m, n, k, T, LayoutB> &b, const fragment<accumulator, m, n, k, Sum> &c) { \
        const unsigned *p = (const unsigned *)a.x, *q = (const unsigned *)b.x; \
        Word *o = (Word *)d.x; \
        if constexpr (m == 16) { __WMMA_ORDERS("m16n16k16", types, list, out, a16(p), b16(q), sums(c.x)) } \
        else if constexpr (m == 8) { __WMMA_ORDERS("m8n32k16", types, lists, out, a8(p), b8(q), sums(c.x)) } \
        else { __WMMA_ORDERS("m32n8k16", types, lists##_turned, out, a32(p), b32(q), sums(c.x)) } \
    }
#define __WMMA_D8 "{%0, %1, %2, %3, %4, %5, %6, %7}, "
#define __WMMA_44 __WMMA_D8 "{%8, %9, %10, %11}, {%12, %13, %14, %15}, {%16, %17, %18, %19, %20, %21, %22, %23};"
#define __WMMA_28 __WMMA_D8 "{%8, %9}, {%10, %11, %12, %13, %14, %15, %16, %17}, {%18, %19, %20, %21, %22, %23, %24, %25};"
#define __WMMA_28_turned __WMMA_D8 "{%8, %9, %10, %11, %12, %13, %14, %15}, {%16, %17}, {%18, %19, %20, %21, %22, %23, %24, %25};"
#define __WMMA_22 __WMMA_D8 "{%8, %9}, {%10, %11}, {%12, %13, %14, %15, %16, %17, %18, %19};"
#define __WMMA_14 __WMMA_D8 "{%8}, {%9, %10, %11, %12}, {%13, %14, %15, %16, %17, %18, %19, %20};"
#define __WMMA_14_turned __WMMA_D8 "{%8, %9, %10, %11}, {%12}, {%13, %14, %15, %16, %17, %18, %19, %20};"
__WMMA_OTHER(__nv_bfloat16, "f32.bf16.bf16.f32", float, float, __WMMA_F8, __WMMA_INF8, __WMMA_44, __WMMA_28, __WMMA_IN4, __WMMA_IN2, __WMMA_IN8, __WMMA_IN4, __WMMA_IN8, __WMMA_IN2)
__WMMA_OTHER(signed char, "s32.s8.s8.s32", int, unsigned, __WMMA_8, __WMMA_IN8, __WMMA_22, __WMMA_14, __WMMA_IN2, __WMMA_IN1, __WMMA_IN4, __WMMA_IN2, __WMMA_IN4, __WMMA_IN1)
__WMMA_OTHER(unsigned char, "s32.u8.u8.s32", int, unsigned, __WMMA_8, __WMMA_IN8, __WMMA_22, __WMMA_14, __WMMA_IN2, __WMMA_IN1, __WMMA_IN4, __WMMA_IN2, __WMMA_IN4, __WMMA_IN1)
template <typename LayoutA, typename LayoutB>
__device__ void mma_sync(fragment<accumulator, 16, 16, 8, float> &d, const fragment<matrix_a, 16, 16, 8, precision::tf32, LayoutA> &a,
                         const fragment<matrix_b, 16, 16, 8, precision::tf32, LayoutB> &b, const fragment<accumulator, 16, 16, 8, float> &c) {
    const unsigned *p = (const unsigned *)a.x, *q = (const unsigned *)b.x;
    float *o = d.x;
    __WMMA_ORDERS("m16n16k8", "f32.tf32.tf32.f32", __WMMA_44, __WMMA_F8, __WMMA_IN4(p), __WMMA_IN4(q), __WMMA_INF8(c.x))
}
}
}
