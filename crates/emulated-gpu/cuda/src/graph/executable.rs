//! Graphs that can be launched.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::abi::Handle;
use crate::abi::error::{Code, Error, Result};
use crate::context::hardware::Hardware;
use crate::event::Mark;
use crate::graph::Graph;
use crate::graph::kept::Kept;
use crate::graph::launch_order::Turns;
use crate::graph::nested::Flat;
use crate::graph::operation::Operation;
use crate::graph::operation::decision::Decision;
use crate::graph::step::{Difference, Step, work_of};

/// A graph that can be launched: its nodes in an order that keeps every dependency.
#[derive(Debug)]
pub(crate) struct Executable {
    pub(crate) flags: u64,
    steps: Mutex<Vec<Step>>,
    /// Where the step of each node stands.
    places: HashMap<Handle, usize>,
    kept: Mutex<Arc<Kept>>,
    /// Where the steps stand of the graph that a node has inside.
    children: HashMap<Handle, Range<usize>>,
    turns: Turns,
    /// By it the conditional nodes know that it is there.
    #[expect(dead_code, reason = "held for those who ask whether it is")]
    mark: Arc<()>,
    hardware: Arc<Hardware>,
}

/// `CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH`
pub(crate) const DEVICE_LAUNCH: u64 = 4;

/// Why a graph can't be instantiated.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) error: Error,
    /// `CUgraphInstantiateResult`
    pub(crate) result: u32,
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        // CUDA_GRAPH_INSTANTIATE_ERROR
        Self { error, result: 1 }
    }
}

impl Graph {
    /// Makes a graph that can be launched.
    ///
    /// # Errors
    /// `INVALID_VALUE` when dependencies run in a circle, for what the body of a conditional node may not
    /// hold, for a condition by which no node decides, and where a conditional node is in another executable
    /// graph; `OUT_OF_MEMORY` when it has too many nodes.
    pub(crate) fn instantiate(&self, flags: u64) -> std::result::Result<Executable, Refusal> {
        let flat = self.flat()?;
        if flat.has_idle_condition {
            let error = Code::INVALID_VALUE.because(
                "a handle of a condition belongs to no conditional node: add one, or make no such handle",
            );
            // CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED
            return Err(Refusal { error, result: 5 });
        }
        if flags & DEVICE_LAUNCH != 0 {
            // CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED
            flat.check_for_device().map_err(|error| Refusal { error, result: 3 })?;
        }
        let mark = Arc::default();
        flat.conditionals.iter().try_for_each(|node| node.claim(&mark))?;
        let Flat { steps, kept, children, .. } = flat;
        let mut places = HashMap::with_capacity(steps.len());
        for (place, step) in steps.iter().enumerate() {
            places.entry(step.node).or_insert(place);
        }
        let (steps, kept) = (Mutex::new(steps), Mutex::new(Arc::new(kept)));
        let (turns, hardware) = (Turns::default(), Arc::clone(&self.known.hardware));
        Ok(Executable { flags, steps, places, kept, children, turns, mark, hardware })
    }
}

impl Executable {
    fn steps(&self) -> MutexGuard<'_, Vec<Step>> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kept(&self) -> MutexGuard<'_, Arc<Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has `enqueue` put the work of one launch into a stream; `begins` says that it stands there, and not in a
    /// graph that is being captured. It begins when the launch before it has ended, in whichever stream that is,
    /// and so has what used the same conditions.
    ///
    /// # Errors
    /// That of `enqueue`; `INVALID_VALUE` where a graph would get conditional nodes in a child node.
    pub(crate) fn launch(
        &self,
        begins: bool,
        enqueue: impl FnOnce(Arc<Vec<Operation>>) -> Result,
    ) -> Result {
        /// What a launch waits for was put into its stream before.
        static ORDER: Mutex<()> = Mutex::new(());
        let _order = ORDER.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut work, decisions) = self.work(begins);
        let keep = Operation::Keep(Arc::clone(&self.kept()));
        if !begins {
            if !decisions.is_empty() {
                return Err(Code::INVALID_VALUE
                    .because("a graph with conditional nodes can't become a part of another one"));
            }
            work.push(keep);
            return enqueue(Arc::new(work));
        }
        let end = Arc::new(Mark::default());
        let turns = || decisions.iter().map(|one| &one.condition.turns).chain([&self.turns]);
        let waits = turns().filter_map(Turns::last).map(Operation::WaitFor);
        let assign = |one: &Decision| {
            one.default.map(|value| Operation::Assign(Arc::clone(&one.condition), value))
        };
        let assigned = decisions.iter().filter_map(assign);
        let ends = [Operation::Pass(Arc::clone(&end)), keep];
        let all: Vec<_> = waits.chain(assigned).chain(work).chain(ends).collect();
        let all = Arc::new(all);
        let done = enqueue(Arc::clone(&all));
        match &done {
            Ok(()) => turns().for_each(|one| one.take(&end)),
            // Nobody is to wait for what was never begun.
            Err(_) => all.iter().for_each(|operation| {
                if let Operation::Pass(mark) = operation {
                    mark.pass();
                }
            }),
        }
        done
    }

    /// What one launch does, and where it decides. An event that it waits for is waited for as it
    /// was recorded last before the launch, by another graph's launch, too: what is recorded afterwards may wait for
    /// the launch itself. (Where the graph records it itself, the order of its nodes is what there is to wait for.)
    fn work(&self, begins: bool) -> (Vec<Operation>, Vec<Decision>) {
        let steps = self.steps();
        let decision = |step: &Step| match &step.operation {
            Operation::Decide(decision) => Some(decision.clone()),
            _ => None,
        };
        (work_of(&steps, begins, &self.hardware), steps.iter().filter_map(decision).collect())
    }

    /// Takes over the work of another graph of the same shape, and what that needs; conditional nodes decide by
    /// its conditions from then on, which its kernels set.
    ///
    /// # Errors
    /// As of [`Graph::instantiate`] of the other graph.
    pub(crate) fn update(
        &self,
        from: &Graph,
    ) -> Result<std::result::Result<(), (Handle, Difference)>> {
        let new = from.flat()?;
        let mut own = self.steps();
        if own.len() != new.steps.len() {
            return Ok(Err((new.steps.last().map_or(0, |step| step.node), Difference::Topology)));
        }
        for (step, new) in own.iter().zip(&new.steps) {
            if let Some(difference) = step.difference(new) {
                return Ok(Err((new.node, difference)));
            }
        }
        for (step, new) in own.iter_mut().zip(new.steps) {
            step.operation = new.operation;
        }
        let before = std::mem::replace(&mut *self.kept(), Arc::new(new.kept));
        // What ends with it may take a while.
        drop(own);
        drop(before);
        Ok(Ok(()))
    }

    /// The graph inside a node does the work of another one of the same shape.
    ///
    /// # Errors
    /// `INVALID_VALUE` where there is no such node, or where the shapes differ.
    pub(crate) fn update_child(&self, node: Handle, from: &Graph) -> Result {
        let refuse = |why: &str| Err(Code::INVALID_VALUE.because(why));
        let new = from.flat()?;
        if !new.conditionals.is_empty() {
            return refuse("a graph with conditional nodes can't be in a child node");
        }
        let mut steps = self.steps();
        let own = self.children.get(&node).and_then(|range| steps.get_mut(range.clone()));
        let Some(own) = own else {
            return refuse("the node has no graph inside, or is not in this executable graph");
        };
        let fits = own.iter().zip(&new.steps).all(|(own, new)| own.difference(new).is_none());
        if own.len() != new.steps.len() || !fits {
            return refuse(
                "the graph has other nodes, or in another order, than the one in the node",
            );
        }
        for (step, new) in own.iter_mut().zip(new.steps) {
            step.operation = new.operation;
        }
        let mut kept = Kept::clone(&self.kept());
        kept.children.insert(node, Arc::new(new.kept));
        let before = std::mem::replace(&mut *self.kept(), Arc::new(kept));
        // What ends with it may take a while.
        drop(steps);
        drop(before);
        Ok(())
    }

    /// The step of a node, changed by a function.
    ///
    /// # Errors
    /// `INVALID_VALUE` when there is none.
    pub(crate) fn with<T>(
        &self,
        node: Handle,
        f: impl FnOnce(&mut Step) -> Result<T>,
    ) -> Result<T> {
        let mut steps = self.steps();
        let found = self.places.get(&node).and_then(|place| steps.get_mut(*place));
        f(found.ok_or_else(|| {
            Code::INVALID_VALUE.because("the node is not in this executable graph")
        })?)
    }
}
