//! Measures the speed of the emulated cuBLASLt on this machine, for the products of a training step
//! of 784-30-10 with batch 256 and for square ones.
//!
//!     cargo run --release -p emulated-cublaslt --example matmul_speed

#![allow(unsafe_code, reason = "the functions are C")]

use std::ffi::c_void;
use std::sync::Arc;
use std::time::Instant;

use cudarc::cublaslt::{result, sys};
use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtr};
use host::println;

type Failure = Box<dyn std::error::Error>;

/// A product with all its structures and memory.
struct PreparedProduct {
    handle: sys::cublasLtHandle_t,
    descriptor: sys::cublasLtMatmulDesc_t,
    layouts: [sys::cublasLtMatrixLayout_t; 3],
    algorithm: sys::cublasLtMatmulAlgo_t,
    memory: [CudaSlice<f32>; 3],
    /// Owns the memory at the bias's address.
    _extra: CudaSlice<f32>,
    stream: Arc<CudaStream>,
}

impl PreparedProduct {
    /// Prepares the product `[m, k] · [k, n]`. `transposed` states, for `A` and `B`, whether the
    /// matrix is stored transposed.
    fn new(
        stream: &Arc<CudaStream>,
        (m, n, k): (usize, usize, usize),
        transposed: (bool, bool),
        epilogue: i32,
    ) -> Result<Self, Failure> {
        let f32_type = sys::cudaDataType_t::CUDA_R_32F;
        let memory = [m * k, k * n, m * n]
            .map(|len| stream.clone_htod(&vec![0.5f32; len]))
            .into_iter()
            .collect::<Result<Vec<_>, _>>()?;
        let memory: [CudaSlice<f32>; 3] = memory.try_into().map_err(|_| "three matrices")?;
        let extra = stream.clone_htod(&vec![0.0f32; m.next_multiple_of(128) / 8 * n + m])?;
        let (address, _guard) = extra.device_ptr(stream);
        let layout = |rows: usize, columns: usize, turned: bool| {
            let (rows, columns) = if turned { (columns, rows) } else { (rows, columns) };
            result::create_matrix_layout(f32_type, rows as u64, columns as u64, rows as i64)
        };
        let handle = result::create_handle()?;
        let descriptor =
            result::create_matmul_desc(sys::cublasComputeType_t::CUBLAS_COMPUTE_32F, f32_type)?;
        let layouts =
            [layout(m, k, transposed.0)?, layout(k, n, transposed.1)?, layout(m, n, false)?];
        let (ta, tb) = (i32::from(transposed.0), i32::from(transposed.1));
        let ld = m.next_multiple_of(128) as i64;
        use sys::cublasLtMatmulDescAttributes_t::*;
        // SAFETY: attributes have the given sizes, and all structures were created above.
        let algorithm = unsafe {
            let set = |attribute, value: *const c_void, size| {
                result::set_matmul_desc_attribute(descriptor, attribute, value, size)
            };
            set(CUBLASLT_MATMUL_DESC_TRANSA, (&raw const ta).cast(), 4)?;
            set(CUBLASLT_MATMUL_DESC_TRANSB, (&raw const tb).cast(), 4)?;
            set(CUBLASLT_MATMUL_DESC_EPILOGUE, (&raw const epilogue).cast(), 4)?;
            let bias = address + (ld as u64 / 8 * n as u64).next_multiple_of(16);
            set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, (&raw const bias).cast(), 8)?;
            set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, (&raw const address).cast(), 8)?;
            set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, (&raw const ld).cast(), 8)?;
            let preference = result::create_matmul_pref()?;
            let [a, b, d] = layouts;
            let results =
                result::get_matmul_algo_heuristic(handle, descriptor, a, b, d, d, preference)?;
            result::destroy_matmul_pref(preference)?;
            results.algo
        };
        let stream = Arc::clone(stream);
        drop(_guard);
        Ok(Self { handle, descriptor, layouts, algorithm, memory, _extra: extra, stream })
    }

    fn queue(&self) -> Result<(), Failure> {
        let [a, b, d] = [0, 1, 2].map(|index: usize| self.memory[index].device_ptr(&self.stream).0);
        let (one, zero) = (1.0f32, 0.0f32);
        let [la, lb, ld] = self.layouts;
        // SAFETY: `self` owns everything, and the operands are large enough.
        unsafe {
            result::matmul(
                self.handle,
                self.descriptor,
                (&raw const one).cast(),
                (&raw const zero).cast(),
                a as *const _,
                la,
                b as *const _,
                lb,
                d as *const _,
                ld,
                d as *mut _,
                ld,
                &raw const self.algorithm,
                std::ptr::null_mut(),
                0,
                self.stream.cu_stream().cast(),
            )?;
        }
        Ok(())
    }

    /// The median time of a product in seconds, if many are enqueued at a time.
    fn seconds(&self) -> Result<f64, Failure> {
        let mut times = Vec::new();
        for _ in 0..9 {
            let begin = Instant::now();
            const COUNT: u32 = 20;
            for _ in 0..COUNT {
                self.queue()?;
            }
            self.stream.synchronize()?;
            times.push(begin.elapsed().as_secs_f64() / f64::from(COUNT));
        }
        times.sort_by(f64::total_cmp);
        Ok(times[times.len() / 2])
    }
}

fn main() -> Result<(), Failure> {
    for path in [emulated_cuda::library_path()?, emulated_cublaslt::library_path()?] {
        // SAFETY: the libraries' initialisers have no side effects.
        std::mem::forget(unsafe { libloading::Library::new(path) }?);
    }
    let context = CudaContext::new(0)?;
    // SAFETY: all work is on a single stream.
    unsafe { context.disable_event_tracking() };
    let stream = context.new_stream()?;
    println!("{}", context.name()?);
    println!("{:<34} {:>16} {:>10} {:>10}", "", "m x n x k", "µs", "GFLOP/s");
    for (name, shape, transposed, epilogue) in [
        ("forward, RELU_AUX_BIAS", (30, 256, 784), (true, false), 134),
        ("output layer, BIAS", (10, 256, 30), (true, false), 4),
        ("back to the hidden layer, DRELU_BGRAD", (30, 256, 10), (false, false), 152),
        ("gradient of the weights, DEFAULT", (784, 30, 256), (false, true), 1),
        ("square", (256, 256, 256), (false, false), 1),
        ("square", (1024, 1024, 1024), (false, false), 1),
    ] {
        let product = PreparedProduct::new(&stream, shape, transposed, epilogue)?;
        let seconds = product.seconds()?;
        let (m, n, k) = shape;
        let gflops = 2e-9 * (m * n * k) as f64 / seconds;
        println!("{name:<38} {m:>4} x{n:>5} x{k:>5} {:>9.1} {gflops:>10.1}", seconds * 1e6);
    }
    Ok(())
}
