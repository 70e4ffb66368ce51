//! What is moved out of loops, and what isn't.

use crate::common::{as_words, compile, run, words};

/// What a loop reads behind a place where it may be left isn't read before.
#[test]
fn nothing_is_read_that_the_source_does_not_read() {
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
    let nowhere = crate::common::size(0);
    let arguments = [words(&[0]), nowhere, crate::common::word(3), crate::common::word(0)];
    let (memory, _) = run(&text, "k", ([1, 1, 1], [1, 1, 1]), &arguments);
    assert_eq!(as_words(&memory[0]), [7]);
}
