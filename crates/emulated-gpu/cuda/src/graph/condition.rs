//! Conditions of conditional nodes (`cuGraphConditionalHandleCreate`). A condition's value is in the emulator's
//! table, where kernels set it by its handle; its owner and its default are here.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::abi::Handle;
use crate::context::hardware::Hardware;
use crate::graph::launch_order::Turns;

/// A condition. It is known to kernels until the last graph, executable graph and launch that has it is gone.
#[derive(Debug)]
pub(crate) struct Condition {
    /// `CUgraphConditionalHandle`
    pub(crate) handle: u64,
    /// The context whose kernels may set it.
    pub(crate) context: Handle,
    /// The graph that it was made for.
    pub(crate) graph: Handle,
    /// What it is when a launch begins (`CU_GRAPH_COND_ASSIGN_DEFAULT`); otherwise it stays what it was.
    pub(crate) default: Option<u32>,
    /// A node decides by it, and no other may.
    taken: AtomicBool,
    /// Of the launches that use it.
    pub(crate) turns: Turns,
    /// Where the number is.
    hardware: Arc<Hardware>,
}

impl Condition {
    /// A new one, for a graph and the kernels of a context.
    pub(crate) fn new(
        graph: Handle,
        context: Handle,
        default: Option<u32>,
        hardware: Arc<Hardware>,
    ) -> Self {
        let handle = hardware.memory().conditions().create(context as u64);
        let (taken, turns) = (AtomicBool::new(false), Turns::default());
        Self { handle, context, graph, default, taken, turns, hardware }
    }

    /// A node decides by it from now on; false where another one does already.
    pub(crate) fn take(&self) -> bool {
        !self.taken.swap(true, Ordering::Relaxed)
    }

    /// Its node is gone.
    pub(crate) fn give_back(&self) {
        self.taken.store(false, Ordering::Relaxed);
    }

    /// Whether a node decides by it.
    pub(crate) fn is_taken(&self) -> bool {
        self.taken.load(Ordering::Relaxed)
    }

    /// What it is now.
    pub(crate) fn value(&self) -> u32 {
        // It is in the table as long as this object is.
        self.hardware.memory().conditions().value(self.handle).unwrap_or(0)
    }

    /// Makes it another number.
    pub(crate) fn assign(&self, value: u32) {
        self.hardware.memory().conditions().assign(self.handle, value);
    }
}

impl Drop for Condition {
    fn drop(&mut self) {
        self.hardware.memory().conditions().destroy(self.handle);
    }
}
