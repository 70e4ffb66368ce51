//! Operations: the work in streams and graphs, and its execution.

#![allow(unsafe_code, reason = "calls functions of the program's")]

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
use crate::context::hardware::Hardware;
use crate::event::{Event, Mark, Recorded};
use crate::execution::function::Function;
use crate::execution::launch::cooperating;
use crate::graph::condition::Condition;
use crate::graph::kept::Kept;
use crate::graph::operation::decision::{Decision, run_all};
use crate::graph::operation::stream_memory::{Wait, Write};
use crate::memory::allocations::AllocationKind;
use crate::memory::copy::{Fill, Transfer};
use crate::memory::library_access::Declaration;

/// What a node does with memory of its graph's own, which is there as long as the graph is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum GraphMemory {
    /// This many bytes, on a device.
    Allocate {
        address: Pointer,
        size: usize,
        device: u32,
    },
    Free(Pointer),
}

impl GraphMemory {
    /// Notes whether the memory is in use from now on, when its graph is launched.
    fn note(self, hardware: &Hardware) {
        let live = matches!(self, Self::Allocate { .. });
        hardware.allocations.with(self.address(), |one| one.live = live);
        if let Self::Allocate { device, .. } = self {
            hardware.graph_memory.note(device, hardware.allocations.of_graphs(device));
        }
    }

    /// A graph with this work is launched: it takes the memory that it allocates, beside what others use.
    pub(crate) fn take(work: &[Operation], hardware: &Hardware) {
        let mut wanted: HashMap<u32, u64> = HashMap::new();
        for operation in work {
            if let Operation::Memory(Self::Allocate { address, device, .. }) = operation {
                *wanted.entry(*device).or_default() += hardware.allocations.idle_of_graph(*address);
            }
        }
        for (device, more) in wanted {
            hardware.graph_memory.note(device, hardware.allocations.of_graphs(device) + more);
        }
    }

    /// Where it is.
    pub(crate) fn address(self) -> Pointer {
        match self {
            Self::Allocate { address, .. } | Self::Free(address) => address,
        }
    }
}

/// A piece of work.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    /// Nothing: a place in an order.
    Nothing,
    /// A kernel.
    Launch { function: Arc<Function>, launch: Arc<Launch> },
    /// A copy.
    Copy(Arc<Transfer>),
    /// A fill.
    Fill(Fill),
    /// A function of the program's.
    Host { function: HostFunction, data: usize },
    /// `cuStreamAddCallback`
    Callback { function: StreamCallback, stream: Handle, data: usize },
    /// Gives device memory back.
    Free(Pointer),
    /// Passes a mark.
    Pass(Arc<Mark>),
    /// Waits for a mark.
    WaitFor(Arc<Mark>),
    /// Records an event anew, each time: a node of a graph.
    Record(Arc<Event>),
    /// Waits for what an event was recorded in last: a node of a graph, which
    /// [`at_launch`](Self::at_launch) makes definite.
    WaitForEvent(Arc<Event>),
    /// What a host function of a library's is about to read and write.
    Declare(Arc<Declaration>),
    /// Work of a host library.
    Library(Arc<library_work::Work>),
    /// Writes a number.
    Write(Write),
    /// Waits for a number.
    Wait(Wait),
    /// Memory of a graph's own is allocated or freed.
    Memory(GraphMemory),
    /// Nothing is done; what a graph needs stays until here.
    #[allow(dead_code, reason = "what it holds lives as long")]
    Keep(Arc<Kept>),
    /// What a launch does where a condition says which work is done.
    Decide(Decision),
    /// A condition becomes a number.
    Assign(Arc<Condition>, u32),
    /// The work of a graph.
    All(Arc<Vec<Operation>>),
}

enumeration! {
    /// `CUgraphNodeType`
    NodeType, "there is no type {} of nodes" {
        Kernel = 0, Copy = 1, Fill = 2, Host = 3, Graph = 4, Empty = 5, WaitEvent = 6, RecordEvent = 7,
        SignalSemaphores = 8, WaitSemaphores = 9, Allocate = 10, Free = 11, BatchMemory = 12, Conditional = 13,
    }
}

impl NodeType {
    /// Whether a launch by a kernel may have such nodes, and whether they can be switched off: kernels, copies and
    /// fills.
    pub(crate) fn is_by_device(self) -> bool {
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
            Self::Nothing | Self::Keep(_) | Self::Assign(..) => NodeType::Empty,
            Self::WaitFor(_) | Self::WaitForEvent(_) => NodeType::WaitEvent,
            Self::Pass(_) | Self::Record(_) => NodeType::RecordEvent,
            Self::Memory(GraphMemory::Allocate { .. }) => NodeType::Allocate,
            Self::Free(_) | Self::Memory(GraphMemory::Free(_)) => NodeType::Free,
            Self::Write(_) | Self::Wait(_) => NodeType::BatchMemory,
            Self::Decide(_) => NodeType::Conditional,
        }
    }

    /// The same, with the attributes of a kernel that is no parameter of it: that of another launch.
    ///
    /// # Errors
    /// `COOPERATIVE_LAUNCH_TOO_LARGE`, `OUT_OF_MEMORY`.
    pub(crate) fn with_attributes_of(self, other: &Self) -> Result<Self> {
        match (self, other) {
            (Self::Launch { function, launch }, Self::Launch { launch: before, .. })
                if before.cooperative && !launch.cooperative =>
            {
                let launch = Arc::new(cooperating(&function, &launch, true)?);
                Ok(Self::Launch { function, launch })
            }
            (operation, _) => Ok(operation),
        }
    }

    /// Does it: as many instructions as a warp of its kernels has executed, on average. An error ends the
    /// context, and nothing but marks is done after that.
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
            other => other.try_run(context).map(|()| 0),
        };
        done.unwrap_or_else(|error| {
            let first = context.fault().is_none();
            context.raise(error.code);
            if first && let Some(why) = error.why {
                ffi::say(&why);
            }
            0
        })
    }

    /// The same, with what is known when the graph that it belongs to is launched: into a stream, and not
    /// into another graph (`begins`), an event counts as recorded from now on, as in a stream.
    pub(crate) fn at_launch(&self, begins: bool, hardware: &Hardware) -> Self {
        match self {
            Self::Record(event) if begins => {
                let mark = event.mark();
                event.record(Recorded::Stream(Arc::clone(&mark)));
                Self::Pass(mark)
            }
            Self::WaitForEvent(event) => match event.recorded() {
                Recorded::Stream(mark) => Self::WaitFor(mark),
                Recorded::Never | Recorded::Capture(_) => Self::Nothing,
            },
            Self::Memory(memory) => {
                memory.note(hardware);
                self.clone()
            }
            other => other.clone(),
        }
    }

    /// What runs no kernels.
    fn try_run(&self, context: &Arc<Context>) -> Result {
        let memory = context.hardware.memory();
        match self {
            // These are no work for a stream, or `run` does them.
            Self::Nothing | Self::Memory(_) => Ok(()),
            Self::Keep(_) | Self::Launch { .. } | Self::All(_) | Self::Decide(_) => Ok(()),
            Self::Assign(condition, value) => {
                condition.assign(*value);
                Ok(())
            }
            Self::Copy(transfer) => transfer.run(memory).map_err(|error| lost("a copy", &error)),
            Self::Fill(fill) => fill.run(memory).map_err(|error| lost("a fill", &error)),
            Self::Host { function, data } => {
                if let Some(function) = *function {
                    // SAFETY: the program gave both for this.
                    let call = || ffi::host_function(|| unsafe { function(*data as *mut _) });
                    // A host library reads device memory at its address, which has to stay.
                    memory.keep_while(call);
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
        // SAFETY: the program gave both for this.
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
        "cuMemFreeAsync: no allocation begins at {address:#x}{}; it was freed before",
        near.unwrap_or_default()
    )))
}

fn lost(what: &str, error: &dyn std::fmt::Display) -> Error {
    Code::ILLEGAL_ADDRESS.because(format!("{what} in a stream: {error}"))
}

/// As many instructions as a warp has executed, on average.
fn launch_kernel(function: &Function, launch: &Launch, context: &Arc<Context>) -> Result<u64> {
    let hardware = &context.hardware;
    // A graph may hold kernels of several devices.
    let own = function.own_context();
    let reach = own.as_ref().unwrap_or(context).reach();
    let kernel = function.kernel_on(reach.device)?;
    let began = std::time::Instant::now();
    match hardware.emulator.launch_from(reach, &kernel, launch) {
        Ok(statistics) => {
            hardware.counts.add(function.handle, &function.kernel, &statistics, began.elapsed());
            Ok(statistics.warp_instructions / statistics.warps.max(1))
        }
        Err(fault) => Err(code_of(fault.kind).because(fault.to_string())),
    }
}

/// What NVIDIA's driver says of such a fault; of what only a sanitizer finds, what it says when
/// compute-sanitizer has stopped a kernel.
fn code_of(kind: FaultKind) -> Code {
    match kind {
        FaultKind::IllegalAddress | FaultKind::UseAfterFree => Code::ILLEGAL_ADDRESS,
        FaultKind::Misaligned => Code::MISALIGNED_ADDRESS,
        FaultKind::Assert => Code::ASSERT,
        FaultKind::Deadlock | FaultKind::Runaway => Code::LAUNCH_TIMEOUT,
        FaultKind::InvalidLaunch => Code::INVALID_VALUE,
        FaultKind::OutOfMemory => Code::OUT_OF_MEMORY,
        FaultKind::InvalidInstruction => Code::ILLEGAL_INSTRUCTION,
        // A trap, a race, uninitialised memory, a divergent barrier, a wrong member mask.
        _ => Code::LAUNCH_FAILED,
    }
}
