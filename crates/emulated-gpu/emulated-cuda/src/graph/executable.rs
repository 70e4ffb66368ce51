//! Graphs that can be launched.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::nested::Flat;
use super::{Graph, Reserved};
use crate::abi::Handle;
use crate::decision::Decision;
use crate::error::{Code, Result};
use crate::event::Mark;
use crate::operation::Operation;
use crate::turns::Turns;
use crate::user_object::Resource;

/// A graph that can be launched: its nodes in an order that keeps every dependency.
#[derive(Debug)]
pub(crate) struct Executable {
    pub(crate) flags: u64,
    steps: Mutex<Vec<Step>>,
    kept: Mutex<Arc<Kept>>,
    /// Where the steps stand of the graph that a node has inside.
    children: HashMap<Handle, Range<usize>>,
    turns: Turns,
    /// By it the conditional nodes know that it is there.
    #[expect(dead_code, reason = "held for those who ask whether it is")]
    mark: Arc<()>,
}

/// What keeps an executable graph from taking over the work of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Difference {
    Topology,
    NodeType,
    Parameters,
}

/// What an executable graph needs: it stays until the last launch is done.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept {
    pub(super) memory: Vec<Arc<Reserved>>,
    pub(super) users: Vec<Arc<Resource>>,
    /// What the graphs need that have taken the place of those inside nodes.
    children: HashMap<Handle, Arc<Kept>>,
}

/// One node of an executable graph.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) node: Handle,
    pub(crate) operation: Operation,
    pub(crate) enabled: bool,
    /// Of a node that decides, how many steps each of its bodies has, which stand behind it one after
    /// the other.
    pub(super) bodies: Vec<usize>,
}

impl Step {
    pub(super) fn of(node: Handle, operation: Operation) -> Self {
        Self { node, operation, enabled: true, bodies: Vec::new() }
    }
}

impl Executable {
    pub(super) fn new(flags: u64, flat: Flat, mark: Arc<()>) -> Self {
        let Flat { steps, kept, children, .. } = flat;
        let (steps, kept) = (Mutex::new(steps), Mutex::new(Arc::new(kept)));
        Self { flags, steps, kept, children, turns: Turns::default(), mark }
    }

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
        (nested(&steps, begins), steps.iter().filter_map(decision).collect())
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
        let found = steps.iter_mut().find(|step| step.node == node);
        f(found.ok_or_else(|| {
            Code::INVALID_VALUE.because("the node is not in this executable graph")
        })?)
    }
}

impl Step {
    /// What keeps it from doing the work of another one.
    fn difference(&self, new: &Self) -> Option<Difference> {
        if self.operation.node_type() != new.operation.node_type() {
            return Some(Difference::NodeType);
        }
        match (&self.operation, &new.operation) {
            (Operation::Decide(own), Operation::Decide(new)) if own.kind != new.kind => {
                Some(Difference::Parameters)
            }
            _ => (self.bodies != new.bodies).then_some(Difference::Topology),
        }
    }
}

/// The work of steps: that of bodies, which stand behind the step of their node, is inside what decides.
fn nested(steps: &[Step], begins: bool) -> Vec<Operation> {
    let (mut work, mut left) = (Vec::with_capacity(steps.len() + 4), steps);
    while let Some((step, behind)) = left.split_first() {
        left = behind;
        let mut take = |count: &usize| {
            let (body, behind) = left.split_at((*count).min(left.len()));
            left = behind;
            Arc::new(nested(body, begins))
        };
        let bodies: Vec<_> = step.bodies.iter().map(&mut take).collect();
        match &step.operation {
            Operation::Decide(decision) => {
                work.push(Operation::Decide(Decision { bodies, ..decision.clone() }));
            }
            other if step.enabled => work.push(other.at_launch(begins)),
            _ => {}
        }
    }
    work
}
