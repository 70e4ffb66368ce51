//! The three products as loops, from the definition to versions that suit the processor. Shapes are
//! those of `level1_cpu::operations`: `matmul_a_bt` takes `a` as `[m, k]` and `b` as `[n, k]`,
//! `matmul_at_b` `a` as `[k, m]` and `b` as `[k, n]`, `matmul_a_b` `a` as `[m, k]` and `b` as `[k, n]`;
//! `c` is `[m, n]`.

/// `a`, `b`, `c`, `m`, `n`, `k`.
pub type Product = fn(&[f32], &[f32], &mut [f32], usize, usize, usize);

/// The definition, three times: for each element of the result its sum.
pub mod definition {
    // ANCHOR: definition
    pub fn matmul_a_bt(a: &[f32], b: &[f32], c: &mut [f32], m: usize, n: usize, k: usize) {
        for i in 0..m {
            for j in 0..n {
                let mut sum = 0.0;
                for p in 0..k {
                    sum += a[i * k + p] * b[j * k + p];
                }
                c[i * n + j] = sum;
            }
        }
    }

    pub fn matmul_at_b(a: &[f32], b: &[f32], c: &mut [f32], m: usize, n: usize, k: usize) {
        for i in 0..m {
            for j in 0..n {
                let mut sum = 0.0;
                for p in 0..k {
                    sum += a[p * m + i] * b[p * n + j];
                }
                c[i * n + j] = sum;
            }
        }
    }
    // ANCHOR_END: definition

    pub fn matmul_a_b(a: &[f32], b: &[f32], c: &mut [f32], m: usize, n: usize, k: usize) {
        for i in 0..m {
            for j in 0..n {
                let mut sum = 0.0;
                for p in 0..k {
                    sum += a[i * k + p] * b[p * n + j];
                }
                c[i * n + j] = sum;
            }
        }
    }
}

/// The additions of the plain loops, in an order in which neighbours in memory follow each other.
pub mod order {
    // ANCHOR: order
    pub fn matmul_at_b(a: &[f32], b: &[f32], c: &mut [f32], m: usize, n: usize, k: usize) {
        c.fill(0.0);
        for i in 0..m {
            let c_row = &mut c[i * n..][..n];
            for p in 0..k {
                let factor = a[p * m + i];
                for (c, b) in c_row.iter_mut().zip(&b[p * n..][..n]) {
                    *c += factor * b;
                }
            }
        }
    }
    // ANCHOR_END: order

    pub fn matmul_a_b(a: &[f32], b: &[f32], c: &mut [f32], m: usize, n: usize, k: usize) {
        c.fill(0.0);
        for i in 0..m {
            let c_row = &mut c[i * n..][..n];
            for p in 0..k {
                let factor = a[i * k + p];
                for (c, b) in c_row.iter_mut().zip(&b[p * n..][..n]) {
                    *c += factor * b;
                }
            }
        }
    }

    /// Unchanged: it already reads both rows from beginning to end.
    pub use super::definition::matmul_a_bt;
}

/// A sum in several parts: independent additions, which fit into one instruction.
pub mod parts {
    // ANCHOR: parts
    const PARTS: usize = 32;

    fn dot(a: &[f32], b: &[f32]) -> f32 {
        let mut sums = [0.0; PARTS];
        let (a_chunks, b_chunks) = (a.chunks_exact(PARTS), b.chunks_exact(PARTS));
        let rest = a_chunks.remainder().iter().zip(b_chunks.remainder());
        let rest: f32 = rest.map(|(a, b)| a * b).sum();
        for (a, b) in a_chunks.zip(b_chunks) {
            for part in 0..PARTS {
                sums[part] += a[part] * b[part];
            }
        }
        sums.iter().sum::<f32>() + rest
    }

    pub fn matmul_a_bt(a: &[f32], b: &[f32], c: &mut [f32], m: usize, n: usize, k: usize) {
        for i in 0..m {
            for j in 0..n {
                c[i * n + j] = dot(&a[i * k..][..k], &b[j * k..][..k]);
            }
        }
    }
    // ANCHOR_END: parts

    /// Unchanged: each iteration of their inner loops is for another element of `c`, so no sum has to wait.
    pub use super::order::{matmul_a_b, matmul_at_b};
}

/// A block of the result at a time, from factors that were packed for it.
pub mod blocks {
    /// Rows and columns of a block: 32 sums, which fit into the vector registers of any processor.
    pub(super) const ROWS: usize = 4;
    const COLUMNS: usize = 8;

    // ANCHOR: block
    /// `ROWS` rows of the left factor by `COLUMNS` columns of the right one, each packed so that all numbers of
    /// one `p` are neighbours in memory.
    fn block(a: &[[f32; ROWS]], b: &[[f32; COLUMNS]]) -> [[f32; COLUMNS]; ROWS] {
        // Separate variables, because the compiler would keep an array of arrays in memory.
        let (mut sums_0, mut sums_1) = ([0.0; COLUMNS], [0.0; COLUMNS]);
        let (mut sums_2, mut sums_3) = ([0.0; COLUMNS], [0.0; COLUMNS]);
        for (a, b) in a.iter().zip(b) {
            for column in 0..COLUMNS {
                sums_0[column] += a[0] * b[column];
                sums_1[column] += a[1] * b[column];
                sums_2[column] += a[2] * b[column];
                sums_3[column] += a[3] * b[column];
            }
        }
        [sums_0, sums_1, sums_2, sums_3]
    }
    // ANCHOR_END: block

    // ANCHOR: pack
    /// Packs `at(i, p)`: `WIDTH` neighbouring values of `i`, then the same for the next `p`; after all `k` of
    /// them, the next `WIDTH`. Positions from `count` on are 0, and add nothing to a sum.
    pub(super) fn packed<const WIDTH: usize>(
        at: impl Fn(usize, usize) -> f32,
        count: usize,
        k: usize,
    ) -> Vec<[f32; WIDTH]> {
        let firsts = (0..count).step_by(WIDTH);
        let groups = firsts.flat_map(|first| (0..k).map(move |p| (first, p)));
        let one = |(first, p)| {
            std::array::from_fn(|i| if first + i < count { at(first + i, p) } else { 0.0 })
        };
        groups.map(one).collect()
    }

    pub fn matmul_a_bt(a: &[f32], b: &[f32], c: &mut [f32], m: usize, n: usize, k: usize) {
        multiply(&packed(|i, p| a[i * k + p], m, k), &packed(|j, p| b[j * k + p], n, k), c, n, k);
    }

    pub fn matmul_at_b(a: &[f32], b: &[f32], c: &mut [f32], m: usize, n: usize, k: usize) {
        multiply(&packed(|i, p| a[p * m + i], m, k), &packed(|j, p| b[p * n + j], n, k), c, n, k);
    }

    pub fn matmul_a_b(a: &[f32], b: &[f32], c: &mut [f32], m: usize, n: usize, k: usize) {
        multiply(&packed(|i, p| a[i * k + p], m, k), &packed(|j, p| b[p * n + j], n, k), c, n, k);
    }
    // ANCHOR_END: pack

    // ANCHOR: multiply
    /// Computes all blocks of `c`, whose length determines its number of rows.
    pub(super) fn multiply(
        a: &[[f32; ROWS]],
        b: &[[f32; COLUMNS]],
        c: &mut [f32],
        n: usize,
        k: usize,
    ) {
        for (j, b) in b.chunks_exact(k).enumerate() {
            let (first, width) = (j * COLUMNS, COLUMNS.min(n - j * COLUMNS));
            for (a, c) in a.chunks_exact(k).zip(c.chunks_mut(ROWS * n)) {
                let sums = block(a, b);
                for (c_row, sums) in c.chunks_exact_mut(n).zip(sums) {
                    c_row[first..][..width].copy_from_slice(&sums[..width]);
                }
            }
        }
    }
    // ANCHOR_END: multiply
}

/// The blocks of the result, distributed over all cores.
pub mod threads {
    use rayon::prelude::*;

    use super::blocks::{ROWS, multiply, packed};

    // ANCHOR: threads
    /// Each thread gets rows of `c` that no other thread writes, so no thread has to wait.
    fn share_out(
        a: impl Fn(usize, usize) -> f32,
        b: impl Fn(usize, usize) -> f32,
        c: &mut [f32],
        m: usize,
        n: usize,
        k: usize,
    ) {
        let (a, b) = (packed(a, m, k), packed(b, n, k));
        let share = m.div_ceil(ROWS).div_ceil(rayon::current_num_threads());
        c.par_chunks_mut(share * ROWS * n)
            .zip(a.par_chunks(share * k))
            .for_each(|(c, a)| multiply(a, &b, c, n, k));
    }
    // ANCHOR_END: threads

    pub fn matmul_a_bt(a: &[f32], b: &[f32], c: &mut [f32], m: usize, n: usize, k: usize) {
        share_out(|i, p| a[i * k + p], |j, p| b[j * k + p], c, m, n, k);
    }

    pub fn matmul_at_b(a: &[f32], b: &[f32], c: &mut [f32], m: usize, n: usize, k: usize) {
        share_out(|i, p| a[p * m + i], |j, p| b[p * n + j], c, m, n, k);
    }

    pub fn matmul_a_b(a: &[f32], b: &[f32], c: &mut [f32], m: usize, n: usize, k: usize) {
        share_out(|i, p| a[i * k + p], |j, p| b[p * n + j], c, m, n, k);
    }
}

/// Each version, with its three products.
pub const WAYS: [(&str, [Product; 3]); 5] = [
    ("the definition", [definition::matmul_a_bt, definition::matmul_at_b, definition::matmul_a_b]),
    ("loops in order", [order::matmul_a_bt, order::matmul_at_b, order::matmul_a_b]),
    ("sums in parts", [parts::matmul_a_bt, parts::matmul_at_b, parts::matmul_a_b]),
    ("blocks, packed", [blocks::matmul_a_bt, blocks::matmul_at_b, blocks::matmul_a_b]),
    ("all cores", [threads::matmul_a_bt, threads::matmul_at_b, threads::matmul_a_b]),
];
