//! The nodes of a graph by handle, with edges in both directions, so that a call that concerns one node needn't visit
//! all nodes.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use crate::abi::Handle;
use crate::abi::error::{Code, Result, fail_if};
use crate::abi::registry::new_handle;

/// A node of a graph, with a content of type `C`.
#[derive(Clone, Debug)]
pub(crate) struct Node<C> {
    pub(crate) handle: Handle,
    pub(crate) content: C,
    /// The nodes on which this node depends, by the ordinals of the edges.
    after: BTreeMap<u64, Handle>,
    /// The nodes that depend on this node, with the ordinals of the edges.
    dependents: BTreeMap<Handle, u64>,
    /// The pointers to the node's parameters that the program received. They are valid until the program requests them
    /// again.
    pub(crate) pointers: Vec<usize>,
    /// Attributes of a kernel that are stored, but have no effect.
    pub(crate) hints: HashMap<u32, [u64; 8]>,
}

impl<C> Node<C> {
    fn new(handle: Handle, content: C) -> Self {
        let (after, dependents) = (BTreeMap::new(), BTreeMap::new());
        let (pointers, hints) = (Vec::new(), HashMap::new());
        Self { handle, content, after, dependents, pointers, hints }
    }

    /// The nodes that it depends on, in the order in which the edges were added.
    pub(crate) fn dependencies(&self) -> impl ExactSizeIterator<Item = Handle> + '_ {
        self.after.values().copied()
    }

    /// The nodes that depend on it, in the order in which the nodes were added.
    pub(crate) fn dependents(&self) -> impl Iterator<Item = Handle> + '_ {
        self.dependents.keys().copied()
    }
}

/// The nodes of a graph, in the order in which they were added. Their handles have the same order.
#[derive(Debug)]
pub(crate) struct Nodes<C> {
    nodes: BTreeMap<Handle, Node<C>>,
    /// The ordinal of the next edge.
    next_edge: u64,
    /// Whether every edge leads from an older node to a newer node. If so, another such edge can't close a cycle.
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
    /// `INVALID_VALUE` if the node is not in this graph.
    pub(crate) fn get(&self, node: Handle) -> Result<&Node<C>> {
        self.nodes.get(&node).ok_or_else(missing_node)
    }

    /// # Errors
    /// `INVALID_VALUE` if the node is not in this graph.
    pub(crate) fn get_mut(&mut self, node: Handle) -> Result<&mut Node<C>> {
        self.nodes.get_mut(&node).ok_or_else(missing_node)
    }

    /// Whether all of these nodes are in this graph.
    pub(crate) fn contain_all(&self, nodes: &[Handle]) -> bool {
        nodes.iter().all(|node| self.nodes.contains_key(node))
    }

    /// Adds a node that depends on others, and returns its handle. Duplicates among the others are ignored.
    ///
    /// # Errors
    /// `INVALID_VALUE` if one of the others is not in this graph.
    pub(crate) fn add(&mut self, content: C, after: &[Handle]) -> Result<Handle> {
        if !self.contain_all(after) {
            return Err(Code::INVALID_VALUE.because("a dependency is not a node of this graph"));
        }
        let handle = new_handle();
        self.nodes.insert(handle, Node::new(handle, content));
        for before in after {
            if !self.get(*before)?.dependents.contains_key(&handle) {
                self.insert_edge(*before, handle)?;
            }
        }
        Ok(handle)
    }

    /// Removes a node and its edges.
    pub(crate) fn remove(&mut self, node: Handle) -> Option<Node<C>> {
        let removed = self.nodes.remove(&node)?;
        for before in removed.after.values() {
            if let Some(before) = self.nodes.get_mut(before) {
                before.dependents.remove(&node);
            }
        }
        for (after, edge) in &removed.dependents {
            if let Some(after) = self.nodes.get_mut(after) {
                after.after.remove(edge);
            }
        }
        Some(removed)
    }

    /// Adds an edge.
    ///
    /// # Errors
    /// `INVALID_VALUE` if one of the nodes is not in this graph, the edge exists already, or it would close a cycle.
    pub(crate) fn connect(&mut self, before: Handle, after: Handle) -> Result {
        let exists = self.has_edge(before, after)?;
        fail_if!(exists, INVALID_VALUE, "the edge exists already");
        let ascends = before < after;
        if !(ascends && self.is_ascending) && self.has_path(after, before)? {
            return Err(Code::INVALID_VALUE.because("the edge would close a cycle"));
        }
        self.insert_edge(before, after)?;
        self.is_ascending &= ascends;
        Ok(())
    }

    /// # Errors
    /// `INVALID_VALUE` if one of the nodes is not in this graph.
    fn insert_edge(&mut self, before: Handle, after: Handle) -> Result {
        let edge = self.next_edge;
        self.next_edge += 1;
        self.get_mut(before)?.dependents.insert(after, edge);
        self.get_mut(after)?.after.insert(edge, before);
        Ok(())
    }

    /// Removes an edge.
    ///
    /// # Errors
    /// `INVALID_VALUE` if one of the nodes is not in this graph, or the edge doesn't exist.
    pub(crate) fn disconnect(&mut self, before: Handle, after: Handle) -> Result {
        fail_if!(!self.has_edge(before, after)?, INVALID_VALUE, "there is no such edge");
        if let Some(edge) = self.get_mut(before)?.dependents.remove(&after) {
            self.get_mut(after)?.after.remove(&edge);
        }
        Ok(())
    }

    fn has_edge(&self, before: Handle, after: Handle) -> Result<bool> {
        if before == after || !self.nodes.contains_key(&after) {
            return Err(no_edge());
        }
        let before = self.nodes.get(&before).ok_or_else(no_edge)?;
        Ok(before.dependents.contains_key(&after))
    }

    /// Whether a path leads from one node to another.
    fn has_path(&self, from: Handle, to: Handle) -> Result<bool> {
        if self.get(from)?.dependents.is_empty() || self.get(to)?.after.is_empty() {
            return Ok(false);
        }
        Ok(self.ancestors(&[to]).contains(&from))
    }

    /// The nodes `nodes`, and all nodes on which they depend.
    pub(crate) fn ancestors(&self, nodes: &[Handle]) -> HashSet<Handle> {
        let mut ancestors: HashSet<Handle> = HashSet::new();
        let mut open: Vec<Handle> = nodes.to_vec();
        while let Some(handle) = open.pop() {
            count_step();
            if ancestors.insert(handle) {
                open.extend(self.nodes.get(&handle).into_iter().flat_map(Node::dependencies));
            }
        }
        ancestors
    }

    /// The nodes in an order that respects every dependency; apart from that, in the order in which they were added.
    ///
    /// # Errors
    /// `INVALID_VALUE` if dependencies form a cycle.
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
            return Err(Code::INVALID_VALUE.because("the dependencies of the graph form a cycle"));
        }
        Ok(ordered)
    }

    /// A copy with new handles, in which `copied` converts each node's content. Also returns the new handle of each
    /// node.
    ///
    /// # Errors
    /// The errors of `copied`.
    pub(super) fn copy(
        &self,
        copied: impl Fn(&C) -> Result<C>,
    ) -> Result<(Self, HashMap<Handle, Handle>)> {
        let origin: HashMap<Handle, Handle> =
            self.iter().map(|node| (node.handle, new_handle())).collect();
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

fn missing_node() -> crate::abi::error::Error {
    Code::INVALID_VALUE.because("the node is not in this graph")
}

fn no_edge() -> crate::abi::error::Error {
    Code::INVALID_VALUE.because("an edge needs two different nodes of this graph")
}

#[cfg(test)]
thread_local! {
    /// The number of nodes and edges visited so far.
    static STEPS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// In tests, counts a visited node or edge.
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

    /// A graph with nodes but no edges.
    fn unconnected(count: usize) -> (Nodes<()>, Vec<Handle>) {
        let mut nodes = Nodes::default();
        let handles = (0..count).map(|_| add(&mut nodes, &[])).collect();
        (nodes, handles)
    }

    fn positions(nodes: &Nodes<()>) -> HashMap<Handle, usize> {
        let ordered = nodes.ordered().unwrap();
        ordered.iter().enumerate().map(|(at, node)| (node.handle, at)).collect()
    }

    #[test]
    fn building_and_clearing_a_graph_takes_linear_time() {
        STEPS.set(0);
        // A chain, and a node that depends on all of it.
        let mut nodes = Nodes::default();
        let mut chain: Vec<Handle> = Vec::new();
        for _ in 0..COUNT {
            let after: Vec<Handle> = chain.last().copied().into_iter().collect();
            chain.push(add(&mut nodes, &after));
        }
        let last = add(&mut nodes, &chain);
        assert_eq!(nodes.get(last).unwrap().dependencies().len(), COUNT);
        for pair in chain.windows(2) {
            nodes.disconnect(pair[0], pair[1]).unwrap();
            nodes.connect(pair[0], pair[1]).unwrap();
        }
        assert_eq!(STEPS.get(), 0, "adding nodes and edges doesn't visit other nodes");
        let (copy, origin) = nodes.copy(|()| Ok(())).unwrap();
        assert_eq!(copy.ancestors(&[origin[&last]]).len(), COUNT + 1);
        assert_eq!(copy.ordered().unwrap().len(), COUNT + 1);
        for handle in chain.iter().rev() {
            nodes.remove(*handle).unwrap();
        }
        assert_eq!(nodes.get(last).unwrap().dependencies().len(), 0);
        assert!(STEPS.get() < 20 * COUNT, "{}", STEPS.get());
    }

    #[test]
    fn edges_may_be_added_from_either_end() {
        STEPS.set(0);
        let (mut nodes, handles) = unconnected(COUNT);
        // Adds edges from newer nodes to older nodes, starting with the oldest pair.
        for pair in handles.windows(2) {
            nodes.connect(pair[1], pair[0]).unwrap();
        }
        assert_eq!(STEPS.get(), 0);
        assert!(nodes.connect(handles[0], handles[COUNT - 1]).is_err());
        let at = positions(&nodes);
        assert!(handles.windows(2).all(|pair| at[&pair[1]] < at[&pair[0]]));
    }

    #[test]
    fn edges_that_close_a_cycle_are_rejected() {
        let (mut nodes, n) = unconnected(5);
        for (before, after) in [(0, 1), (3, 2), (1, 3), (0, 2)] {
            nodes.connect(n[before], n[after]).unwrap();
        }
        for (before, after) in [(2, 0), (2, 1), (2, 3), (3, 0), (1, 0), (4, 4)] {
            assert!(nodes.connect(n[before], n[after]).is_err(), "{before} before {after}");
        }
        assert!(nodes.connect(n[0], n[1]).is_err(), "the edge exists already");
        assert!(nodes.connect(n[0], 7).is_err() && nodes.connect(7, n[0]).is_err());
        nodes.disconnect(n[1], n[3]).unwrap();
        assert!(nodes.disconnect(n[1], n[3]).is_err());
        nodes.connect(n[2], n[1]).unwrap();
        let at = positions(&nodes);
        assert!([(0, 1), (3, 2), (0, 2), (2, 1)].iter().all(|&(a, b)| at[&n[a]] < at[&n[b]]));
        let dependents: Vec<Handle> = nodes.get(n[0]).unwrap().dependents().collect();
        assert_eq!(dependents, [n[1], n[2]]);
        assert!(nodes.remove(n[2]).is_some() && nodes.remove(n[2]).is_none());
        assert!(nodes.get(n[1]).unwrap().dependencies().eq([n[0]]));
        assert_eq!(nodes.ordered().unwrap().len(), 4);
    }
}
