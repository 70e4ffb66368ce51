//! The numeric ids of graphs and nodes.

use crate::support::{code, cu, ok, output, own_context};

fn graph() -> usize {
    output!(cuGraphCreate(-> usize, 0 => u32))
}

fn empty(graph: usize) -> usize {
    let (mut node, none) = (0usize, std::ptr::null::<usize>());
    ok!(cuGraphAddEmptyNode(
        &raw mut node => *mut usize, graph => usize, none => *const usize, 0 => usize
    ));
    node
}

#[test]
fn graphs_and_nodes_have_unique_ids() {
    let _context = own_context();
    let (first, second) = (graph(), graph());
    let nodes = [empty(first), empty(first), empty(second)];
    let id = |graph: usize| output!(cuGraphGetId(graph => usize, -> u32));
    assert!(id(first) > 0 && id(first) != id(second) && id(first) == id(first));
    let ids = nodes.map(|node| {
        let (mut local, mut tools, mut graph) = (0u32, 0u64, 0usize);
        ok!(cuGraphNodeGetLocalId(node => usize, &raw mut local => *mut u32));
        ok!(cuGraphNodeGetToolsId(node => usize, &raw mut tools => *mut u64));
        ok!(cuGraphNodeGetContainingGraph(node => usize, &raw mut graph => *mut usize));
        (local, tools, graph)
    });
    assert_eq!(ids.map(|(_, _, graph)| graph), [first, first, second]);
    assert!(ids[0].0 != ids[1].0 && ids[0].1 != ids[1].1);
    assert!(ids[1].1 != ids[2].1);
    let executables = [0; 2].map(|_: i32| {
        let (mut ready, mut id) = (0usize, 0u32);
        ok!(cuGraphInstantiateWithFlags(
            &raw mut ready => *mut usize, first => usize, 0 => u64
        ));
        ok!(cuGraphExecGetId(ready => usize, &raw mut id => *mut u32));
        ok!(cuGraphExecDestroy(ready => usize));
        id
    });
    assert!(executables[0] > 0 && executables[0] != executables[1]);
    ok!(cuGraphDestroyNode(nodes[0] => usize));
    let mut local = 0u32;
    let gone = cu!(cuGraphNodeGetLocalId(nodes[0] => usize, &raw mut local => *mut u32));
    let unknown = cu!(cuGraphGetId(1 => usize, &raw mut local => *mut u32));
    assert_eq!([gone, unknown], [code::INVALID_VALUE; 2]);
    ok!(cuGraphDestroy(first => usize));
    ok!(cuGraphDestroy(second => usize));
}
