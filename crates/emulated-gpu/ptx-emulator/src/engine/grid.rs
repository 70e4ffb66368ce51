//! A launch: its blocks are distributed over host threads, each of which takes the next block that
//! is left. The blocks of a cooperative launch are all resident from the beginning, and take turns.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::block::{Block, LaunchShape, Pass};
use super::code::Executable;
use super::core::{Bytes, Core, RacingAccess, Site};
use super::output::Output;
use super::profile::Profile;
use super::race::{Pool, Races};
use super::registers::{LANES, Registers};
use super::timer::Timer;
use super::turn::{Stopped, TurnRules};
use super::watch::Watch;
use super::workspace::Workspace;
use crate::fault::{Fault, FaultKind, OtherAccess, Report};
use crate::memory::{Heap, Memory, OutOfMemory, Reach};
use crate::statistics::Statistics;

/// The settings of a launch, in addition to its kernel.
pub(crate) struct LaunchSettings<'launch> {
    pub(crate) memory: &'launch Memory,
    pub(crate) output: &'launch Output,
    /// The pool of host threads; `None` to run everything on the calling thread.
    pub(crate) pool: Option<&'launch rayon::ThreadPool>,
    pub(crate) deterministic: bool,
    pub(crate) seed: Option<u64>,
    pub(crate) statistics: bool,
    /// Observes the launch.
    pub(crate) trace: Option<Arc<Mutex<dyn Watch>>>,
    pub(crate) instruction_limit: u64,
    pub(crate) check_synchronisation: bool,
    pub(crate) check_initialisation: bool,
    pub(crate) check_races: bool,
    pub(crate) race_pages: &'launch Pool,
    pub(crate) timer: &'launch Timer,
    pub(crate) grid_id: u64,
    /// The heap from which `malloc` allocates.
    pub(crate) heap: Heap,
    /// The memory that the launch may access.
    pub(crate) reach: Reach,
}

/// The arguments of a launch, already validated.
pub(crate) struct Grid<'launch> {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) dynamic_shared: u32,
    pub(crate) parameters: &'launch [u8],
    pub(crate) cooperative: bool,
}

/// The state that host threads share during a launch.
struct LaunchState<'launch> {
    executable: &'launch Executable,
    settings: &'launch LaunchSettings<'launch>,
    shape: LaunchShape,
    parameters: Bytes,
    races: Option<Races>,
    next_block: AtomicU64,
    is_stopping: AtomicBool,
    /// The fault of the block with the lowest index so far, and that index.
    fault: Mutex<Option<(u64, Fault)>>,
    totals: Mutex<(Statistics, Option<Profile>)>,
}

/// Runs a launch to its end.
pub(crate) fn run(
    executable: &Executable,
    grid: &Grid<'_>,
    settings: &LaunchSettings<'_>,
) -> Result<Statistics, Fault> {
    let mut parameters = Bytes::new(executable.parameter_bytes as usize)
        .map_err(|error| out_of_memory(executable, error.to_string()))?;
    let given = grid.parameters.len().min(parameters.len() as usize);
    parameters.as_mut_slice()[..given].copy_from_slice(&grid.parameters[..given]);
    let workspace = match grid.cooperative {
        true => Workspace::allocate(executable, settings.memory, settings.reach.device)
            .map_err(|error| out_of_memory(executable, error.to_string()))?,
        false => None,
    };
    let threads = settings.pool.map_or(1, |pool| pool.current_num_threads() + 1);
    let shape = LaunchShape {
        grid: grid.grid,
        block: grid.block,
        dynamic_shared: grid.dynamic_shared,
        grid_id: settings.grid_id,
        processors: threads as u32,
        workspace: workspace.as_ref().map_or(0, Workspace::address),
    };
    let profile = (settings.statistics || settings.trace.is_some())
        .then(|| Profile::new(executable, settings.trace.clone()));
    let shared = LaunchState {
        executable,
        settings,
        shape,
        parameters,
        races: settings.check_races.then(|| Races::new(settings.race_pages)),
        next_block: AtomicU64::new(0),
        is_stopping: AtomicBool::new(false),
        fault: Mutex::new(None),
        totals: Mutex::new((Statistics::default(), profile)),
    };
    let blocks = shape.blocks();
    let workers = (threads as u64).min(blocks) as u32;
    let _lease = settings.memory.lease();
    if grid.cooperative {
        // The blocks run on separate threads, because the pool's threads may be busy with another
        // launch, and a grid barrier needs all of them.
        std::thread::scope(|scope| {
            let mut own = vec![0];
            for worker in 1..workers {
                let shared = &shared;
                let thread = std::thread::Builder::new().name(format!("emulated-gpu-{worker}"));
                // If the system can't create more threads, this thread also does their work.
                if thread
                    .spawn_scoped(scope, move || shared.run_resident(&[worker], workers))
                    .is_err()
                {
                    own.push(worker);
                }
            }
            shared.run_resident(&own, workers);
        });
    } else {
        match settings.pool {
            Some(pool) if workers > 1 => pool.in_place_scope(|scope| {
                for worker in 1..workers {
                    let shared = &shared;
                    scope.spawn(move |_| shared.run_one_by_one(worker));
                }
                shared.run_one_by_one(0);
            }),
            _ => shared.run_one_by_one(0),
        }
    }
    let fault = shared.fault.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some((_, fault)) = fault {
        return Err(fault);
    }
    if shared.races.as_ref().is_some_and(Races::is_incomplete) {
        return Err(out_of_memory(
            executable,
            "the host ran out of memory for recording accesses, so racecheck may have missed a \
             race: check a smaller launch"
                .to_owned(),
        ));
    }
    let (mut statistics, profile) =
        shared.totals.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    statistics.blocks = blocks;
    statistics.warps = blocks * u64::from(shape.threads().div_ceil(LANES as u32));
    if let Some(profile) = profile {
        statistics.lines = profile.lines(executable);
    }
    Ok(statistics)
}

impl LaunchState<'_> {
    fn core(&self) -> Core<'_> {
        Core {
            image: self.executable,
            memory: self.settings.memory,
            output: self.settings.output,
            parameters: &self.parameters,
            registers: Registers::default(),
            heap: self.settings.heap,
            reach: self.settings.reach,
            local: Bytes::default(),
            shared: Bytes::default(),
            sites: vec![Site::NONE; self.executable.sites as usize],
            warp: 0,
            block: 0,
            clock: 0,
            memory_polls: 0,
            clock_polls: 0,
            timer: self.settings.timer,
            deterministic: self.settings.deterministic,
            initialisation: self.settings.check_initialisation,
            step: 0,
            last_pattern: None,
            races: self.races.as_ref(),
            threads: None,
            resources: Vec::new(),
        }
    }

    fn block(&self) -> Result<Block, OutOfMemory> {
        let (track, races) = (self.settings.check_initialisation, self.settings.check_races);
        Block::new(self.executable, self.shape, track, races)
    }

    fn rules(&self) -> TurnRules {
        TurnRules {
            instruction_limit: self.settings.instruction_limit,
            check_synchronisation: self.settings.check_synchronisation,
        }
    }

    fn profile(&self) -> Option<Profile> {
        (self.settings.statistics || self.settings.trace.is_some())
            .then(|| Profile::new(self.executable, self.settings.trace.clone()))
    }

    /// Runs one block after the other.
    fn run_one_by_one(&self, processor: u32) {
        let mut core = self.core();
        let mut profile = self.profile();
        let mut block = match self.block() {
            Ok(block) => block,
            // The remaining workers can run all blocks without this worker.
            Err(_) if processor > 0 => return,
            Err(error) => return self.stop_for_lack_of_memory(error, 1),
        };
        let mut sum = Statistics::default();
        loop {
            let index = self.next_block.fetch_add(1, Ordering::Relaxed);
            if index >= self.shape.blocks() {
                break;
            }
            block.start(self.executable, self.shape, index, self.settings.seed, processor);
            if !self.run_block(&mut core, &mut block, &mut profile, index) {
                break;
            }
            sum.warp_instructions += block.warps.iter().map(|warp| warp.executed).sum::<u64>();
        }
        sum.thread_instructions = block.thread_instructions;
        self.settings.timer.add(core.clock);
        self.add(&sum, profile.as_ref());
    }

    /// Runs a block until it ends. Returns false if the launch was stopped.
    fn run_block(
        &self,
        core: &mut Core<'_>,
        block: &mut Block,
        profile: &mut Option<Profile>,
        index: u64,
    ) -> bool {
        loop {
            if self.is_stopping.load(Ordering::Relaxed) {
                return false;
            }
            match block.pass(core, &self.executable.code, profile, self.rules()) {
                Ok(Pass::Running) => {}
                Ok(Pass::Finished) => return true,
                Err((stopped, warp)) => {
                    self.report(stopped, index, warp);
                    return false;
                }
            }
        }
    }

    /// Runs the blocks of the workers `own` (every `workers`-th block each), which are all resident
    /// and take turns.
    fn run_resident(&self, own: &[u32], workers: u32) {
        let mut core = self.core();
        let mut profile = self.profile();
        let mut sum = Statistics::default();
        let mut blocks = Vec::new();
        let indices = own.iter().flat_map(|&worker| {
            let every = (u64::from(worker)..self.shape.blocks()).step_by(workers as usize);
            every.map(move |index| (index, worker))
        });
        for (index, worker) in indices {
            if self.is_stopping.load(Ordering::Relaxed) {
                return;
            }
            let mut block = match self.block() {
                Ok(block) => block,
                Err(error) => return self.stop_for_lack_of_memory(error, self.shape.blocks()),
            };
            block.start(self.executable, self.shape, index, self.settings.seed, worker);
            blocks.push((index, block));
        }
        while !blocks.is_empty() {
            let mut failed = false;
            blocks.retain_mut(|(index, block)| {
                if failed || self.is_stopping.load(Ordering::Relaxed) {
                    return false;
                }
                match block.pass(&mut core, &self.executable.code, &mut profile, self.rules()) {
                    Ok(Pass::Running) => true,
                    Ok(Pass::Finished) => {
                        sum.warp_instructions +=
                            block.warps.iter().map(|warp| warp.executed).sum::<u64>();
                        sum.thread_instructions += block.thread_instructions;
                        false
                    }
                    Err((stopped, warp)) => {
                        self.report(stopped, *index, warp);
                        failed = true;
                        false
                    }
                }
            });
            // Blocks that only poll are waiting for blocks of other host threads.
            std::thread::yield_now();
        }
        self.settings.timer.add(core.clock);
        self.add(&sum, profile.as_ref());
    }

    fn add(&self, sum: &Statistics, profile: Option<&Profile>) {
        let mut total = self.totals.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        total.0.warp_instructions += sum.warp_instructions;
        total.0.thread_instructions += sum.thread_instructions;
        if let (Some(own), Some(other)) = (&mut total.1, profile) {
            own.add(other);
        }
    }

    /// Stops the launch: there is not enough memory for the blocks that have to be resident at
    /// once.
    fn stop_for_lack_of_memory(&self, error: OutOfMemory, blocks: u64) {
        let LaunchShape { block, dynamic_shared, .. } = self.shape;
        // Has the lowest priority: a fault of a block is reported instead.
        self.stop_with(
            u64::MAX,
            out_of_memory_fault(self.executable, (block, dynamic_shared), blocks, error),
        );
    }

    fn report(&self, stopped: Stopped, block: u64, warp: u32) {
        self.stop_with(block, self.fault(stopped, block, warp));
    }

    fn stop_with(&self, block: u64, fault: Fault) {
        self.is_stopping.store(true, Ordering::Relaxed);
        let mut first = self.fault.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if first.as_ref().is_none_or(|(index, _)| *index > block) {
            *first = Some((block, fault));
        }
    }

    fn fault(&self, stopped: Stopped, block: u64, warp: u32) -> Fault {
        let Stopped { problem, pc, mask } = stopped;
        let executable = self.executable;
        let lane = problem.lane.unwrap_or(mask.trailing_zeros() as usize & (LANES - 1));
        let (place, cuda) = executable.place_of(pc);
        let other = problem.other.map(|RacingAccess { block, thread, step, wrote }| {
            let (place, cuda) = executable.place_of(step);
            OtherAccess {
                block: self.shape.block_at(u64::from(block)),
                thread: self.shape.thread_at(thread),
                wrote,
                place,
                cuda,
            }
        });
        Fault::from(Report {
            kind: problem.kind,
            message: problem.message,
            kernel: executable.name.clone(),
            place: Some(place),
            cuda,
            block: Some(self.shape.block_at(block)),
            thread: Some(self.shape.thread_at(warp * LANES as u32 + lane as u32)),
            address: problem.address,
            other,
            notes: problem.notes,
        })
    }
}

/// The fault of a launch without enough host memory for the number of resident blocks of its shape.
pub(crate) fn out_of_memory_fault(
    executable: &Executable,
    (block, dynamic_shared): ([u32; 3], u32),
    blocks: u64,
    error: OutOfMemory,
) -> Fault {
    let threads: u32 = block.iter().product();
    let each = executable.block_bytes(threads, dynamic_shared);
    let local = executable.local_bytes - executable.padding;
    let message = format!(
        "the host has no memory for {blocks} resident block{} of {each} bytes each ({local} bytes of \
         local memory for each of {threads} threads, plus registers and shared memory): launch fewer or \
         smaller blocks, or declare less memory ({error})",
        if blocks == 1 { "" } else { "s" },
    );
    out_of_memory(executable, message)
}

/// The fault of a launch that failed because the host is out of memory.
fn out_of_memory(executable: &Executable, message: String) -> Fault {
    Fault::from(Report::of_launch(FaultKind::OutOfMemory, executable.name.clone(), message))
}
