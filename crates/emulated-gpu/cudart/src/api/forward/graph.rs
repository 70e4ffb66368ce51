//! Graph functions with the same arguments, codes and handles in both APIs. Pointers and handles are forwarded as
//! plain integers.

use crate::context::bind;
use crate::ffi::forward;

// Graphs and nodes.
forward! {
    bind:
    cudaGraphCreate = cuGraphCreate(out: usize, flags: u32);
    cudaGraphDestroy = cuGraphDestroy(graph: usize);
    cudaGraphClone = cuGraphClone(out: usize, graph: usize);
    cudaGraphInstantiate = cuGraphInstantiateWithFlags(out: usize, graph: usize, flags: u64);
    cudaGraphInstantiateWithFlags = cuGraphInstantiateWithFlags(out: usize, graph: usize, flags: u64);
    cudaGraphExecDestroy = cuGraphExecDestroy(graph: usize);
    cudaGraphExecGetFlags = cuGraphExecGetFlags(graph: usize, out: usize);
    cudaGraphExecUpdate = cuGraphExecUpdate_v2(exec: usize, graph: usize, out: usize);
    cudaGraphDebugDotPrint = cuGraphDebugDotPrint(graph: usize, path: usize, flags: u32);
    cudaGraphGetNodes = cuGraphGetNodes(graph: usize, out: usize, count: usize);
    cudaGraphGetRootNodes = cuGraphGetRootNodes(graph: usize, out: usize, count: usize);
    cudaGraphGetEdges = cuGraphGetEdges_v2(graph: usize, from: usize, to: usize, edges: usize, count: usize);
    cudaGraphGetEdges_v2 = cuGraphGetEdges_v2(graph: usize, from: usize, to: usize, edges: usize, count: usize);
    cudaGraphAddDependencies = cuGraphAddDependencies_v2(graph: usize, from: usize, to: usize, edges: usize, count: usize);
    cudaGraphAddDependencies_v2 = cuGraphAddDependencies_v2(graph: usize, from: usize, to: usize, edges: usize, count: usize);
    cudaGraphRemoveDependencies = cuGraphRemoveDependencies_v2(graph: usize, from: usize, to: usize, edges: usize, count: usize);
    cudaGraphRemoveDependencies_v2 = cuGraphRemoveDependencies_v2(graph: usize, from: usize, to: usize, edges: usize, count: usize);
    cudaGraphNodeGetDependencies = cuGraphNodeGetDependencies_v2(node: usize, out: usize, edges: usize, count: usize);
    cudaGraphNodeGetDependencies_v2 = cuGraphNodeGetDependencies_v2(node: usize, out: usize, edges: usize, count: usize);
    cudaGraphNodeGetDependentNodes = cuGraphNodeGetDependentNodes_v2(node: usize, out: usize, edges: usize, count: usize);
    cudaGraphNodeGetDependentNodes_v2 = cuGraphNodeGetDependentNodes_v2(node: usize, out: usize, edges: usize, count: usize);
    cudaGraphNodeGetType = cuGraphNodeGetType(node: usize, out: usize);
    cudaGraphNodeFindInClone = cuGraphNodeFindInClone(out: usize, node: usize, clone: usize);
    cudaGraphNodeSetEnabled = cuGraphNodeSetEnabled(exec: usize, node: usize, enabled: u32);
    cudaGraphNodeGetEnabled = cuGraphNodeGetEnabled(exec: usize, node: usize, out: usize);
    cudaGraphDestroyNode = cuGraphDestroyNode(node: usize);
    cudaGraphAddEmptyNode = cuGraphAddEmptyNode(out: usize, graph: usize, before: usize, count: usize);
    cudaGraphAddChildGraphNode = cuGraphAddChildGraphNode(out: usize, graph: usize, before: usize, count: usize, child: usize);
    cudaGraphChildGraphNodeGetGraph = cuGraphChildGraphNodeGetGraph(node: usize, out: usize);
    cudaGraphAddHostNode = cuGraphAddHostNode(out: usize, graph: usize, before: usize, count: usize, call: usize);
    cudaGraphHostNodeGetParams = cuGraphHostNodeGetParams(node: usize, out: usize);
    cudaGraphHostNodeSetParams = cuGraphHostNodeSetParams(node: usize, call: usize);
    cudaGraphExecHostNodeSetParams = cuGraphExecHostNodeSetParams(exec: usize, node: usize, call: usize);
    cudaGraphAddEventRecordNode = cuGraphAddEventRecordNode(out: usize, graph: usize, before: usize, count: usize, event: usize);
    cudaGraphEventRecordNodeGetEvent = cuGraphEventRecordNodeGetEvent(node: usize, out: usize);
    cudaGraphEventRecordNodeSetEvent = cuGraphEventRecordNodeSetEvent(node: usize, event: usize);
    cudaGraphExecEventRecordNodeSetEvent = cuGraphExecEventRecordNodeSetEvent(exec: usize, node: usize, event: usize);
    cudaGraphAddEventWaitNode = cuGraphAddEventWaitNode(out: usize, graph: usize, before: usize, count: usize, event: usize);
    cudaGraphEventWaitNodeGetEvent = cuGraphEventWaitNodeGetEvent(node: usize, out: usize);
    cudaGraphEventWaitNodeSetEvent = cuGraphEventWaitNodeSetEvent(node: usize, event: usize);
    cudaGraphExecEventWaitNodeSetEvent = cuGraphExecEventWaitNodeSetEvent(exec: usize, node: usize, event: usize);
    cudaGraphMemsetNodeGetParams = cuGraphMemsetNodeGetParams(node: usize, out: usize);
    cudaGraphMemsetNodeSetParams = cuGraphMemsetNodeSetParams(node: usize, fill: usize);
}

// Launch, upload and instantiation in a stream.
forward! {
    bind:
    cudaGraphLaunch = cuGraphLaunch, cudaGraphLaunch_ptsz = cuGraphLaunch_ptsz(graph: usize, stream: usize);
    cudaGraphUpload = cuGraphUpload, cudaGraphUpload_ptsz = cuGraphUpload_ptsz(graph: usize, stream: usize);
    cudaGraphInstantiateWithParams = cuGraphInstantiateWithParams, cudaGraphInstantiateWithParams_ptsz = cuGraphInstantiateWithParams_ptsz
        (out: usize, graph: usize, parameters: usize);
}
