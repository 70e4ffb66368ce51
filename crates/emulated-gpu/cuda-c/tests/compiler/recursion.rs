//! Recursive and `__noinline__` functions.

use crate::kernel::{as_words, floats, word, words};
use crate::reference::both;

/// Checks the value of `expression`, which uses the thread's number `t`, in 16 threads.
fn check(before: &str, expression: &str, expected: impl Fn(u32) -> u32) {
    let source = format!(
        "{before}\nextern \"C\" __global__ void k(unsigned *out) {{
             unsigned t = threadIdx.x;
             out[t] = {expression};
         }}"
    );
    let shape = ([1, 1, 1], [16, 1, 1], 0);
    let memory = both(&source, "k", shape, &[words(&[0; 16])]);
    let expected: Vec<u32> = (0..16).map(expected).collect();
    assert_eq!(as_words(&memory[0]), expected, "{expression}");
}

#[test]
fn direct_and_indirect_recursion() {
    let factorial = "__device__ unsigned f(unsigned n) { return n <= 1u ? 1u : n * f(n - 1u); }";
    check(factorial, "f(t)", |t| (1..=t).fold(1, u32::wrapping_mul));
    let fibonacci = "__device__ unsigned f(unsigned n) {
        if (n < 2u) return n;
        unsigned a = f(n - 1u);
        return a + f(n - 2u);
    }";
    check(fibonacci, "f(t)", |t| (0..t).fold((0, 1), |(a, b), _| (b, a + b)).0);
    let circle = "__device__ bool odd(unsigned n);
        __device__ bool even(unsigned n) { return n == 0u || odd(n - 1u); }
        __device__ bool odd(unsigned n) { return n != 0u && even(n - 1u); }";
    check(circle, "even(t) * 2 + odd(t)", |t| 2 - t % 2);
    let ackermann = "__device__ unsigned a(unsigned m, unsigned n) {
        if (m == 0u) return n + 1u;
        return n == 0u ? a(m - 1u, 1u) : a(m - 1u, a(m, n - 1u));
    }";
    check(ackermann, "a(2u, t)", |t| 2 * t + 3);
}

#[test]
fn functions_out_of_line_pass_parameters_and_results() {
    let narrow = "__device__ unsigned char f(unsigned char a, short b, bool c) {
        if (b <= 0) return a;
        return f(a + 100, b - 1, !c) + (c ? 1 : 0);
    }";
    let expected = |t: u32| {
        fn f(a: u8, b: i16, c: bool) -> u8 {
            if b <= 0 { a } else { f(a.wrapping_add(100), b - 1, !c).wrapping_add(c.into()) }
        }
        f(t as u8, t as i16, t.is_multiple_of(2)).into()
    };
    check(narrow, "f(t, t, t % 2 == 0)", expected);
    let wide = "__device__ double f(double x, long long n) {
        if (n == 0) return x;
        return f(x * 0.5, n - 1) + (double)n;
    }";
    check(wide, "(unsigned)f(1024.0, t)", |t| {
        (1024.0 * 0.5f64.powi(t as i32) + f64::from(t * (t + 1) / 2)) as u32
    });
    let structs = "struct pair { unsigned sum; unsigned char count; double last; };
        __device__ pair f(pair a, unsigned n) {
            if (n == 0u) return a;
            pair left = f(a, n / 2u), right = a;
            right.count = n;
            left.sum += right.count + (unsigned)left.last;
            left.last += 1.5;
            return left;
        }
        __device__ unsigned all(unsigned n) { pair p = {7u, 3, 0.5}; p = f(p, n); return p.sum + p.count; }";
    check(structs, "all(t)", |t| {
        fn f(n: u32) -> (u32, f64) {
            if n == 0 {
                return (7, 0.5);
            }
            let (sum, last) = f(n / 2);
            (sum + n + last as u32, last + 1.5)
        }
        f(t).0 + 3
    });
    let references = "__device__ void f(unsigned &total, unsigned n) { if (n > 0u) { total += n; f(total, n - 1u); } }
        __device__ unsigned &place(unsigned *a, unsigned i) { if (a[i] == 9u) return a[i]; return place(a, i + 1u); }
        __device__ unsigned all(unsigned n) {
            unsigned total = 5u, a[4] = {1u, 2u, 9u, 4u};
            f(total, n);
            place(a, 0u) += n;
            return total * 100u + a[2];
        }";
    check(references, "all(t)", |t| (5 + t * (t + 1) / 2) * 100 + 9 + t);
}

#[test]
fn templates_methods_and_noinline_functions() {
    let templates = "template <typename T> __device__ T power(T x, unsigned n) {
            if (n == 0u) return (T)1;
            T half = power(x, n / 2u);
            return n & 1u ? half * half * x : half * half;
        }
        template <unsigned N> __device__ unsigned chain(unsigned x) { return chain<N - 1u>(x) + N; }
        template <> __device__ unsigned chain<0u>(unsigned x) { return x; }";
    check(templates, "power(3u, t) + (unsigned)power(2.0f, t) + chain<5u>(t)", |t| {
        3u32.wrapping_pow(t).wrapping_add(1 << t) + 15 + t
    });
    let methods = "struct heap {
            unsigned value[15];
            __device__ unsigned sum(unsigned i) const { return i < 15u ? value[i] + sum(2u * i + 1u) + sum(2u * i + 2u) : 0u; }
        };
        __device__ unsigned all(unsigned t) { heap h; for (int i = 0; i < 15; ++i) h.value[i] = i * t; return h.sum(0u); }";
    check(methods, "all(t)", |t| 105 * t);
    let apart = "__device__ __noinline__ unsigned f(unsigned x, float4 v) { return x * 3u + (unsigned)v.w; }";
    check(apart, "f(t, make_float4(1.0f, 2.0f, 3.0f, 4.0f + t))", |t| t * 4 + 4);
    let source = format!(
        "{apart}\nextern \"C\" __global__ void k(unsigned *out) {{ out[0] = f(out[1], make_float4(1, 2, 3, 4)); }}"
    );
    let text = crate::kernel::compile(&source);
    assert!(text.contains("call (retval0), _Z1fj6float4, (param0, param1);"), "{text}");
}

#[test]
fn a_kernel_sorts_by_recursion() {
    let source = "__device__ void sort(int *v, int from, int to) {
            if (to - from < 2) return;
            int pivot = v[(from + to) / 2], i = from, j = to - 1;
            while (i <= j) {
                while (v[i] < pivot) i++;
                while (v[j] > pivot) j--;
                if (i <= j) {
                    int t = v[i];
                    v[i++] = v[j];
                    v[j--] = t;
                }
            }
            sort(v, from, j + 1);
            sort(v, i, to);
        }
        __device__ float sum(const float *x, int from, int to) {
            if (to - from == 1) return x[from];
            int middle = (from + to) / 2;
            return sum(x, from, middle) + sum(x, middle, to);
        }
        extern \"C\" __global__ void k(int *v, const float *x, int n) {
            __shared__ int own[64];
            int t = threadIdx.x;
            for (int i = 0; i < 16; ++i) own[t * 16 + i] = v[t * 16 + i];
            sort(own, t * 16, t * 16 + 16);
            for (int i = 0; i < 16; ++i) v[t * 16 + i] = own[t * 16 + i];
            if (t == 0) v[0] += (int)sum(x, 0, n);
        }";
    let numbers: Vec<u32> = (0..64u32).map(|i| i.wrapping_mul(2_654_435_769) >> 22).collect();
    let values: Vec<f32> = (0..19).map(|i| i as f32 * 0.25).collect();
    let arguments = [words(&numbers), floats(&values), word(19)];
    let memory = both(source, "k", ([1, 1, 1], [4, 1, 1], 0), &arguments);
    let mut expected = numbers;
    expected.chunks_mut(16).for_each(<[u32]>::sort_unstable);
    expected[0] += 42;
    assert_eq!(as_words(&memory[0]), expected);
}
