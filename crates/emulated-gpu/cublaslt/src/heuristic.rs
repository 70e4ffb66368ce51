//! The heuristic: `cublasLtMatmulAlgoGetHeuristic` and `cublasLtMatmulAlgoCheck`.

use std::ffi::{c_int, c_void};

use c_abi::export;
use emulated_blas::{Result, Status, reject_if};

use crate::algorithm::Algorithm;
use crate::attribute;
use crate::descriptor::Descriptor;
use crate::ffi::Out;
use crate::handle::{Handle, open};
use crate::layout::Layout;
use crate::preference::Preference;
use crate::problem::Problem;

/// `cublasLtMatmulHeuristicResult_t`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct HeuristicResult {
    algorithm: Algorithm,
    workspace_size: usize,
    state: c_int,
    waves_count: f32,
    reserved: [c_int; 4],
}

impl HeuristicResult {
    fn new(algorithm: Algorithm, problem: &Problem, multiprocessors: u32) -> Self {
        Self {
            algorithm,
            workspace_size: algorithm.workspace(problem) as usize,
            state: Status::Success.code(),
            waves_count: algorithm.blocks(problem) as f32 / multiprocessors.max(1) as f32,
            reserved: [0; 4],
        }
    }
}

/// Pointers to the descriptor and the layouts of a problem.
pub(crate) struct ProblemPointers {
    pub(crate) descriptor: *const Descriptor,
    pub(crate) a: *const Layout,
    pub(crate) b: *const Layout,
    pub(crate) c: *const Layout,
    pub(crate) d: *const Layout,
}

impl ProblemPointers {
    /// Reads the structures and checks the problem.
    ///
    /// # Safety
    /// See [`attribute::read`] for each pointer.
    pub(crate) unsafe fn read(&self) -> Result<Problem> {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let descriptor = attribute::read(self.descriptor, "operationDesc")?;
            let a = attribute::read(self.a, "Adesc")?;
            let b = attribute::read(self.b, "Bdesc")?;
            let c = attribute::read(self.c, "Cdesc")?;
            let d = attribute::read(self.d, "Ddesc")?;
            Problem::new(descriptor, (&a, &b, &c, &d))
        }
    }
}

/// # Safety
/// See [`ProblemPointers::read`]; `results` must have space for `requested` results.
unsafe fn find_algorithms(
    handle: Handle,
    pointers: &ProblemPointers,
    preference: *const Preference,
    requested: c_int,
    results: Out<'_, HeuristicResult>,
    returned: Out<'_, c_int>,
) -> Result {
    returned.set_as(0, "returnAlgoCount")?;
    let driver = open(handle)?;
    reject_if!(requested < 1, invalid, "requestedAlgoCount is {requested}: it must be at least 1");
    // SAFETY: guaranteed by the caller.
    let (preference, problem) =
        unsafe { (attribute::read(preference, "preference")?, pointers.read()?) };
    let mut algorithms = Algorithm::choose_algorithm(&problem, &preference)?;
    algorithms.truncate(requested.unsigned_abs() as usize);
    for (index, &algorithm) in algorithms.iter().enumerate() {
        let result = HeuristicResult::new(algorithm, &problem, driver.multiprocessors);
        // SAFETY: the array has space for `requested` results, as the caller promises.
        unsafe { results.offset(index) }.set_as(result, "heuristicResultsArray")?;
    }
    returned.set_as(algorithms.len() as c_int, "returnAlgoCount")
}

/// # Safety
/// See [`find_algorithms`].
unsafe fn check_algorithm(
    handle: Handle,
    pointers: &ProblemPointers,
    algorithm: *const Algorithm,
    result: Out<'_, HeuristicResult>,
) -> Result {
    let driver = open(handle)?;
    // SAFETY: guaranteed by the caller.
    unsafe {
        let algorithm: Algorithm = attribute::read(algorithm, "algo")?;
        let problem = pointers.read()?;
        result.set_as(HeuristicResult::new(algorithm, &problem, driver.multiprocessors), "result")
    }
}

/// Declares exported functions that take a problem. A declaration lists their other arguments, and
/// the function that implements them. Each is also exported under a second name with an additional
/// stream argument.
macro_rules! export_problem_functions {
    ($(
        $(#[$meta:meta])*
        fn $name:ident / $for_stream:ident($($argument:ident: $type:ty),*) = $compute_results:ident;
    )*) => {
        $(export_problem_functions!(@one $(#[$meta])* $name, $compute_results, $($argument: $type),*);)*
        $(export_problem_functions!(
            @one #[doc = concat!("See [`", stringify!($name), "`]; the stream is ignored.")]
            $for_stream, $compute_results, $($argument: $type),*; stream: *mut c_void
        );)*
    };
    (
        @one $(#[$meta:meta])* $name:ident, $compute_results:ident,
        $($argument:ident: $type:ty),* $(; $stream:ident: $stream_type:ty)?
    ) => {
        export! {
            $(#[$meta])*
            fn $name(
                handle: Handle,
                descriptor: *const Descriptor,
                a: *const Layout,
                b: *const Layout,
                c: *const Layout,
                d: *const Layout,
                $($argument: $type,)*
                $($stream: $stream_type,)?
            ) {
                $(let _ = $stream;)?
                $compute_results(handle, &ProblemPointers { descriptor, a, b, c, d }, $($argument),*)
            }
        }
    };
}

export_problem_functions! {
    /// Returns up to `requested` algorithms for a problem, or fails with
    /// `CUBLAS_STATUS_NOT_SUPPORTED` if no algorithm supports it.
    fn cublasLtMatmulAlgoGetHeuristic / cublasLtMatmulAlgoGetHeuristicForStream(
        preference: *const Preference, requested: c_int, results: Out<'_, HeuristicResult>, returned: Out<'_, c_int>
    ) = find_algorithms;

    /// Checks that an algorithm supports a problem.
    fn cublasLtMatmulAlgoCheck / cublasLtMatmulAlgoCheckForStream(
        algorithm: *const Algorithm, result: Out<'_, HeuristicResult>
    ) = check_algorithm;
}
