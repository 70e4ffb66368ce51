//! Conditional nodes: with defaults, set by kernels, nested, and as loops.

use emulated_gpu_test_support::ptx::entry;

use crate::capture::{instantiate, nodes};
use crate::support::*;

pub(crate) const IF: u32 = 0;
pub(crate) const WHILE: u32 = 1;
pub(crate) const SWITCH: u32 = 2;
pub(crate) const CONDITIONAL: u32 = 13;

/// `set` sets a condition to a number. `take` sets it to the number at an address. `down` decrements the number at an
/// address, and sets the condition to it. `add` adds to the number at an address.
pub(crate) fn kernels() -> String {
    let header = ".version 7.0\n.target sm_80\n.address_size 64\n\
        .extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);\n";
    let setter = |name: &str, compute: &str| {
        let body = format!(
            ".reg .b32 %v; {compute}
             {{ .param .b64 a; .param .b32 b; st.param.b64 [a+0], %p0; st.param.b32 [b+0], %v;
               call.uni cudaGraphSetConditional, (a, b); }}
             ret;"
        );
        entry(name, 2, &body)
    };
    let down = "ld.global.u32 %v, [%p1]; sub.u32 %v, %v, 1; st.global.u32 [%p1], %v;";
    let add = ".reg .b32 %v, %n; cvt.u32.u64 %n, %p1; ld.global.u32 %v, [%p0];
        add.u32 %v, %v, %n; st.global.u32 [%p0], %v; ret;";
    header.to_owned()
        + &setter("set", "cvt.u32.u64 %v, %p1;")
        + &setter("take", "ld.global.u32 %v, [%p1];")
        + &setter("down", down)
        + &entry("add", 2, add)
}

/// `CUgraphNodeParams`
#[repr(C)]
#[derive(Default)]
pub(crate) struct AnyNode {
    pub(crate) node_type: u32,
    pub(crate) reserved: [i32; 3],
    pub(crate) words: [u64; 29],
    pub(crate) reserved_end: u64,
}

pub(crate) fn graph() -> usize {
    output!(cuGraphCreate(-> usize, 0u32))
}

/// Creates a condition, with or without a default.
pub(crate) fn condition(graph: usize, default: Option<u32>) -> u64 {
    let mut handle = 0u64;
    let (value, flags) = (default.unwrap_or(0), u32::from(default.is_some()));
    ok!(cuGraphConditionalHandleCreate(&raw mut handle, graph, 0usize, value, flags));
    handle
}

/// Adds a node of any type that depends on others.
pub(crate) fn add(graph: usize, after: &[usize], any: &mut AnyNode) -> Result<usize, u32> {
    let mut node = 0usize;
    let code = cu!(cuGraphAddNode_v2(
        &raw mut node => *mut usize, graph => usize, after.as_ptr() => *const usize, 0 => usize,
        after.len() => usize, &raw mut *any => *mut AnyNode,
    ));
    if code == 0 { Ok(node) } else { Err(code) }
}

/// Adds a kernel of one thread, with 8-byte parameters.
pub(crate) fn kernel(graph: usize, after: &[usize], function: usize, values: &[u64]) -> usize {
    let pointers: Vec<*const u64> = values.iter().map(std::ptr::from_ref).collect();
    let mut any = AnyNode::default();
    // The parameters of the node: the function, the grid and the block, no shared memory, and the kernel's parameters.
    let one = 1u64 << 32 | 1;
    any.words[..4].copy_from_slice(&[function as u64, one, one, one]);
    any.words[5] = pointers.as_ptr() as u64;
    add(graph, after, &mut any).unwrap()
}

/// Adds a conditional node; returns the node and its bodies.
pub(crate) fn decide(
    graph: usize,
    after: &[usize],
    (condition, kind, size): (u64, u32, u32),
) -> Result<(usize, Vec<usize>), u32> {
    let mut any = AnyNode { node_type: CONDITIONAL, ..AnyNode::default() };
    any.words[..2].copy_from_slice(&[condition, u64::from(size) << 32 | u64::from(kind)]);
    let node = add(graph, after, &mut any)?;
    let list = any.words[2] as *const usize;
    // SAFETY: the driver's list has `size` graphs, and is valid as long as the node.
    Ok((node, (0..size as usize).map(|index| unsafe { *list.add(index) }).collect()))
}

fn node_type(node: usize) -> u32 {
    let mut node_type = 99u32;
    ok!(cuGraphNodeGetType(node, &raw mut node_type));
    node_type
}

/// Launches an executable graph on a stream, and waits.
pub(crate) fn run(executable: usize, stream: usize) {
    ok!(cuGraphLaunch(executable, stream));
    ok!(cuStreamSynchronize(stream));
}

fn write(address: u64, value: u32) {
    ok!(cuMemsetD32_v2(address, value, 1usize));
    ok!(cuCtxSynchronize());
}

#[test]
fn a_kernel_chooses_a_body() {
    let _context = own_context();
    let (module, stream) = (module(&kernels()), stream(1));
    let (take, adds) = (function(module, "take"), function(module, "add"));
    // For each kind of node, its number of bodies, and the expected sums if the condition is 0, 1, 2, 3 and 99.
    for (kind, size, expected) in [
        (IF, 1, [1000, 1001, 1001, 1001, 1001]),
        (IF, 2, [1010, 1001, 1001, 1001, 1001]),
        (SWITCH, 1, [1001, 1000, 1000, 1000, 1000]),
        (SWITCH, 3, [1001, 1010, 1100, 1000, 1000]),
    ] {
        let (graph, word, sum) = (graph(), allocate(4), allocate(4));
        let condition = condition(graph, None);
        let first = kernel(graph, &[], take, &[condition, word]);
        let (node, bodies) = decide(graph, &[first], (condition, kind, size)).unwrap();
        for (body, amount) in bodies.iter().zip([1, 10, 100]) {
            kernel(*body, &[], adds, &[sum, amount]);
        }
        kernel(graph, &[node], adds, &[sum, 1000]);
        assert_eq!(
            nodes(graph).iter().map(|node| node_type(*node)).collect::<Vec<_>>(),
            [0, 13, 0]
        );
        let executable = instantiate(graph);
        for (value, expected) in [0, 1, 2, 3, 99].into_iter().zip(expected) {
            write(word, value);
            write(sum, 0);
            run(executable, stream);
            assert_eq!(read(sum, 1), [expected], "{kind} of {size}: {value}");
        }
        ok!(cuGraphExecDestroy(executable));
        ok!(cuGraphDestroy(graph));
    }
}

#[test]
fn loops_can_be_nested() {
    let _context = own_context();
    let (module, stream) = (module(&kernels()), stream(1));
    let (down, adds) = (function(module, "down"), function(module, "add"));
    let [outer_word, inner_word, sum] = [(); 3].map(|()| allocate(4));
    let graph = graph();
    // Both conditions are 1 at the beginning of each launch; the inner condition is set again in each iteration.
    let (outer, inner) = (condition(graph, Some(1)), condition(graph, Some(1)));
    let (_, body) = decide(graph, &[], (outer, WHILE, 1)).unwrap();
    let body = body[0];
    // A condition of the body, for a node in the body.
    let choice = condition(body, Some(0));
    let set = words_node(body, inner_word, 3);
    let again = kernel(body, &[set], function(module, "set"), &[inner, 1]);
    let (loops, innermost) = decide(body, &[again], (inner, WHILE, 1)).unwrap();
    let count = kernel(innermost[0], &[], adds, &[sum, 1]);
    kernel(innermost[0], &[count], down, &[inner, inner_word]);
    let (chooses, branches) = decide(body, &[loops], (choice, IF, 2)).unwrap();
    kernel(branches[1], &[], adds, &[sum, 100]);
    kernel(body, &[chooses], down, &[outer, outer_word]);
    let executable = instantiate(graph);
    ok!(cuGraphDestroy(graph));
    for rounds in [1, 4] {
        write(outer_word, rounds);
        write(sum, 0);
        run(executable, stream);
        assert_eq!(read(sum, 1), [rounds * 103]);
    }
    ok!(cuGraphExecDestroy(executable));
}

/// Adds a fill of one word.
fn words_node(graph: usize, target: u64, value: u32) -> usize {
    let mut any = AnyNode { node_type: 2, ..AnyNode::default() };
    any.words[..6].copy_from_slice(&[target, 0, 4 << 32 | u64::from(value), 1, 1, 0]);
    add(graph, &[], &mut any).unwrap()
}

#[test]
fn a_body_can_be_captured() {
    let _context = own_context();
    let (module, stream, other) = (module(&kernels()), stream(1), stream(1));
    let (take, down) = (function(module, "take"), function(module, "down"));
    let (word, sum) = (allocate(4), allocate(4));
    ok!(cuStreamBeginCapture_v2(stream, 1u32));
    let captured = || {
        let (mut state, mut id, mut graph, mut count) = (0u32, 0u64, 0usize, 0usize);
        let mut last = std::ptr::null::<usize>();
        ok!(cuStreamGetCaptureInfo_v2(
            stream => usize, &raw mut state => *mut u32, &raw mut id => *mut u64,
            &raw mut graph => *mut usize, &raw mut last => *mut *const usize, &raw mut count => *mut usize,
        ));
        // SAFETY: the driver's list is valid until the next request.
        (graph, (0..count).map(|index| unsafe { *last.add(index) }).collect::<Vec<_>>())
    };
    let condition = condition(captured().0, None);
    assert_eq!(launch(take, (1, 1), stream, &[condition, word]), 0);
    let (graph, last) = captured();
    let (node, body) = decide(graph, &last, (condition, WHILE, 1)).unwrap();
    ok!(cuStreamUpdateCaptureDependencies(stream, &raw const node, 1usize, 1u32));
    ok!(cuMemcpyDtoDAsync_v2(sum, word, 4usize, stream));
    // Capture the body in another stream at the same time. The driver knows its graph already, so no output is needed.
    ok!(cuStreamBeginCaptureToGraph(
        other => usize, body[0] => usize, std::ptr::null() => *const usize, 0 => usize, 0 => usize, 1 => u32,
    ));
    assert_eq!(launch(down, (1, 1), other, &[condition, word]), 0);
    ok!(cuStreamEndCapture(other, 0usize));
    let whole = output!(cuStreamEndCapture(stream, -> usize));
    assert_eq!((whole, nodes(body[0]).len()), (graph, 1));
    let executable = instantiate(graph);
    write(word, 7);
    write(sum, 9);
    run(executable, stream);
    assert_eq!((read(word, 1), read(sum, 1)), (vec![0], vec![0]));
    // No iteration if the condition is 0 at the beginning.
    run(executable, stream);
    assert_eq!(read(word, 1), [0]);
}

#[test]
fn launches_of_one_graph_follow_each_other_in_all_streams() {
    let _context = own_context();
    let (module, first, second) = (module(&kernels()), stream(1), stream(1));
    let (down, adds) = (function(module, "down"), function(module, "add"));
    let (word, sum, graph) = (allocate(4), allocate(4), graph());
    let condition = condition(graph, Some(1));
    let set = words_node(graph, word, 50);
    let (_, body) = decide(graph, &[set], (condition, WHILE, 1)).unwrap();
    let count = kernel(body[0], &[], adds, &[sum, 1]);
    kernel(body[0], &[count], down, &[condition, word]);
    let executable = instantiate(graph);
    write(sum, 0);
    // The first launch waits for the gate, and the other launches wait for the first.
    let blocked = gate(first);
    for stream in [first, second, first, second] {
        ok!(cuGraphLaunch(executable, stream));
    }
    returns!(code::NOT_READY, cuStreamQuery(second));
    blocked.open();
    ok!(cuCtxSynchronize());
    assert_eq!(read(sum, 1), [200]);
}

#[test]
fn an_update_takes_the_other_graphs_condition() {
    let _context = own_context();
    let (module, stream) = (module(&kernels()), stream(1));
    let (down, adds) = (function(module, "down"), function(module, "add"));
    let (word, sum) = (allocate(4), allocate(4));
    let make = |kind: u32, size: u32, default: u32, amount: u64| {
        let graph = graph();
        let condition = condition(graph, Some(default));
        let (_, body) = decide(graph, &[], (condition, kind, size)).unwrap();
        let count = kernel(body[0], &[], adds, &[sum, amount]);
        kernel(body[0], &[count], down, &[condition, word]);
        graph
    };
    let update = |executable: usize, graph: usize| {
        let (mut node, mut result) = (0usize, 99u32);
        cu!(cuGraphExecUpdate(executable, graph, &raw mut node, &raw mut result));
        result
    };
    let executable = instantiate(make(WHILE, 1, 1, 1));
    let sum_of = |rounds: u32| {
        write(word, rounds);
        write(sum, 0);
        run(executable, stream);
        read(sum, 1)[0]
    };
    assert_eq!(sum_of(3), 3);
    // The first update replaces the kernels by kernels that set the new graph's condition. The second update is to a
    // graph whose condition has the default 0.
    assert_eq!(update(executable, make(WHILE, 1, 1, 10)), 0);
    assert_eq!(sum_of(3), 30);
    assert_eq!(update(executable, make(WHILE, 1, 0, 10)), 0);
    assert_eq!(sum_of(3), 0);
    // The kind and the shape of the node can't be updated.
    assert_eq!(update(executable, make(IF, 1, 1, 1)), 5);
    assert_eq!(update(executable, make(IF, 2, 1, 1)), 5);
    let longer = make(WHILE, 1, 1, 1);
    let body = decide(longer, &[], (condition(longer, None), IF, 1)).unwrap().1;
    kernel(body[0], &[], adds, &[sum, 1]);
    assert_eq!(update(executable, longer), 2);
    assert_eq!(sum_of(3), 0);
}

#[test]
fn an_endless_loop_is_stopped() {
    let case = std::env::var("CASE").unwrap_or_default();
    if !is_child() {
        let limit = ("EMULATED_GPU_INSTRUCTION_LIMIT", "5000");
        for case in ["kernel", "empty"] {
            let printed = run_child!(&[("CASE", case), limit]);
            assert!(
                printed.contains("a WHILE node of a graph exceeded EMULATED_GPU_INSTRUCTION_LIMIT"),
                "{case}: {printed}"
            );
        }
        // Even without an instruction limit, the process exits.
        let variables = [("CASE", "left"), ("EMULATED_GPU_LEAKS", "1")];
        let printed = run_child!(&variables);
        assert!(printed.contains("1 pieces of work pending in streams"), "{printed}");
        return;
    }
    context();
    let (module, stream, graph) = (module(&kernels()), stream(1), graph());
    let (_, body) = decide(graph, &[], (condition(graph, Some(1)), WHILE, 1)).unwrap();
    if case == "kernel" {
        kernel(body[0], &[], function(module, "add"), &[allocate(4), 1]);
    }
    let executable = instantiate(graph);
    ok!(cuGraphLaunch(executable, stream));
    if case != "left" {
        returns!(code::LAUNCH_TIMEOUT, cuStreamSynchronize(stream));
    }
}
