//! Operations: the work in streams and graphs, and its execution.

#![allow(unsafe_code, reason = "calls functions of the program")]

pub(crate) mod decision;
pub(crate) mod library_work;
pub(crate) mod stream_memory;

use std::collections::HashMap;
use std::sync::Arc;

use ptx_emulator::{FaultKind, Launch};

use crate::abi::enumeration::enumeration;
use crate::abi::error::{Code, Error, Result};
use crate::abi::ffi;
use crate::abi::{Handle, HostFunction, Pointer, StreamCallback};
use crate::context::Context;
use crate::context::fault_file::{add_failure, add_fault};
use crate::context::hardware::Hardware;
use crate::event::{Event, Mark, Recorded};
use crate::execution::function::Function;
use crate::execution::launch::set_cooperative_launch;
use crate::graph::condition::Condition;
use crate::graph::operation::decision::{Decision, run_all};
use crate::graph::operation::stream_memory::{Wait, Write};
use crate::graph::resources::Resources;
use crate::memory::allocations::AllocationKind;
use crate::memory::copy::{Fill, Transfer};
use crate::memory::library_access::Declaration;

/// Allocation or free of memory by a graph node. The memory is reserved as long as the graph exists.
#[derive(Clone, Copy, Debug)]
pub(crate) enum GraphMemory {
    /// Allocates `size` bytes on a device.
    Allocate { address: Pointer, size: usize, device: u32 },
    /// Frees the memory at an address.
    Free(Pointer),
}

impl GraphMemory {
    /// Records, when the graph is launched, that the memory is in use, or is free, from this node on.
    fn set_in_use(self, hardware: &Hardware) {
        let live = matches!(self, Self::Allocate { .. });
        hardware.allocations.with_allocation(self.address(), |allocation| allocation.live = live);
        if let Self::Allocate { device, .. } = self {
            hardware.graph_memory.update_peak(device, hardware.allocations.graph_bytes(device));
        }
    }

    /// Counts the allocations of a graph with this work in addition to the memory in use. To be called when the graph
    /// is launched.
    pub(crate) fn count_live(work: &[Operation], hardware: &Hardware) {
        let mut wanted: HashMap<u32, u64> = HashMap::new();
        for operation in work {
            if let Operation::Memory(Self::Allocate { address, device, .. }) = operation {
                *wanted.entry(*device).or_default() +=
                    hardware.allocations.unused_graph_bytes(*address);
            }
        }
        for (device, more) in wanted {
            hardware
                .graph_memory
                .update_peak(device, hardware.allocations.graph_bytes(device) + more);
        }
    }

    /// The address of the memory.
    pub(crate) fn address(self) -> Pointer {
        match self {
            Self::Allocate { address, .. } | Self::Free(address) => address,
        }
    }
}

/// A piece of work.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    /// A no-op, relative to which other work can be ordered.
    NoOp,
    /// A kernel.
    Launch { function: Arc<Function>, launch: Arc<Launch> },
    /// A copy.
    Copy(Arc<Transfer>),
    /// A fill.
    Fill(Fill),
    /// A host function of the program.
    Host { function: HostFunction, data: usize },
    /// `cuStreamAddCallback`
    Callback { function: StreamCallback, stream: Handle, data: usize },
    /// Frees device memory.
    Free(Pointer),
    /// Passes a mark.
    Pass(Arc<Mark>),
    /// Waits until a mark is passed.
    WaitFor(Arc<Mark>),
    /// Records an event whenever the operation runs. It is a node of a graph.
    Record(Arc<Event>),
    /// Waits for an event's last record. It is a node of a graph; when the graph is launched,
    /// [`at_launch`](Self::at_launch) replaces it by a wait for a specific record.
    WaitForEvent(Arc<Event>),
    /// Declares the memory that a library's host function is about to read and write.
    Declare(Arc<Declaration>),
    /// Work of a host library.
    Library(Arc<library_work::LibraryWork>),
    /// Writes a value to memory (`cuStreamWriteValue32`).
    Write(Write),
    /// Waits for a value in memory (`cuStreamWaitValue32`).
    Wait(Wait),
    /// Allocates or frees memory of a graph.
    Memory(GraphMemory),
    /// A no-op that keeps a graph's resources alive until this point.
    #[allow(dead_code, reason = "held to keep it alive")]
    Keep(Arc<Resources>),
    /// Runs a body that a condition selects.
    Decide(Decision),
    /// Sets the value of a condition.
    Assign(Arc<Condition>, u32),
    /// The work of a graph.
    All(Arc<Vec<Operation>>),
}

enumeration! {
    /// `CUgraphNodeType`
    NodeType, "there is no node type {}" {
        Kernel = 0, Copy = 1, Fill = 2, Host = 3, Graph = 4, Empty = 5, WaitEvent = 6, RecordEvent = 7,
        SignalSemaphores = 8, WaitSemaphores = 9, Allocate = 10, Free = 11, BatchMemory = 12, Conditional = 13,
    }
}

impl NodeType {
    /// Whether this is a kernel, a copy or a fill. A graph that a kernel launches may only have such nodes, and only
    /// such nodes can be disabled.
    pub(crate) fn is_device_work(self) -> bool {
        matches!(self, Self::Kernel | Self::Copy | Self::Fill)
    }
}

impl Operation {
    /// The type of a node with this work.
    pub(crate) fn node_type(&self) -> NodeType {
        match self {
            Self::Launch { .. } => NodeType::Kernel,
            Self::Copy(_) => NodeType::Copy,
            Self::Fill(_) => NodeType::Fill,
            Self::Host { .. } | Self::Callback { .. } | Self::Declare(_) | Self::Library(_) => {
                NodeType::Host
            }
            Self::All(_) => NodeType::Graph,
            Self::NoOp | Self::Keep(_) | Self::Assign(..) => NodeType::Empty,
            Self::WaitFor(_) | Self::WaitForEvent(_) => NodeType::WaitEvent,
            Self::Pass(_) | Self::Record(_) => NodeType::RecordEvent,
            Self::Memory(GraphMemory::Allocate { .. }) => NodeType::Allocate,
            Self::Free(_) | Self::Memory(GraphMemory::Free(_)) => NodeType::Free,
            Self::Write(_) | Self::Wait(_) => NodeType::BatchMemory,
            Self::Decide(_) => NodeType::Conditional,
        }
    }

    /// Copies the attributes of `other` that are not parameters: whether a kernel is cooperative.
    ///
    /// # Errors
    /// See [`set_cooperative_launch`].
    pub(crate) fn with_attributes_of(self, other: &Self) -> Result<Self> {
        match (self, other) {
            (Self::Launch { function, launch }, Self::Launch { launch: before, .. })
                if before.cooperative && !launch.cooperative =>
            {
                let launch = Arc::new(set_cooperative_launch(&function, &launch, true)?);
                Ok(Self::Launch { function, launch })
            }
            (operation, _) => Ok(operation),
        }
    }

    /// Runs the operation. Returns the average number of instructions per warp of its kernels. An error makes the
    /// context unusable; after that, only marks are passed and callbacks called.
    pub(crate) fn run(&self, context: &Arc<Context>) -> u64 {
        if context.fault().is_some() {
            match self {
                Self::Pass(mark) => mark.pass(),
                Self::Callback { function, stream, data } => {
                    let code = context.fault().unwrap_or(Code::SUCCESS);
                    callback(*function, *stream, code, *data);
                }
                Self::All(all) => return run_all(all, context),
                _ => {}
            }
            return 0;
        }
        let done = match self {
            Self::Launch { function, launch } => launch_kernel(function, launch, context),
            Self::All(all) => Ok(run_all(all, context)),
            Self::Decide(decision) => decision.run(context),
            other => other.try_run(context).map(|()| 0).inspect_err(|error| {
                if let Some(why) = &error.why {
                    add_failure(context.hardware.settings.faults.as_deref(), why);
                }
            }),
        };
        done.unwrap_or_else(|error| {
            let first = context.fault().is_none();
            context.raise(error.code);
            if first && let Some(why) = error.why {
                ffi::report(&why);
            }
            0
        })
    }

    /// Resolves the operation when its graph is launched: the record that an event wait refers to, and the state of
    /// memory. If the launch goes to a stream and not into another graph (`begins`), an event record takes effect
    /// now.
    pub(crate) fn at_launch(&self, begins: bool, hardware: &Hardware) -> Self {
        match self {
            Self::Record(event) if begins => {
                let mark = event.mark();
                event.record(Recorded::Stream(Arc::clone(&mark)));
                Self::Pass(mark)
            }
            Self::WaitForEvent(event) => match event.recorded() {
                Recorded::Stream(mark) => Self::WaitFor(mark),
                Recorded::Never | Recorded::Capture(_) => Self::NoOp,
            },
            Self::Memory(memory) => {
                memory.set_in_use(hardware);
                self.clone()
            }
            other => other.clone(),
        }
    }

    /// Runs an operation without kernels.
    fn try_run(&self, context: &Arc<Context>) -> Result {
        let memory = context.hardware.memory();
        match self {
            // These operations do nothing, or `run` handles them.
            Self::NoOp | Self::Memory(_) => Ok(()),
            Self::Keep(_) | Self::Launch { .. } | Self::All(_) | Self::Decide(_) => Ok(()),
            Self::Assign(condition, value) => {
                condition.assign(*value);
                Ok(())
            }
            Self::Copy(transfer) => {
                transfer.run(memory).map_err(|error| access_error("a copy", &error))
            }
            Self::Fill(fill) => fill.run(memory).map_err(|error| access_error("a fill", &error)),
            Self::Host { function, data } => {
                if let Some(function) = *function {
                    // SAFETY: the program passed the function as a callback for this data.
                    let call = || ffi::host_function(|| unsafe { function(*data as *mut _) });
                    // A host library accesses device memory at its address, so freed memory must not be reused
                    // meanwhile.
                    memory.with_lease(call);
                }
                Ok(())
            }
            Self::Callback { function, stream, data } => {
                callback(*function, *stream, Code::SUCCESS, *data);
                Ok(())
            }
            Self::Free(address) => free(&context.hardware, *address),
            Self::Pass(mark) => {
                mark.pass();
                Ok(())
            }
            Self::WaitFor(mark) => mark.wait(),
            Self::Record(event) => {
                let mark = event.mark();
                mark.pass();
                event.record(Recorded::Stream(mark));
                Ok(())
            }
            Self::WaitForEvent(event) => {
                if let Recorded::Stream(mark) = event.recorded() {
                    mark.wait()?;
                }
                Ok(())
            }
            Self::Declare(declaration) => declaration.check(memory, context.reach()),
            Self::Library(work) => work.run(memory, context.reach()),
            Self::Write(write) => write.run(memory),
            Self::Wait(wait) => wait.run(memory, context),
        }
    }
}

fn callback(function: StreamCallback, stream: Handle, code: Code, data: usize) {
    if let Some(function) = function {
        // SAFETY: the program passed the function as a callback for this data.
        ffi::host_function(|| unsafe { function(stream, code, data as *mut _) });
    }
}

fn free(hardware: &Hardware, address: Pointer) -> Result {
    if hardware.allocations.free(address, AllocationKind::is_freed_in_order)? {
        return Ok(());
    }
    let near = hardware.memory().range_of(address);
    let near = near.map(|(base, size)| format!("; it is inside {size} bytes at {base:#x}"));
    Err(Code::ILLEGAL_ADDRESS.because(format!(
        "cuMemFreeAsync: no allocation begins at {address:#x}{}; it may have been freed before",
        near.unwrap_or_default()
    )))
}

fn access_error(what: &str, error: &dyn std::fmt::Display) -> Error {
    Code::ILLEGAL_ADDRESS.because(format!("{what} in a stream: {error}"))
}

/// Launches a kernel. Returns the average number of instructions per warp.
fn launch_kernel(function: &Function, launch: &Launch, context: &Arc<Context>) -> Result<u64> {
    let hardware = &context.hardware;
    // A graph may contain kernels for several devices.
    let module_context = function.module_context();
    let reach = module_context.as_ref().unwrap_or(context).reach();
    let kernel = function.kernel_on(reach.device)?;
    let start = std::time::Instant::now();
    match hardware.emulator.launch_from(reach, &kernel, launch) {
        Ok(statistics) => {
            hardware.counts.add(function.handle, &function.kernel, &statistics, start.elapsed());
            Ok(statistics.warp_instructions / statistics.warps.max(1))
        }
        Err(fault) => {
            if context.fault().is_none() {
                add_fault(hardware.settings.faults.as_deref(), &fault);
            }
            Err(code_of(fault.kind).because(fault.to_string()))
        }
    }
}

/// The error code of NVIDIA's driver for a fault. Faults that only a sanitizer detects have the code that a program
/// gets after compute-sanitizer has stopped a kernel.
fn code_of(kind: FaultKind) -> Code {
    match kind {
        FaultKind::IllegalAddress | FaultKind::UseAfterFree => Code::ILLEGAL_ADDRESS,
        FaultKind::Misaligned => Code::MISALIGNED_ADDRESS,
        FaultKind::Assert => Code::ASSERT,
        FaultKind::Deadlock | FaultKind::Runaway => Code::LAUNCH_TIMEOUT,
        FaultKind::InvalidLaunch => Code::INVALID_VALUE,
        FaultKind::OutOfMemory => Code::OUT_OF_MEMORY,
        FaultKind::InvalidInstruction => Code::ILLEGAL_INSTRUCTION,
        // The other faults are a trap, a race, uninitialised memory, a divergent barrier, and a wrong member mask.
        _ => Code::LAUNCH_FAILED,
    }
}
