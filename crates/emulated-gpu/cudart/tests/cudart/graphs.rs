//! Graphs built node by node, with conditional nodes.

use crate::support::*;

/// `cudaGraphNodeParams`
#[repr(C)]
struct AnyNode {
    node_type: u32,
    reserved: [i32; 3],
    words: [u64; 29],
    reserved_end: u64,
}

/// PTX of a kernel `scale(condition, value)` that sets the value of a condition.
const SET_CONDITION: &str = r"
    .reg .b64 %c;
    .reg .b32 %v;
    ld.param.u64 %c, [p];
    ld.param.u32 %v, [n];
    { .param .b64 a; .param .b32 b; st.param.b64 [a], %c; st.param.b32 [b], %v;
      call.uni cudaGraphSetConditional, (a, b); }
    ret;
";

fn condition_setter() -> Program {
    let declared = ".extern .func cudaGraphSetConditional(.param .b64 a, .param .b32 b);\n.visible";
    register(fatbin(1, 80, ptx(SET_CONDITION).replacen(".visible", declared, 1).as_bytes()))
}

fn node(node_type: u32, words: &[u64]) -> AnyNode {
    let mut parameters = [0; 29];
    parameters[..words.len()].copy_from_slice(words);
    AnyNode { node_type, reserved: [0; 3], words: parameters, reserved_end: 0 }
}

type Add = unsafe extern "C" fn(*mut usize, usize, *const usize, usize, usize, *mut AnyNode) -> u32;

/// Adds a node that depends on others.
fn add_node(graph: usize, after: &[usize], node: &mut AnyNode) -> usize {
    // The function with edge data has the suffix `_v2` in CUDA 12; in CUDA 13, it has no suffix.
    let is_cuda_13 = nvidia_runtime().is_some_and(|path| path.to_string_lossy().ends_with(".13"));
    let add: Add = symbol(if is_cuda_13 { "cudaGraphAddNode" } else { "cudaGraphAddNode_v2" });
    let mut out = 0usize;
    // SAFETY: the arguments have the types that CUDA's documentation requires.
    let code = unsafe { add(&raw mut out, graph, after.as_ptr(), 0, after.len(), node) };
    assert_eq!(code, 0);
    out
}

/// Adds a node that runs `scale(p, n)` in one thread.
fn kernel(graph: usize, after: &[usize], function: usize, (p, n): (u64, u32)) -> usize {
    let arguments = [&raw const p as u64, &raw const n as u64];
    let one = 1u64 << 32 | 1;
    let words = [function as u64, one, one, one, 0, arguments.as_ptr() as u64];
    add_node(graph, after, &mut node(0, &words))
}

#[test]
fn conditional_nodes_select_and_repeat_bodies() {
    let (program, setter) = (program(), condition_setter());
    let (data, source) = (upload(&[1.0]), upload(&[5.0]));
    let (mut graph, mut ready) = (0usize, 0usize);
    ok!(cudaGraphCreate(&raw mut graph, 0u32));
    let condition = output!(cudaGraphConditionalHandleCreate(-> u64, graph, 2u32, 1u32));
    // A copy of four bytes: no arrays, then source, destination, extent and direction (device to device).
    let mut copy = [0u64; 22];
    copy[6..10].copy_from_slice(&[source as u64, 4, 4, 1]);
    copy[14..18].copy_from_slice(&[data as u64, 4, 4, 1]);
    copy[18..22].copy_from_slice(&[4, 1, 1, 3]);
    let first = add_node(graph, &[], &mut node(1, &copy));
    // A switch node with three bodies.
    let mut switch = node(13, &[condition, 3 << 32 | 2]);
    let chosen = add_node(graph, &[first], &mut switch);
    let bodies = switch.words[2] as *const usize;
    // SAFETY: `bodies` is the runtime's list of three graphs, which is valid as long as the node.
    let body = unsafe { *bodies.add(2) };
    kernel(body, &[], program.scale, (data as u64, 1));
    let mut kind = 99u32;
    // NVIDIA's library of CUDA 12 doesn't know the type and returns cudaErrorUnknown.
    assert_code(rt!(cudaGraphNodeGetType(chosen, &raw mut kind)), 0, &[999]);
    assert!(kind == 13 || nvidia_runtime().is_some(), "{kind}");
    // A while loop; a kernel in its body ends it.
    let repeat_condition = output!(cudaGraphConditionalHandleCreate(-> u64, graph, 1u32, 1u32));
    let mut repeat = node(13, &[repeat_condition, 1 << 32 | 1]);
    add_node(graph, &[chosen], &mut repeat);
    // SAFETY: the address is that of the runtime's list of one graph, which is valid as long as the node.
    let body = unsafe { *(repeat.words[2] as *const usize) };
    let scaled = kernel(body, &[], program.scale, (data as u64, 1));
    kernel(body, &[scaled], setter.scale, (repeat_condition, 0));
    ok!(cudaGraphInstantiate(&raw mut ready, graph, 0u64));
    for _ in 0..2 {
        ok!(cudaGraphLaunch(ready, 0usize));
        assert_eq!(download::<f32>(data, 1), [20.0]);
    }
    ok!(cudaGraphExecDestroy(ready));
    ok!(cudaGraphDestroy(graph));
}
