//! The nodes of a graph by handle, and the edges between them in both directions, so that no call that
//! concerns one node looks at all of them.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use crate::abi::Handle;
use crate::abi::error::{Code, Result, fail_if};
use crate::abi::registry::fresh;

/// A node of a graph: `C` is what it does.
#[derive(Clone, Debug)]
pub(crate) struct Node<C> {
    pub(crate) handle: Handle,
    pub(crate) content: C,
    /// The nodes that come before it, by the ordinals of the edges.
    after: BTreeMap<u64, Handle>,
    /// The nodes that come after it, and the ordinals of the edges.
    dependents: BTreeMap<Handle, u64>,
    /// The pointers that were handed out with its parameters, which stay until the next time.
    pub(crate) pointers: Vec<usize>,
    /// What the program has said of a kernel that changes nothing here.
    pub(crate) hints: HashMap<u32, [u64; 8]>,
}

impl<C> Node<C> {
    fn new(handle: Handle, content: C) -> Self {
        let (after, dependents) = (BTreeMap::new(), BTreeMap::new());
        let (pointers, hints) = (Vec::new(), HashMap::new());
        Self { handle, content, after, dependents, pointers, hints }
    }

    /// The nodes that come before it, in the order in which the edges were added.
    pub(crate) fn after(&self) -> impl ExactSizeIterator<Item = Handle> + '_ {
        self.after.values().copied()
    }

    /// The nodes that come after it, in the order in which they were added.
    pub(crate) fn dependents(&self) -> impl Iterator<Item = Handle> + '_ {
        self.dependents.keys().copied()
    }
}

/// The nodes of a graph, in the order in which they were added: that of their handles.
#[derive(Debug)]
pub(crate) struct Nodes<C> {
    nodes: BTreeMap<Handle, Node<C>>,
    /// The ordinal of the next edge.
    next_edge: u64,
    /// Every edge leads from an older node to a newer one, so that one more of that kind closes no circle.
    is_ascending: bool,
}

impl<C> Default for Nodes<C> {
    fn default() -> Self {
        Self { nodes: BTreeMap::new(), next_edge: 0, is_ascending: true }
    }
}

impl<C: Clone> Nodes<C> {
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Node<C>> {
        self.nodes.values().inspect(|_| count_step())
    }

    /// # Errors
    /// `INVALID_VALUE` when it is not in this graph.
    pub(crate) fn get(&self, node: Handle) -> Result<&Node<C>> {
        self.nodes.get(&node).ok_or_else(gone)
    }

    /// # Errors
    /// `INVALID_VALUE` when it is not in this graph.
    pub(crate) fn get_mut(&mut self, node: Handle) -> Result<&mut Node<C>> {
        self.nodes.get_mut(&node).ok_or_else(gone)
    }

    /// Whether all of these are in this graph.
    pub(crate) fn have(&self, nodes: &[Handle]) -> bool {
        nodes.iter().all(|node| self.nodes.contains_key(node))
    }

    /// Adds a node after others, each of which counts once: its handle.
    ///
    /// # Errors
    /// `INVALID_VALUE` when one of those is not in this graph.
    pub(crate) fn add(&mut self, content: C, after: &[Handle]) -> Result<Handle> {
        fail_if!(!self.have(after), INVALID_VALUE, "a dependency is not a node of this graph");
        let handle = fresh();
        self.nodes.insert(handle, Node::new(handle, content));
        for before in after {
            if !self.get(*before)?.dependents.contains_key(&handle) {
                self.insert_edge(*before, handle)?;
            }
        }
        Ok(handle)
    }

    /// Takes a node out, with its edges.
    pub(crate) fn remove(&mut self, node: Handle) -> Option<Node<C>> {
        let gone = self.nodes.remove(&node)?;
        for before in gone.after.values() {
            if let Some(before) = self.nodes.get_mut(before) {
                before.dependents.remove(&node);
            }
        }
        for (behind, edge) in &gone.dependents {
            if let Some(behind) = self.nodes.get_mut(behind) {
                behind.after.remove(edge);
            }
        }
        Some(gone)
    }

    /// Adds an edge.
    ///
    /// # Errors
    /// `INVALID_VALUE` when one of the two is not in this graph, for an edge that is there already, and for
    /// one that would close a circle.
    pub(crate) fn connect(&mut self, before: Handle, behind: Handle) -> Result {
        let is_there = self.has_edge(before, behind)?;
        fail_if!(is_there, INVALID_VALUE, "the edge is there already");
        let ascends = before < behind;
        if !(ascends && self.is_ascending) && self.leads(behind, before)? {
            return Err(Code::INVALID_VALUE.because("the edge would close a circle"));
        }
        self.insert_edge(before, behind)?;
        self.is_ascending &= ascends;
        Ok(())
    }

    /// # Errors
    /// `INVALID_VALUE` if one of the two is not in this graph.
    fn insert_edge(&mut self, before: Handle, behind: Handle) -> Result {
        let edge = self.next_edge;
        self.next_edge += 1;
        self.get_mut(before)?.dependents.insert(behind, edge);
        self.get_mut(behind)?.after.insert(edge, before);
        Ok(())
    }

    /// Removes an edge.
    ///
    /// # Errors
    /// `INVALID_VALUE` when one of the two is not in this graph, or there is no such edge.
    pub(crate) fn disconnect(&mut self, before: Handle, behind: Handle) -> Result {
        fail_if!(!self.has_edge(before, behind)?, INVALID_VALUE, "there is no such edge");
        if let Some(edge) = self.get_mut(before)?.dependents.remove(&behind) {
            self.get_mut(behind)?.after.remove(&edge);
        }
        Ok(())
    }

    fn has_edge(&self, before: Handle, behind: Handle) -> Result<bool> {
        if before == behind || !self.nodes.contains_key(&behind) {
            return Err(no_edge());
        }
        let before = self.nodes.get(&before).ok_or_else(no_edge)?;
        Ok(before.dependents.contains_key(&behind))
    }

    /// Whether a way leads from one node to another.
    fn leads(&self, from: Handle, to: Handle) -> Result<bool> {
        if self.get(from)?.dependents.is_empty() || self.get(to)?.after.is_empty() {
            return Ok(false);
        }
        Ok(self.ancestors(&[to]).contains(&from))
    }

    /// Every node before one of these, and these.
    pub(crate) fn ancestors(&self, of: &[Handle]) -> HashSet<Handle> {
        let mut found: HashSet<Handle> = HashSet::new();
        let mut open: Vec<Handle> = of.to_vec();
        while let Some(handle) = open.pop() {
            count_step();
            if found.insert(handle) {
                open.extend(self.nodes.get(&handle).into_iter().flat_map(Node::after));
            }
        }
        found
    }

    /// The nodes in an order that keeps every dependency; in the order in which they were added
    /// otherwise.
    ///
    /// # Errors
    /// `INVALID_VALUE` when dependencies run in a circle.
    pub(crate) fn ordered(&self) -> Result<Vec<Node<C>>> {
        let mut waiting: HashMap<Handle, usize> =
            self.iter().map(|node| (node.handle, node.after.len())).collect();
        let mut ready: VecDeque<&Node<C>> =
            self.iter().filter(|node| node.after.is_empty()).collect();
        let mut ordered = Vec::with_capacity(self.len());
        while let Some(node) = ready.pop_front() {
            ordered.push(node.clone());
            for other in node.dependents.keys() {
                count_step();
                if let Some(left) = waiting.get_mut(other) {
                    *left -= 1;
                    if *left == 0 {
                        ready.extend(self.nodes.get(other));
                    }
                }
            }
        }
        if ordered.len() < self.len() {
            return Err(Code::INVALID_VALUE.because("the dependencies of a graph run in a circle"));
        }
        Ok(ordered)
    }

    /// The same nodes under new handles, each with what `copied` makes of its content; and the new handle of
    /// each node.
    ///
    /// # Errors
    /// Those of `copied`.
    pub(super) fn copy(
        &self,
        copied: impl Fn(&C) -> Result<C>,
    ) -> Result<(Self, HashMap<Handle, Handle>)> {
        let origin: HashMap<Handle, Handle> =
            self.iter().map(|node| (node.handle, fresh())).collect();
        let renamed = |handle: &Handle| origin.get(handle).copied().unwrap_or(*handle);
        let copy = |node: &Node<C>| {
            let handle = renamed(&node.handle);
            let (after, dependents) = (node.after.iter(), node.dependents.iter());
            let copy = Node {
                handle,
                content: copied(&node.content)?,
                after: after.map(|(edge, node)| (*edge, renamed(node))).collect(),
                dependents: dependents.map(|(node, edge)| (renamed(node), *edge)).collect(),
                pointers: Vec::new(),
                hints: node.hints.clone(),
            };
            Ok((handle, copy))
        };
        let nodes = self.iter().map(copy).collect::<Result<_>>()?;
        Ok((Self { nodes, ..*self }, origin))
    }
}

fn gone() -> crate::abi::error::Error {
    Code::INVALID_VALUE.because("the node is gone from its graph")
}

fn no_edge() -> crate::abi::error::Error {
    Code::INVALID_VALUE.because("an edge leads from a node of the graph to another")
}

#[cfg(test)]
thread_local! {
    /// How many nodes and edges were looked at, one after another.
    static STEPS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// In tests, counts a node or an edge that was looked at.
fn count_step() {
    #[cfg(test)]
    STEPS.set(STEPS.get() + 1);
}

#[cfg(test)]
mod tests {
    use super::*;
    const COUNT: usize = 50_000;

    fn add(nodes: &mut Nodes<()>, after: &[Handle]) -> Handle {
        nodes.add((), after).unwrap()
    }

    /// A graph of nodes without edges.
    fn loose(count: usize) -> (Nodes<()>, Vec<Handle>) {
        let mut nodes = Nodes::default();
        let handles = (0..count).map(|_| add(&mut nodes, &[])).collect();
        (nodes, handles)
    }

    fn positions(nodes: &Nodes<()>) -> HashMap<Handle, usize> {
        let ordered = nodes.ordered().unwrap();
        ordered.iter().enumerate().map(|(at, node)| (node.handle, at)).collect()
    }

    #[test]
    fn building_and_clearing_a_graph_looks_at_each_node_a_few_times() {
        STEPS.set(0);
        // A chain, and a node after all of it.
        let mut nodes = Nodes::default();
        let mut chain: Vec<Handle> = Vec::new();
        for _ in 0..COUNT {
            let after: Vec<Handle> = chain.last().copied().into_iter().collect();
            chain.push(add(&mut nodes, &after));
        }
        let last = add(&mut nodes, &chain);
        assert_eq!(nodes.get(last).unwrap().after().len(), COUNT);
        for pair in chain.windows(2) {
            nodes.disconnect(pair[0], pair[1]).unwrap();
            nodes.connect(pair[0], pair[1]).unwrap();
        }
        assert_eq!(STEPS.get(), 0, "none of this looks at other nodes");
        let (copy, origin) = nodes.copy(|()| Ok(())).unwrap();
        assert_eq!(copy.ancestors(&[origin[&last]]).len(), COUNT + 1);
        assert_eq!(copy.ordered().unwrap().len(), COUNT + 1);
        for handle in chain.iter().rev() {
            nodes.remove(*handle).unwrap();
        }
        assert_eq!(nodes.get(last).unwrap().after().len(), 0);
        assert!(STEPS.get() < 20 * COUNT, "{}", STEPS.get());
    }

    #[test]
    fn edges_may_be_added_from_either_end() {
        STEPS.set(0);
        let (mut nodes, handles) = loose(COUNT);
        // From newer nodes to older ones, the last edge first.
        for pair in handles.windows(2) {
            nodes.connect(pair[1], pair[0]).unwrap();
        }
        assert_eq!(STEPS.get(), 0);
        assert!(nodes.connect(handles[0], handles[COUNT - 1]).is_err());
        let at = positions(&nodes);
        assert!(handles.windows(2).all(|pair| at[&pair[1]] < at[&pair[0]]));
    }

    #[test]
    fn no_edge_closes_a_circle() {
        let (mut nodes, n) = loose(5);
        for (before, behind) in [(0, 1), (3, 2), (1, 3), (0, 2)] {
            nodes.connect(n[before], n[behind]).unwrap();
        }
        for (before, behind) in [(2, 0), (2, 1), (2, 3), (3, 0), (1, 0), (4, 4)] {
            assert!(nodes.connect(n[before], n[behind]).is_err(), "{before} before {behind}");
        }
        assert!(nodes.connect(n[0], n[1]).is_err(), "it is there already");
        assert!(nodes.connect(n[0], 7).is_err() && nodes.connect(7, n[0]).is_err());
        nodes.disconnect(n[1], n[3]).unwrap();
        assert!(nodes.disconnect(n[1], n[3]).is_err());
        nodes.connect(n[2], n[1]).unwrap();
        let at = positions(&nodes);
        assert!([(0, 1), (3, 2), (0, 2), (2, 1)].iter().all(|&(a, b)| at[&n[a]] < at[&n[b]]));
        let dependents: Vec<Handle> = nodes.get(n[0]).unwrap().dependents().collect();
        assert_eq!(dependents, [n[1], n[2]]);
        assert!(nodes.remove(n[2]).is_some() && nodes.remove(n[2]).is_none());
        assert!(nodes.get(n[1]).unwrap().after().eq([n[0]]));
        assert_eq!(nodes.ordered().unwrap().len(), 4);
    }
}
