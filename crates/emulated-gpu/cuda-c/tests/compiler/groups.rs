//! `cooperative_groups` and `nvcuda::wmma`.

use ptx_emulator::{Emulator, Launch};

use crate::kernel::{as_words, compile, load, run, words};

const INCLUDES: &str = "#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\n\
    namespace cg = cooperative_groups;\n";

/// Evaluates `expression` in 64 threads; the variable `v` of each thread has one of `values`.
fn results(before: &str, expression: &str, values: &[u32]) -> Vec<u32> {
    let source = format!(
        "{INCLUDES}{before}\nextern \"C\" __global__ void k(int *out, const int *in) {{
             cg::thread_block block = cg::this_thread_block();
             cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
             auto tile = cg::tiled_partition<8>(block);
             auto part = cg::tiled_partition<4>(warp);
             int rank = block.thread_rank(), v = in[rank];
             out[rank] = {expression};
         }}"
    );
    let text = compile(&source);
    let arguments = [words(&vec![0; values.len()]), words(values)];
    let (memory, _) = run(&text, "k", ([1, 1, 1], [16, 4, 1]), &arguments);
    as_words(&memory[0])
}

fn check(expression: &str, expected: impl Fn(&[u32], usize) -> u32) {
    let values: Vec<u32> = (0..64u32).map(|i| i.wrapping_mul(2_654_435_769) >> 20).collect();
    let found = results("", expression, &values);
    let expected: Vec<u32> = (0..64).map(|i| expected(&values, i)).collect();
    assert_eq!(found, expected, "{expression}");
}

fn group(values: &[u32], i: usize, size: usize) -> &[u32] {
    &values[i / size * size..][..size]
}

#[test]
fn tiles_of_a_warp_exchange_values() {
    check("cg::reduce(warp, v, cg::plus<int>())", |v, i| group(v, i, 32).iter().sum());
    check("cg::reduce(tile, v, cg::greater<int>{})", |v, i| *group(v, i, 8).iter().max().unwrap());
    check("cg::reduce(part, v, cg::less<int>{})", |v, i| *group(v, i, 4).iter().min().unwrap());
    check("tile.shfl(v, 3)", |v, i| group(v, i, 8)[3]);
    check("tile.shfl_xor(v, 5)", |v, i| group(v, i, 8)[(i % 8) ^ 5]);
    check("tile.shfl_down(v, 2)", |v, i| group(v, i, 8)[if i % 8 < 6 { i % 8 + 2 } else { i % 8 }]);
    check("warp.shfl_up(v, 1)", |v, i| v[if i % 32 == 0 { i } else { i - 1 }]);
    check("tile.ballot(v & 1)", |v, i| {
        group(v, i, 8).iter().enumerate().map(|(lane, v)| (v & 1) << lane).sum()
    });
    check("tile.any(v > 3000) * 2 + tile.all(v > 100)", |v, i| {
        let own = group(v, i, 8);
        u32::from(own.iter().any(|v| *v > 3000)) * 2 + u32::from(own.iter().all(|v| *v > 100))
    });
    check(
        "tile.thread_rank() * 1000 + tile.meta_group_rank() * 10 + tile.meta_group_size()",
        |_, i| (i % 8 * 1000 + i / 8 * 10 + 8) as u32,
    );
    check("part.meta_group_rank() * 100 + part.meta_group_size()", |_, i| {
        (i % 32 / 4 * 100 + 8) as u32
    });
    check("cg::inclusive_scan(tile, v)", |v, i| group(v, i, 8)[..=i % 8].iter().sum());
    check("cg::exclusive_scan(tile, v, cg::plus<int>{})", |v, i| {
        group(v, i, 8)[..i % 8].iter().sum()
    });
    check("block.size() + block.thread_index().y", |_, i| 64 + (i / 16) as u32);
}

#[test]
fn groups_of_active_lanes_have_their_members() {
    let before = "__device__ int some(int v) {
        if (v % 3 != 0) return -1;
        cg::coalesced_group active = cg::coalesced_threads();
        return cg::reduce(active, v, cg::plus<int>{}) * 64 + active.thread_rank();
    }";
    let values: Vec<u32> = (0..64).map(|i| (i * i) % 31).collect();
    let found = results(before, "some(v)", &values);
    for (i, found) in found.into_iter().enumerate() {
        let warp = group(&values, i, 32);
        let sum: u32 = warp.iter().filter(|v| **v % 3 == 0).sum();
        let before = warp[..i % 32].iter().filter(|v| **v % 3 == 0).count() as u32;
        let expected = if values[i].is_multiple_of(3) { sum * 64 + before } else { u32::MAX };
        assert_eq!(found, expected, "{i}");
    }
}

/// A sum in a group that is only known when the kernel runs, as in NVIDIA's examples.
#[test]
fn groups_known_at_run_time() {
    let before = "__device__ int summed(cg::thread_group g, int *temporary, int v) {
        int lane = g.thread_rank();
        for (int i = g.size() / 2; i > 0; i /= 2) {
            temporary[lane] = v;
            g.sync();
            if (lane < i) v += temporary[lane + i];
            g.sync();
        }
        return v;
    }
    __shared__ int shared_memory[64];";
    let values: Vec<u32> = (0..64).collect();
    let all = results(before, "summed(block, shared_memory, v)", &values);
    assert_eq!(all[0], 63 * 32);
    let tiles = results(before, "summed(tile, shared_memory + rank / 8 * 8, v)", &values);
    for tile in 0..8u32 {
        assert_eq!(tiles[tile as usize * 8], tile * 64 + 28);
    }
}

#[test]
fn grid_synchronisation() {
    let source = format!(
        "{INCLUDES}extern \"C\" __global__ void k(int *a, int *out) {{
             cg::grid_group grid = cg::this_grid();
             int i = grid.thread_rank(), n = grid.size();
             a[i] = i;
             for (int round = 0; round < 3; ++round) {{
                 grid.sync();
                 int next = a[(i + 33) % n];
                 grid.sync();
                 a[i] = next;
             }}
             out[i] = a[i];
         }}"
    );
    let text = compile(&source);
    let emulator = Emulator::new(ptx_emulator::RunOptions::default());
    let kernel = load(&emulator, "k", &text).kernel("k").unwrap();
    let address = emulator.memory().allocate(512, 256).unwrap();
    let mut parameters = address.to_le_bytes().to_vec();
    parameters.extend((address + 256).to_le_bytes());
    let launch = Launch {
        grid: [4, 1, 1],
        block: [16, 1, 1],
        parameters,
        cooperative: true,
        ..Launch::default()
    };
    // A GPU stops a launch that isn't cooperative, as its blocks might never run together.
    let plain = Launch { cooperative: false, ..launch.clone() };
    let fault = emulator.launch(&kernel, &plain).unwrap_err();
    assert!(fault.to_string().contains("the launch is not cooperative"), "{fault}");
    emulator.launch(&kernel, &launch).unwrap_or_else(|fault| panic!("{fault}\n{text}"));
    let mut bytes = vec![0; 256];
    emulator.memory().read(address + 256, &mut bytes).unwrap();
    let expected: Vec<u32> = (0..64).map(|i| (i + 99) % 64).collect();
    assert_eq!(as_words(&bytes), expected);
}

/// The instructions have as many registers as the PTX ISA specifies.
#[test]
fn matrix_fragments() {
    let kernel = |shape: &str, element: &str, sum: &str, [a, b]: [&str; 2]| {
        format!(
            "#include <mma.h>\nusing namespace nvcuda;
             __global__ void k(const {element} *a, const {element} *b, {sum} *c) {{
                 wmma::fragment<wmma::matrix_a, {shape}, {element}, wmma::{a}_major> fa;
                 wmma::fragment<wmma::matrix_b, {shape}, {element}, wmma::{b}_major> fb;
                 wmma::fragment<wmma::accumulator, {shape}, {sum}> fc;
                 wmma::fill_fragment(fc, ({sum})0.0f);
                 wmma::load_matrix_sync(fa, a, 16);
                 wmma::load_matrix_sync(fb, b, 16);
                 wmma::mma_sync(fc, fa, fb, fc);
                 for (int i = 0; i < fc.num_elements; ++i) fc.x[i] = fc.x[i] + fc.x[i];
                 wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
             }}"
        )
    };
    let registers = |line: &str| -> Vec<usize> {
        let groups = line.split('{').skip(1);
        groups.map(|group| group.split('}').next().unwrap_or("").split(',').count()).collect()
    };
    let bf16 = "f32.bf16.bf16.f32";
    for ([m, n, k], element, sum, layouts, types, counts) in [
        ([16, 16, 16], "half", "float", ["row", "col"], "f32.f32", [8, 8, 8, 8]),
        ([8, 32, 16], "half", "half", ["col", "row"], "f16.f16", [4, 8, 8, 4]),
        ([32, 8, 16], "half", "float", ["row", "row"], "f32.f32", [8, 8, 8, 8]),
        ([32, 8, 16], "__nv_bfloat16", "float", ["row", "col"], bf16, [8, 8, 2, 8]),
        ([8, 32, 16], "__nv_bfloat16", "float", ["row", "col"], bf16, [8, 2, 8, 8]),
        ([16, 16, 16], "signed char", "int", ["row", "col"], "s32.s8.s8.s32", [8, 2, 2, 8]),
        ([8, 32, 16], "unsigned char", "int", ["col", "col"], "s32.u8.u8.s32", [8, 1, 4, 8]),
        ([32, 8, 16], "signed char", "int", ["col", "row"], "s32.s8.s8.s32", [8, 4, 1, 8]),
    ] {
        let text = compile(&kernel(&format!("{m}, {n}, {k}"), element, sum, layouts));
        let layouts = layouts.join(".");
        let start = format!("wmma.mma.sync.aligned.{layouts}.m{m}n{n}k{k}.{types}");
        let line = text.lines().find(|line| line.contains(&start));
        let line = line.unwrap_or_else(|| panic!("no {start}\n{text}"));
        assert_eq!(registers(line), counts, "{line}");
        for name in ["wmma.load.a.sync", "wmma.load.b.sync", "wmma.store.d.sync"] {
            assert_eq!(text.matches(name).count(), 1, "{name}\n{text}");
        }
    }
}
