//! Attributes of kernels in graphs that are not parameters, and graphs that kernels may launch.

use crate::capture::{THREAD_LOCAL, begin, end, nodes};
use crate::support::*;

/// `CU_LAUNCH_ATTRIBUTE_COOPERATIVE`, `…_CLUSTER_DIMENSION`, `…_PRIORITY`
const COOPERATIVE: u32 = 2;
const CLUSTER: u32 = 4;
const PRIORITY: u32 = 8;

fn set(node: usize, attribute: u32, value: [u32; 3]) -> u32 {
    let mut whole = [0u32; 16];
    whole[..3].copy_from_slice(&value);
    cu!(cuGraphKernelNodeSetAttribute(node, attribute, &raw const whole))
}

fn get(node: usize, attribute: u32) -> Result<u32, u32> {
    let mut value = [9u32; 16];
    let code = cu!(cuGraphKernelNodeGetAttribute(node, attribute, &raw mut value));
    if code == 0 { Ok(value[0]) } else { Err(code) }
}

/// A graph of two kernels.
fn kernels() -> usize {
    let increment = function(module(INCREMENT), "increment");
    let stream = stream(1);
    let block = allocate(16);
    begin(stream, THREAD_LOCAL);
    for _ in 0..2 {
        assert_eq!(launch(increment, (1, 4), stream, &[block, 4]), 0);
    }
    end(stream).1
}

#[test]
fn kernels_in_graphs_have_attributes() {
    let _context = own_context();
    let graph = kernels();
    let [first, second] = nodes(graph)[..] else { panic!("two kernels") };
    assert_eq!([COOPERATIVE, PRIORITY].map(|id| get(first, id)), [Ok(0); 2]);
    assert_eq!([set(first, COOPERATIVE, [1, 0, 0]), set(first, PRIORITY, [3, 0, 0])], [0; 2]);
    assert_eq!(set(first, CLUSTER, [1, 1, 1]), 0);
    assert_eq!([COOPERATIVE, PRIORITY, CLUSTER].map(|id| get(first, id)), [Ok(1), Ok(3), Ok(1)]);
    ok!(cuGraphKernelNodeCopyAttributes(second, first));
    assert_eq!([COOPERATIVE, PRIORITY].map(|id| get(second, id)), [Ok(1), Ok(3)]);
    // Setting parameters doesn't change attributes, and a copy has both.
    let mut kernel = [0u64; 9];
    ok!(cuGraphKernelNodeGetParams_v2(first, kernel.as_mut_ptr()));
    ok!(cuGraphKernelNodeSetParams_v2(first, kernel.as_ptr()));
    let clone = output!(cuGraphClone(-> usize, graph));
    let copied = output!(cuGraphNodeFindInClone(-> usize, first, clone));
    for node in [first, copied] {
        assert_eq!([COOPERATIVE, PRIORITY].map(|id| get(node, id)), [Ok(1), Ok(3)]);
    }
    assert_eq!(set(first, CLUSTER, [2, 1, 1]), code::NOT_SUPPORTED);
    let expected = (code::INVALID_VALUE, Err(code::INVALID_VALUE));
    assert_eq!((set(first, 3, [0; 3]), get(first, 99)), expected);
    // Other nodes don't have these attributes.
    let (mut empty, none) = (0usize, std::ptr::null::<usize>());
    ok!(cuGraphAddEmptyNode(&raw mut empty, graph, none, 0usize));
    assert_eq!(get(empty, COOPERATIVE), Err(code::INVALID_VALUE));
}

/// The error code of an instantiation, its `CUgraphInstantiateResult`, and the executable graph.
pub(crate) fn try_instantiate(graph: usize, flags: u64) -> (u32, u32, usize) {
    /// `CUDA_GRAPH_INSTANTIATE_PARAMS`
    #[repr(C)]
    struct Instantiation {
        flags: u64,
        stream: usize,
        node: usize,
        result: u32,
    }
    let mut executable = 0usize;
    let mut parameters = Instantiation { flags, stream: 0, node: 0, result: 99 };
    let code = cu!(cuGraphInstantiateWithParams(
        &raw mut executable => *mut usize, graph => usize, &raw mut parameters => *mut Instantiation
    ));
    (code, parameters.result, executable)
}

#[test]
fn device_launchable_graphs_have_kernels_copies_and_fills() {
    const DEVICE_LAUNCH: u64 = 4;
    let _context = own_context();
    let graph = kernels();
    let (code, result, executable) = try_instantiate(graph, DEVICE_LAUNCH);
    assert_eq!((code, result), (0, 0));
    let flags = output!(cuGraphExecGetFlags(executable, -> u64));
    assert_eq!(flags, DEVICE_LAUNCH);
    ok!(cuGraphLaunch(executable, 0usize));
    ok!(cuCtxSynchronize());
    let (mut empty, none) = (0usize, std::ptr::null::<usize>());
    ok!(cuGraphAddEmptyNode(&raw mut empty, graph, none, 0usize));
    let (code, result, _) = try_instantiate(graph, DEVICE_LAUNCH);
    assert_eq!((code, result), (code::INVALID_VALUE, 3));
}
