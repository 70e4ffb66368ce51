//! Nested graphs: the program can't tell that copies of child-graph nodes share their graph.

use cudarc::driver::sys::CUDA_MEMSET_NODE_PARAMS as MemsetNode;

use crate::capture::{instantiate, nodes};
use crate::graphs::words;
use crate::support::{allocate, code, context, cu, ok, output, own_context, read, returns, stream};

#[test]
fn nesting_of_graphs_is_limited() {
    let _context = own_context();
    let none = std::ptr::null::<usize>();
    let empty = || {
        let graph = output!(cuGraphCreate(-> usize, 0u32));
        output!(cuGraphAddEmptyNode(-> usize, graph, none, 0usize));
        graph
    };
    let put = |child: usize, graph: usize| {
        let mut node = 0usize;
        cu!(cuGraphAddChildGraphNode(&raw mut node, graph, none, 0usize, child))
    };
    let instantiate = |graph: usize| {
        let mut executable = 0usize;
        let code = cu!(cuGraphInstantiateWithFlags(&raw mut executable, graph, 0u64));
        if code == 0 {
            ok!(cuGraphExecDestroy(executable));
        }
        code
    };
    // Adding a copy of a graph to itself doubles the number of nodes each time.
    let doubled = empty();
    let times = (0..64).take_while(|_| put(doubled, doubled) == 0).count();
    assert!((10..30).contains(&times), "{times}");
    assert_eq!(put(doubled, doubled), code::OUT_OF_MEMORY);
    // Instantiation is also fast, because a graph that is nested in many places is visited once.
    for _ in 0..20 {
        let expected = code::OUT_OF_MEMORY;
        assert_eq!(instantiate(doubled), expected, "copying succeeded, instantiation doesn't");
        let clone = output!(cuGraphClone(-> usize, doubled));
        ok!(cuGraphDestroy(clone));
    }
    // Deep nesting.
    let (mut outer, mut graphs) = (empty(), Vec::new());
    let deep = loop {
        let next = empty();
        graphs.push(outer);
        if put(outer, next) != 0 {
            graphs.push(next);
            break graphs.len();
        }
        assert_eq!(instantiate(outer), 0);
        outer = next;
    };
    assert!((100..1000).contains(&deep), "{deep}");
    graphs.push(doubled);
    for graph in graphs {
        ok!(cuGraphDestroy(graph));
    }
}

const NONE: *const usize = std::ptr::null();

/// A graph with a node that writes a number.
fn writing(target: u64, value: u32, context: usize) -> usize {
    let (mut graph, mut node) = (0usize, 0usize);
    let set = words(target, value, 1);
    ok!(cuGraphCreate(&raw mut graph, 0u32));
    ok!(cuGraphAddMemsetNode(
        &raw mut node, graph, NONE, 0 => usize, &raw const set => *const MemsetNode, context
    ));
    graph
}

/// Makes a graph with a node for each of `children`, in order. Returns the graph, and the handles of its nodes.
fn enclosing(children: &[usize]) -> (usize, Vec<usize>) {
    let graph = output!(cuGraphCreate(-> usize, 0u32));
    let mut added: Vec<usize> = Vec::new();
    for child in children {
        let mut node = 0usize;
        let before = added.last().map_or(NONE, std::ptr::from_ref);
        ok!(cuGraphAddChildGraphNode(
            &raw mut node => *mut usize, graph => usize, before => *const usize,
            usize::from(!added.is_empty()) => usize, *child => usize,
        ));
        added.push(node);
    }
    (graph, added)
}

fn child_of(node: usize) -> usize {
    output!(cuGraphChildGraphNodeGetGraph(node, -> usize))
}

#[test]
fn a_copy_has_separate_nested_graphs() {
    let context = context();
    let stream = stream(1);
    let block = allocate(4);
    let set = |node: usize, value: u32| {
        let set = words(block, value, 1);
        ok!(cuGraphMemsetNodeSetParams(node, &raw const set => *const MemsetNode));
    };
    let written = |graph: usize| {
        let executable = instantiate(graph);
        ok!(cuMemsetD32Async(block, 0u32, 1usize, stream));
        ok!(cuGraphLaunch(executable, stream));
        ok!(cuStreamSynchronize(stream));
        ok!(cuGraphExecDestroy(executable));
        read(block, 1)[0]
    };
    let inner = writing(block, 1, context);
    // Nest two levels deep, and make a copy before any inner handle is requested.
    let (middle, _) = enclosing(&[inner]);
    let (outer, outer_nodes) = enclosing(&[middle]);
    let early = output!(cuGraphClone(-> usize, outer));
    // A nested graph belongs to its node: changing it affects neither the original graph nor the copy.
    let in_outer = child_of(nodes(child_of(outer_nodes[0]))[0]);
    assert_eq!(in_outer, child_of(nodes(child_of(outer_nodes[0]))[0]), "requested again");
    set(nodes(in_outer)[0], 2);
    assert_eq!([inner, middle, outer, early].map(written), [1, 1, 2, 1]);
    // A later copy has the change, and is then independent.
    let late = output!(cuGraphClone(-> usize, outer));
    set(nodes(in_outer)[0], 3);
    assert_eq!([outer, early, late].map(written), [3, 1, 2]);
    let in_late = child_of(nodes(child_of(nodes(late)[0]))[0]);
    set(nodes(in_late)[0], 4);
    assert_eq!([outer, early, late].map(written), [3, 1, 4]);
    // Destroying the other graphs doesn't affect a copy.
    for graph in [inner, middle, outer] {
        ok!(cuGraphDestroy(graph));
    }
    assert_eq!([early, late].map(written), [1, 4]);
    let mut count = 0usize;
    let listed = cu!(cuGraphGetNodes(in_outer, std::ptr::null_mut::<usize>(), &raw mut count));
    assert_eq!(listed, code::INVALID_VALUE, "it was destroyed with its node");
    // A graph that is nested twice runs twice. If the program has the handle of one of the two nested graphs, the
    // handles of that graph's nodes also denote the nodes in the executable graph.
    let (first, second) = (writing(block, 5, context), writing(block, 6, context));
    let (both, both_nodes) = enclosing(&[first, second, first]);
    assert_eq!(written(both), 5);
    let inner_node = nodes(child_of(both_nodes[2]))[0];
    let executable = instantiate(both);
    let to = words(block, 7, 1);
    ok!(cuGraphExecMemsetNodeSetParams(
        executable => usize, inner_node => usize, &raw const to => *const MemsetNode, context => usize
    ));
    ok!(cuGraphLaunch(executable, stream));
    ok!(cuStreamSynchronize(stream));
    assert_eq!(read(block, 1), [7]);
    ok!(cuCtxDestroy_v2(context));
}

#[test]
fn a_nested_graph_can_be_replaced() {
    let context = context();
    let stream = stream(1);
    let block = allocate(4);
    let result = |executable: usize| {
        ok!(cuMemsetD32Async(block, 0u32, 1usize, stream));
        ok!(cuGraphLaunch(executable, stream));
        ok!(cuStreamSynchronize(stream));
        read(block, 1)[0]
    };
    let (first, second) = (writing(block, 1, context), writing(block, 2, context));
    let (outer, outer_nodes) = enclosing(&[first]);
    let early = instantiate(outer);
    // Replace the nested graph only in the executable graph.
    ok!(cuGraphExecChildGraphNodeSetParams(early, outer_nodes[0], second));
    let late = instantiate(outer);
    assert_eq!([early, late].map(result), [2, 1]);
    // Replaces the nested graph in the graph itself: the previous nested graph is destroyed.
    let before = child_of(outer_nodes[0]);
    let mut any = [0u64; 32];
    (any[0], any[2]) = (4, second as u64);
    ok!(cuGraphNodeSetParams(outer_nodes[0], any.as_mut_ptr()));
    assert_ne!(child_of(outer_nodes[0]), before);
    let mut count = 0usize;
    returns!(code::INVALID_VALUE, cuGraphGetNodes(
        before => usize, std::ptr::null_mut::<usize>() => *mut usize, &raw mut count => *mut usize
    ));
    assert_eq!(result(instantiate(outer)), 2);
    any[2] = first as u64;
    ok!(cuGraphExecNodeSetParams(early, outer_nodes[0], any.as_mut_ptr()));
    assert_eq!([early, late].map(result), [1, 1]);
    // A graph with another topology doesn't fit the executable graph, and only child-graph nodes accept a graph.
    let (larger, _) = enclosing(&[first, second]);
    let inside = nodes(first)[0];
    for (executable, node, graph) in
        [(early, outer_nodes[0], larger), (early, inside, first), (early, outer_nodes[0], 1)]
    {
        let code = cu!(cuGraphExecChildGraphNodeSetParams(executable, node, graph));
        assert_eq!(code, code::INVALID_VALUE, "{node:#x} {graph:#x}");
    }
    let code = cu!(cuGraphNodeSetParams(inside, any.as_mut_ptr()));
    assert_eq!(code, code::INVALID_VALUE);
    ok!(cuCtxDestroy_v2(context));
}
