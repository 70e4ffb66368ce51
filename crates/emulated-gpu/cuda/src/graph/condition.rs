//! Conditions of conditional nodes (`cuGraphConditionalHandleCreate`). A condition's value is in a table of the
//! emulator, where kernels set it by its handle. The condition's owner and default are stored here.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::abi::Handle;
use crate::context::hardware::Hardware;
use crate::graph::launch_order::LaunchOrder;

/// A condition. Kernels can set it until the last graph, executable graph and launch that use it are destroyed.
#[derive(Debug)]
pub(crate) struct Condition {
    /// `CUgraphConditionalHandle`
    pub(crate) handle: u64,
    /// The context whose kernels may set the condition.
    pub(crate) context: Handle,
    /// The graph that the condition was created for.
    pub(crate) graph: Handle,
    /// The value at the beginning of a launch (`CU_GRAPH_COND_ASSIGN_DEFAULT`); `None` keeps the current value.
    pub(crate) default: Option<u32>,
    /// Whether a node uses the condition. At most one node may.
    in_use: AtomicBool,
    /// The order of the launches that use the condition.
    pub(crate) launches: LaunchOrder,
    /// The hardware whose table has the value.
    hardware: Arc<Hardware>,
}

impl Condition {
    /// A condition for a graph and the kernels of a context.
    pub(crate) fn new(
        graph: Handle,
        context: Handle,
        default: Option<u32>,
        hardware: Arc<Hardware>,
    ) -> Self {
        let handle = hardware.memory().conditions().create(context as u64);
        let (in_use, launches) = (AtomicBool::new(false), LaunchOrder::default());
        Self { handle, context, graph, default, in_use, launches, hardware }
    }

    /// Assigns the condition to a node; returns false if another node has it.
    pub(crate) fn acquire(&self) -> bool {
        !self.in_use.swap(true, Ordering::Relaxed)
    }

    /// Ends the assignment to a node that was removed.
    pub(crate) fn release(&self) {
        self.in_use.store(false, Ordering::Relaxed);
    }

    /// Whether a node uses the condition.
    pub(crate) fn is_in_use(&self) -> bool {
        self.in_use.load(Ordering::Relaxed)
    }

    /// The current value of the condition.
    pub(crate) fn value(&self) -> u32 {
        // The table has the value as long as this object exists.
        self.hardware.memory().conditions().value(self.handle).unwrap_or(0)
    }

    /// Sets the value of the condition.
    pub(crate) fn assign(&self, value: u32) {
        self.hardware.memory().conditions().assign(self.handle, value);
    }
}

impl Drop for Condition {
    fn drop(&mut self) {
        self.hardware.memory().conditions().destroy(self.handle);
    }
}
