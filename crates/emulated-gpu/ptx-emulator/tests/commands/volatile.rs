//! `--racecheck` on CUDA C that uses `volatile` instead of a barrier or an atomic operation.

use std::process::Output;

use crate::commands::{printed, run_on_files};

/// Kernels that wrongly rely on `volatile` and, with `RIGHT` defined, their correct versions.
const KERNELS: &str = "
__global__ void box(const float *x, float *y) {
    __shared__ volatile float box[64];
    int t = threadIdx.x;
    box[t] = x[t];
#ifdef RIGHT
    __syncthreads();
#endif
    y[t] = box[63 - t];
}
__global__ void total(const float *x, float *y) {
    volatile float *sum = y;
#ifdef RIGHT
    atomicAdd((float *)sum, x[threadIdx.x]);
#else
    *sum += x[threadIdx.x];
#endif
}
__global__ void histogram(const float *x, float *y) {
    volatile float *bins = y;
#ifdef RIGHT
    atomicAdd(y + (int)x[threadIdx.x] % 4, 1.0f);
#else
    bins[(int)x[threadIdx.x] % 4]++;
#endif
}
__device__ void last_warp(volatile float *s, int t) {
#ifdef RIGHT
    for (int d = 32; d > 0; d /= 2) {
        float v = s[t] + s[t + d];
        __syncwarp();
        s[t] = v;
        __syncwarp();
    }
#else
    s[t] += s[t + 32];
    s[t] += s[t + 16];
    s[t] += s[t + 8];
    s[t] += s[t + 4];
    s[t] += s[t + 2];
    s[t] += s[t + 1];
#endif
}
__global__ void reduce(const float *x, float *y) {
    __shared__ float s[96];
    int t = threadIdx.x;
    s[t] = x[t];
    if (t < 32) s[64 + t] = 0;
    __syncthreads();
    if (t < 32) last_warp(s, t);
    if (t == 0) y[0] = s[0];
}
";

/// Kernels with flags that a loop waits for, as in NVIDIA's samples: the sum of the last block (threadFenceReduction),
/// and a barrier of all blocks without an atomic operation (Xiao and Feng, "Inter-Block GPU Communication via Fast
/// Barrier Synchronization", 2010).
const FLAGS: &str = "
__device__ unsigned count;
__device__ volatile int arrived[8], go[8];
__global__ void last_block(const float *x, volatile float *y) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        y[blockIdx.x] = x[blockIdx.x];
        __threadfence();
        last = atomicInc(&count, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float sum = 0;
        for (int i = 0; i < gridDim.x; i++) sum += y[i];
        y[0] = sum;
    }
}
__global__ void all_blocks(const float *x, volatile float *y) {
    int t = threadIdx.x, b = blockIdx.x;
    if (t == 0) y[b] = x[b];
    __threadfence();
    __syncthreads();
    if (t == 0) arrived[b] = 1;
    if (b == 0) {
        if (t < gridDim.x) while (arrived[t] == 0);
        __threadfence();
        __syncthreads();
        if (t < gridDim.x) go[t] = 1;
    }
    if (t == 0) while (go[b] == 0);
    __threadfence();
    __syncthreads();
    if (t == 0) {
        float sum = 0;
        for (int i = 0; i < gridDim.x; i++) sum += y[i];
        if (b == 0) y[gridDim.x] = sum;
    }
}
";

fn run(text: &str, entry: &str, [grid, block]: [&str; 2]) -> Output {
    let launch = ["run", "FILE", "--racecheck", "--entry", entry, "--grid", grid, "--block", block];
    let more = ["--arg", "f32[64]:iota", "--arg", "f32[64]:0", "--cooperative", "--show", "9"];
    run_on_files(&[("kernel.cu", text)], &[&launch[..], &more[..]].concat())
}

#[test]
fn relying_on_volatile_is_a_race() {
    let right = format!("#define RIGHT\n{KERNELS}");
    let sums = [
        ("box", "63.0 62.0"),
        ("total", "2016.0"),
        ("histogram", "16.0 16.0"),
        ("reduce", "2016.0"),
    ];
    for (entry, values) in sums {
        let output = run(KERNELS, entry, ["1", "64"]);
        assert_eq!(output.status.code(), Some(1), "{entry}: {}", printed(&output));
        for part in ["error: race: ", "both are volatile", "\"volatile Operation\""] {
            assert!(printed(&output).contains(part), "{entry}: {part}\n{}", printed(&output));
        }
        let output = run(&right, entry, ["1", "64"]);
        assert_eq!(output.status.code(), Some(0), "{entry}: {}", printed(&output));
        assert!(
            printed(&output).contains(&format!("is now {values}")),
            "{entry}: {}",
            printed(&output)
        );
    }
}

#[test]
fn a_volatile_flag_is_not_a_race() {
    for (entry, at) in [("last_block", "is now 28.0 1.0"), ("all_blocks", "6.0 7.0 28.0")] {
        let output = run(FLAGS, entry, ["8", "32"]);
        assert_eq!(output.status.code(), Some(0), "{entry}: {}", printed(&output));
        assert!(printed(&output).contains(at), "{entry}: {}", printed(&output));
    }
}

#[test]
fn the_help_describes_the_limits_of_racecheck() {
    let output = run_on_files(&[("kernel.cu", "")], &["run", "--help"]);
    let help = printed(&output);
    assert!(help.contains("volatile"), "{help}");
}
