//! The emulated device: loads modules, launches kernels.

mod loaded;
mod variables;

pub use loaded::{Kernel, Launch, Loaded};
use variables::Variables;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::checks::Checks;
use crate::diagnostic::Diagnostic;
use crate::engine::grid::{Grid, LaunchSettings};
use crate::engine::lower::Loading;
use crate::engine::output::Output;
use crate::engine::race::Pool;
use crate::engine::record::Recorder;
use crate::engine::timer::Timer;
use crate::engine::trace::{TracedThread, Tracer};
use crate::engine::watch::Watch;
use crate::engine::{grid, lower};
use crate::fault::{Fault, FaultKind, Report};
use crate::limits::{BLOCK_SHAPE, BLOCK_THREADS, GRID_SHAPE, RESIDENT_WARPS, SHARED_BYTES};
use crate::memory::{Home, Memory, Reach};
use crate::program::Module;
use crate::record::Record;
use crate::room::OutOfMemory;
use crate::source::Source;
use crate::statistics::Statistics;
use crate::trace::Trace;

/// The maximum number of host threads that run blocks.
pub const MAX_THREADS: usize = 1024;

/// Options of a device.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Host threads that run blocks, at most [`MAX_THREADS`]; 0 for the machine's number of threads.
    pub threads: usize,
    /// Runs everything on one thread, blocks in order, with a clock that counts instructions, so that
    /// every run is the same.
    pub deterministic: bool,
    /// Shuffles the order in which the warps of a block take turns.
    pub seed: Option<u64>,
    /// Checks in addition to bounds, alignment and use after free, which are always on.
    pub checks: Checks,
    /// Counts the executions of each instruction.
    pub statistics: bool,
    /// The maximum number of instructions that a warp may execute.
    pub instruction_limit: Option<u64>,
    /// The limit of bytes for allocations, variables, and the resident blocks of a launch; by default
    /// [`machine::memory`](crate::machine::memory).
    pub memory: Option<u64>,
    /// Reserves a range of addresses for device memory and pinned memory, so that an address that is in the range, but
    /// outside all allocations, is never in the program's memory. The range takes no memory. This is for callers that
    /// get device and host addresses through the same arguments, as CUDA's functions do.
    pub reserve_addresses: bool,
    /// Disables AVX2 and FMA even if the host has them. The results are the same, which tests check.
    pub portable: bool,
    /// The compute capability of the card, such as 80 for 8.0, which decides how the matrix units add;
    /// 90 by default.
    pub capability: Option<u32>,
    /// The destination of kernels' `printf`; standard output by default.
    pub output: Output,
}

/// An emulated device. Clones share the same device.
#[derive(Clone, Debug)]
pub struct Emulator(Arc<Device>);

#[derive(Debug)]
struct Device {
    options: RunOptions,
    memory: Arc<Memory>,
    pool: OnceLock<Option<rayon::ThreadPool>>,
    launches: AtomicU64,
    /// Whether instructions are counted.
    counting: AtomicBool,
    /// Pages of racecheck that can be reused.
    race_pages: Pool,
    timer: Timer,
}

impl Emulator {
    /// A device with empty memory.
    #[must_use]
    pub fn new(options: RunOptions) -> Self {
        let memory = Arc::new(Memory::new(
            options.reserve_addresses,
            options.checks.initialisation,
            options.memory.unwrap_or_else(crate::machine::memory),
        ));
        let (pool, launches) = (OnceLock::new(), AtomicU64::new(0));
        let counting = AtomicBool::new(options.statistics);
        let (race_pages, timer) = (Pool::default(), Timer::new());
        Self(Arc::new(Device { options, memory, pool, launches, counting, race_pages, timer }))
    }

    /// The device's options.
    #[must_use]
    pub fn options(&self) -> &RunOptions {
        &self.0.options
    }

    /// Turns the counting of instructions on or off, from the next launch on.
    pub fn set_statistics(&self, on: bool) {
        self.0.counting.store(on, Ordering::Relaxed);
    }

    /// The device's memory.
    #[must_use]
    pub fn memory(&self) -> &Memory {
        &self.0.memory
    }

    /// Parses, checks and loads a PTX text. Its variables are allocated until the last clone of the
    /// module and of its kernels is dropped.
    ///
    /// # Errors
    /// If the text is invalid, or the emulator can't run it.
    pub fn load(&self, source: Source) -> Result<Loaded, Vec<Diagnostic>> {
        self.load_at(Home::default(), source)
    }

    /// Parses, checks and loads a PTX text as [`load`](Self::load) does, with the variables on any
    /// device.
    ///
    /// # Errors
    /// As for [`load`](Self::load).
    pub fn load_at(&self, home: Home, source: Source) -> Result<Loaded, Vec<Diagnostic>> {
        let module = crate::parse(&source)?;
        self.load_parsed(home, module, source)
    }

    /// Loads a module that has been parsed from `source` already.
    ///
    /// # Errors
    /// If the emulator can't run it.
    pub fn load_module(&self, module: Module, source: Source) -> Result<Loaded, Vec<Diagnostic>> {
        self.load_parsed(Home::default(), module, source)
    }

    fn load_parsed(
        &self,
        home: Home,
        module: Module,
        source: Source,
    ) -> Result<Loaded, Vec<Diagnostic>> {
        let (module, source) = (&Arc::new(module), Arc::new(source));
        let mut variables = Variables::new(&self.0.memory, home);
        let addresses =
            variables.allocate(module).map_err(|problems| problems.into_diagnostics(&source))?;
        let loading = Loading {
            module,
            source: Arc::clone(&source),
            addresses,
            checks: self.0.options.checks,
            portable: self.0.options.portable,
            capability: self.0.options.capability.unwrap_or(crate::limits::CAPABILITY),
        };
        let executables =
            lower::lower(&loading).map_err(|problems| problems.into_diagnostics(&source))?;
        let variables = Arc::new(variables);
        let kernels = executables
            .into_iter()
            .map(|executable| Kernel { executable, variables: Arc::clone(&variables) })
            .collect();
        Ok(Loaded { target: module.target, kernels, variables })
    }

    /// Runs a kernel to its end, on the first device.
    ///
    /// # Errors
    /// If a thread breaks a rule (the first one), or the launch is invalid.
    pub fn launch(&self, kernel: &Kernel, launch: &Launch) -> Result<Statistics, Fault> {
        self.launch_from(Reach::default(), kernel, launch)
    }

    /// Runs a kernel to its end as [`launch`](Self::launch) does, on any device.
    ///
    /// # Errors
    /// As for [`launch`](Self::launch).
    pub fn launch_from(
        &self,
        reach: Reach,
        kernel: &Kernel,
        launch: &Launch,
    ) -> Result<Statistics, Fault> {
        self.run(reach, kernel, launch, None)
    }

    /// Runs a kernel and traces the first `most` instructions of one thread, `thread` of `block`. If
    /// the kernel is stopped, the fault is returned next to the trace up to that point.
    ///
    /// # Errors
    /// If the launch has no such thread, or is invalid.
    pub fn trace(
        &self,
        kernel: &Kernel,
        launch: &Launch,
        (block, thread): ([u32; 3], [u32; 3]),
        most: usize,
    ) -> Result<(Trace, Result<Statistics, Fault>), Fault> {
        check_launch(kernel, launch, self.memory())?;
        let block = number(kernel, "block", block, launch.grid)?;
        let thread = number(kernel, "thread", thread, launch.block)?;
        let followed = TracedThread { block, thread: thread as u32, max_events: most };
        let tracer = Arc::new(Mutex::new(Tracer::new(&kernel.executable, followed)));
        let watch: Arc<Mutex<dyn Watch>> = tracer.clone();
        let outcome = self.run(Reach::default(), kernel, launch, Some(watch));
        let mut tracer = tracer.lock().unwrap_or_else(PoisonError::into_inner);
        Ok((tracer.take(), outcome))
    }

    /// Runs a kernel and records the first `most` instructions of one block's warps. If the kernel is
    /// stopped, the fault is returned next to the recording up to that point.
    ///
    /// # Errors
    /// If the launch has no such block, or is invalid.
    pub fn record(
        &self,
        kernel: &Kernel,
        launch: &Launch,
        block: [u32; 3],
        most: usize,
    ) -> Result<(Record, Result<Statistics, Fault>), Fault> {
        check_launch(kernel, launch, self.memory())?;
        let block = number(kernel, "block", block, launch.grid)?;
        let recorder = Arc::new(Mutex::new(Recorder::new(&kernel.executable, block, most)));
        let watch: Arc<Mutex<dyn Watch>> = recorder.clone();
        let outcome = self.run(Reach::default(), kernel, launch, Some(watch));
        let mut recorder = recorder.lock().unwrap_or_else(PoisonError::into_inner);
        Ok((recorder.take(), outcome))
    }

    fn run(
        &self,
        reach: Reach,
        kernel: &Kernel,
        launch: &Launch,
        trace: Option<Arc<Mutex<dyn Watch>>>,
    ) -> Result<Statistics, Fault> {
        check_launch(kernel, launch, self.memory())?;
        let options = &self.0.options;
        let setting = LaunchSettings {
            memory: self.memory(),
            output: &options.output,
            pool: self.pool(),
            deterministic: options.deterministic,
            seed: options.seed,
            statistics: self.0.counting.load(Ordering::Relaxed),
            trace,
            instruction_limit: options.instruction_limit.unwrap_or(u64::MAX),
            check_synchronisation: options.checks.synchronisation,
            check_initialisation: options.checks.initialisation,
            check_races: options.checks.races,
            race_pages: &self.0.race_pages,
            timer: &self.0.timer,
            grid_id: self.0.launches.fetch_add(1, Ordering::Relaxed),
            heap: launch.heap,
            reach,
        };
        let grid = Grid {
            grid: launch.grid,
            block: launch.block,
            dynamic_shared: launch.dynamic_shared,
            parameters: &launch.parameters,
            cooperative: launch.cooperative,
        };
        grid::run(&kernel.executable, &grid, &setting)
    }

    /// Additional threads for running blocks; `None` if only one thread should run.
    fn pool(&self) -> Option<&rayon::ThreadPool> {
        let options = &self.0.options;
        let make = || {
            let threads = match options.threads {
                _ if options.deterministic => 1,
                0 => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
                threads => threads.min(MAX_THREADS),
            };
            let build = || {
                rayon::ThreadPoolBuilder::new()
                    .num_threads(threads - 1)
                    .thread_name(|index| format!("emulated-gpu-{index}"))
                    .build()
                    .ok()
            };
            (threads > 1).then(build).flatten()
        };
        self.0.pool.get_or_init(make).as_ref()
    }
}

/// The linear index of a block or a thread from its position.
fn number(kernel: &Kernel, what: &str, index: [u32; 3], shape: [u32; 3]) -> Result<u64, Fault> {
    let [i, s] = [index, shape].map(|axes| axes.map(u64::from));
    if index.iter().zip(shape).all(|(&index, length)| index < length) {
        return Ok(i[0] + s[0] * (i[1] + s[1] * i[2]));
    }
    Err(invalid(kernel, format!("there is no {what} {index:?}: the shape is {shape:?}")))
}

/// The fault for an invalid launch.
fn invalid(kernel: &Kernel, message: String) -> Fault {
    Fault::from(Report::of_launch(FaultKind::InvalidLaunch, kernel.name().to_owned(), message))
}

fn check_launch(kernel: &Kernel, launch: &Launch, memory: &Memory) -> Result<(), Fault> {
    let refuse = |message: String| Err(invalid(kernel, message));
    let count =
        |shape: [u32; 3]| shape.iter().fold(1, |product: u64, &n| product.saturating_mul(n.into()));
    let too_long = |shape: [u32; 3], most: [u32; 3]| shape.iter().zip(most).any(|(&n, m)| n > m);
    let (grid, block) = (launch.grid, launch.block);
    if grid.contains(&0) || block.contains(&0) {
        return refuse(format!("grid {grid:?}, block {block:?}: nothing may be 0"));
    }
    if count(block) > BLOCK_THREADS {
        let threads = count(block);
        return refuse(format!("a block has at most {BLOCK_THREADS} threads, not {threads}"));
    }
    if too_long(block, BLOCK_SHAPE) {
        return refuse(format!("block {block:?}: at most {BLOCK_SHAPE:?} threads along the axes"));
    }
    if too_long(grid, GRID_SHAPE) {
        return refuse(format!("grid {grid:?}: at most {GRID_SHAPE:?} blocks along the axes"));
    }
    let limits = kernel.limits();
    if let Some(required) = limits.required_threads
        && required != block
    {
        return refuse(format!("block {block:?}: the kernel requires {required:?} (.reqntid)"));
    }
    if let Some(most) = limits.max_threads
        && count(block) > count(most)
    {
        return refuse(format!(
            "block {block:?}: the kernel allows {} threads (.maxntid)",
            count(most)
        ));
    }
    let shared = kernel.executable.shared_bytes(launch.dynamic_shared);
    if shared > SHARED_BYTES {
        return refuse(format!(
            "{shared} bytes of shared memory: a block has at most {SHARED_BYTES}"
        ));
    }
    let warps = count(grid).saturating_mul(count(block).div_ceil(32));
    if launch.cooperative && warps > RESIDENT_WARPS {
        return refuse(format!(
            "a cooperative grid of {warps} warps: at most {RESIDENT_WARPS} are resident at once"
        ));
    }
    let wanted = kernel.parameter_bytes();
    if launch.parameters.len() < wanted as usize {
        let given = launch.parameters.len();
        return refuse(format!("{given} bytes of parameters: the kernel takes {wanted}"));
    }
    let blocks = if launch.cooperative { count(grid) } else { 1 };
    // Local memory is in device memory. Registers are in host memory, but are also counted.
    let local = u64::from(kernel.executable.local_bytes())
        .saturating_mul(count(block))
        .saturating_mul(blocks);
    let resident = kernel.resident_bytes(launch, blocks);
    if local > memory.total() || resident > crate::machine::memory() {
        let error = OutOfMemory { size: resident };
        let shape = (block, launch.dynamic_shared);
        return Err(grid::out_of_memory_fault(&kernel.executable, shape, blocks, error));
    }
    Ok(())
}
