//! Executable graphs (`CUgraphExec`).

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::abi::Handle;
use crate::abi::error::{Code, Error, Result};
use crate::context::hardware::Hardware;
use crate::event::Mark;
use crate::graph::Graph;
use crate::graph::launch_order::LaunchOrder;
use crate::graph::nested::FlatGraph;
use crate::graph::operation::Operation;
use crate::graph::operation::decision::Decision;
use crate::graph::resources::Resources;
use crate::graph::step::{Difference, Step, work_of};

/// An executable graph: its nodes in an order that respects every dependency.
#[derive(Debug)]
pub(crate) struct Executable {
    pub(crate) flags: u64,
    steps: Mutex<Vec<Step>>,
    /// The index of each node's step.
    indices: HashMap<Handle, usize>,
    resources: Mutex<Arc<Resources>>,
    /// For each child-graph node, the range of its steps.
    children: HashMap<Handle, Range<usize>>,
    launches: LaunchOrder,
    /// A mark to which the graph's conditional nodes hold weak references, so that they know
    /// whether the graph still exists.
    #[expect(dead_code, reason = "held for its weak references")]
    mark: Arc<()>,
    hardware: Arc<Hardware>,
}

/// `CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH`
pub(crate) const DEVICE_LAUNCH: u64 = 4;

/// The reason why a graph can't be instantiated.
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
    /// Instantiates the graph.
    ///
    /// # Errors
    /// `INVALID_VALUE` if dependencies form a cycle, a body has a node that isn't allowed there, a condition is
    /// unused, or a conditional node is in another executable graph; `OUT_OF_MEMORY` if the graph has too many nodes.
    pub(crate) fn instantiate(&self, flags: u64) -> Result<Executable, Refusal> {
        let flat = self.flatten()?;
        if flat.has_unused_condition {
            let error = Code::INVALID_VALUE.because(
                "a conditional handle is used by no conditional node; add a node, or don't create the handle",
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
        let FlatGraph { steps, resources, children, .. } = flat;
        let mut indices = HashMap::with_capacity(steps.len());
        for (index, step) in steps.iter().enumerate() {
            indices.entry(step.node).or_insert(index);
        }
        let (steps, resources) = (Mutex::new(steps), Mutex::new(Arc::new(resources)));
        let (launches, hardware) = (LaunchOrder::default(), Arc::clone(&self.registry.hardware));
        Ok(Executable { flags, steps, indices, resources, children, launches, mark, hardware })
    }
}

impl Executable {
    fn steps(&self) -> MutexGuard<'_, Vec<Step>> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn resources(&self) -> MutexGuard<'_, Arc<Resources>> {
        self.resources.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Launches the graph: calls `enqueue` with the work of one launch. `begins` states whether that work goes to a
    /// stream; otherwise it becomes part of a graph that is being captured. The work waits for the previous launch of
    /// this graph and for earlier launches that use the same conditions, in whichever stream they are.
    ///
    /// # Errors
    /// The errors of `enqueue`; `INVALID_VALUE` if a captured graph would get conditional nodes.
    pub(crate) fn launch(
        &self,
        begins: bool,
        enqueue: impl FnOnce(Arc<Vec<Operation>>) -> Result,
    ) -> Result {
        /// This lock is held while a launch is enqueued, so that the launch is enqueued after the launches for which it
        /// waits.
        static ORDER: Mutex<()> = Mutex::new(());
        let _order = ORDER.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut work, decisions) = self.work(begins);
        let keep = Operation::Keep(Arc::clone(&self.resources()));
        if !begins {
            if !decisions.is_empty() {
                return Err(Code::INVALID_VALUE
                    .because("a graph with conditional nodes can't become part of another graph"));
            }
            work.push(keep);
            return enqueue(Arc::new(work));
        }
        let end = Arc::new(Mark::default());
        let orders = || {
            decisions.iter().map(|decision| &decision.condition.launches).chain([&self.launches])
        };
        let waits = orders().filter_map(LaunchOrder::last).map(Operation::WaitFor);
        let assign = |one: &Decision| {
            one.default.map(|value| Operation::Assign(Arc::clone(&one.condition), value))
        };
        let assigned = decisions.iter().filter_map(assign);
        let ends = [Operation::Pass(Arc::clone(&end)), keep];
        let all: Vec<_> = waits.chain(assigned).chain(work).chain(ends).collect();
        let all = Arc::new(all);
        let done = enqueue(Arc::clone(&all));
        match &done {
            Ok(()) => orders().for_each(|one| one.add(&end)),
            // The marks are passed, because no work may wait for marks of work that will not run.
            Err(_) => all.iter().for_each(|operation| {
                if let Operation::Pass(mark) = operation {
                    mark.pass();
                }
            }),
        }
        done
    }

    /// The work of one launch, and its decisions. If the graph waits for an event, it waits for the record that is the
    /// last one at this moment, even if another graph's launch made it; later records are ignored, because they may
    /// depend on this launch. If the graph itself records the event, the order of its nodes ensures the wait.
    fn work(&self, begins: bool) -> (Vec<Operation>, Vec<Decision>) {
        let steps = self.steps();
        let decision = |step: &Step| match &step.operation {
            Operation::Decide(decision) => Some(decision.clone()),
            _ => None,
        };
        (work_of(&steps, begins, &self.hardware), steps.iter().filter_map(decision).collect())
    }

    /// Replaces this graph's work by the work of another graph with the same topology, with the resources that the work
    /// needs. Conditional nodes then use the other graph's conditions, because its kernels set those.
    ///
    /// # Errors
    /// The errors of [`Graph::instantiate`] for the other graph.
    pub(crate) fn update(&self, from: &Graph) -> Result<Result<(), (Handle, Difference)>> {
        let new = from.flatten()?;
        let mut steps = self.steps();
        if steps.len() != new.steps.len() {
            return Ok(Err((new.steps.last().map_or(0, |step| step.node), Difference::Topology)));
        }
        for (step, new) in steps.iter().zip(&new.steps) {
            if let Some(difference) = step.difference_from(new) {
                return Ok(Err((new.node, difference)));
            }
        }
        for (step, new) in steps.iter_mut().zip(new.steps) {
            step.operation = new.operation;
        }
        let before = std::mem::replace(&mut *self.resources(), Arc::new(new.resources));
        // Dropping the old resources may take a while, so the lock is released first.
        drop(steps);
        drop(before);
        Ok(Ok(()))
    }

    /// Replaces the work of a child-graph node by the work of a graph with the same topology.
    ///
    /// # Errors
    /// `INVALID_VALUE` if there is no such node, or the topologies differ.
    pub(crate) fn update_child(&self, node: Handle, from: &Graph) -> Result {
        let invalid = |why: &str| Err(Code::INVALID_VALUE.because(why));
        let new = from.flatten()?;
        if !new.conditionals.is_empty() {
            return invalid("a graph with conditional nodes can't be in a child node");
        }
        let mut steps = self.steps();
        let children = self.children.get(&node).and_then(|range| steps.get_mut(range.clone()));
        let Some(children) = children else {
            return invalid("the node is not a child-graph node of this executable graph");
        };
        let fits =
            children.iter().zip(&new.steps).all(|(step, new)| step.difference_from(new).is_none());
        if children.len() != new.steps.len() || !fits {
            let message = "the graph and the node's graph differ in their nodes or in their order";
            return invalid(message);
        }
        for (step, new) in children.iter_mut().zip(new.steps) {
            step.operation = new.operation;
        }
        let mut resources = Resources::clone(&self.resources());
        resources.children.insert(node, Arc::new(new.resources));
        let before = std::mem::replace(&mut *self.resources(), Arc::new(resources));
        // Dropping the old resources may take a while, so the lock is released first.
        drop(steps);
        drop(before);
        Ok(())
    }

    /// Calls `f` with the step of a node.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the node has no step.
    pub(crate) fn with_step<T>(
        &self,
        node: Handle,
        f: impl FnOnce(&mut Step) -> Result<T>,
    ) -> Result<T> {
        let mut steps = self.steps();
        let step = self.indices.get(&node).and_then(|index| steps.get_mut(*index));
        f(step.ok_or_else(|| {
            Code::INVALID_VALUE.because("the node is not in this executable graph")
        })?)
    }
}
