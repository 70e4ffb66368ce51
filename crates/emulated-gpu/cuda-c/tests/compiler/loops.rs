//! Moving code out of loops, and unrolling.

use crate::kernel::{as_words, compile, run, words};

/// A load that follows an exit of the loop isn't moved before the loop.
#[test]
fn loads_after_an_exit_are_not_hoisted() {
    let text = compile(
        "extern \"C\" __global__ void k(int *out, const int *p, int n, int go) {
             int s = 0;
             for (int i = 0; i < n; ++i) {
                 if (go == 0) break;
                 s += p[0] * i;
             }
             out[threadIdx.x] = s + 7;
         }",
    );
    let nowhere = crate::kernel::size(0);
    let arguments = [words(&[0]), nowhere, crate::kernel::word(3), crate::kernel::word(0)];
    let (memory, _) = run(&text, "k", ([1, 1, 1], [1, 1, 1]), &arguments);
    assert_eq!(as_words(&memory[0]), [7]);
}

/// Several unrolled loops in a row, some with early exits.
#[test]
fn consecutive_unrolled_loops() {
    let text = compile(
        "__device__ __noinline__ unsigned f(unsigned b) {
             for (int n = 3; n-- > 0;) { b >>= 1; if (b == 5u) break; if (b > 1000u) break; }
             for (int n = 0; n < 2; ++n) { b = b * 3u + 1u; if (b == 7u) break; }
             for (unsigned n = 0u; n < 4u; ++n) b ^= b << n;
             return b;
         }
         extern \"C\" __global__ void k(unsigned *out, const unsigned *in) {
             unsigned b = in[threadIdx.x];
             for (int n = 3; n-- > 0;) { b >>= 1; if (b == 9u) break; }
             for (int n = 3; n-- > 0;) { b += f(b); if (b == 2u) break; }
             out[threadIdx.x] = b;
         }",
    );
    fn f(mut b: u32) -> u32 {
        for _ in 0..3 {
            b >>= 1;
            if b == 5 || b > 1000 {
                break;
            }
        }
        for _ in 0..2 {
            b = b.wrapping_mul(3).wrapping_add(1);
            if b == 7 {
                break;
            }
        }
        (0..4).fold(b, |b, n| b ^ b << n)
    }
    let expected = |mut b: u32| {
        for _ in 0..3 {
            b >>= 1;
            if b == 9 {
                break;
            }
        }
        for _ in 0..3 {
            b = b.wrapping_add(f(b));
            if b == 2 {
                break;
            }
        }
        b
    };
    let given: Vec<u32> = (0..32).map(|i| [i, i * 7, i * 1001, 1 << i][i as usize % 4]).collect();
    let arguments = [words(&[0; 32]), words(&given)];
    let (memory, _) = run(&text, "k", ([1, 1, 1], [32, 1, 1]), &arguments);
    assert_eq!(as_words(&memory[0]), given.into_iter().map(expected).collect::<Vec<_>>());
}
