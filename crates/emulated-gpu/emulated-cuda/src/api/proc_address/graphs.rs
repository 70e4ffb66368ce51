//! The functions of graphs, by name and version.

use std::ffi::c_void;

use crate::api::{graph, graph_edges, graph_memory, graph_nodes, user_object};

use super::{Entry, table};

table! {
    /// The functions of graphs.
    rows:
    "cuGraphAddChildGraphNode" 10000 graph_nodes::cuGraphAddChildGraphNode;
    "cuGraphAddDependencies" 10000 graph_edges::cuGraphAddDependencies;
    "cuGraphAddDependencies" 12030 graph_edges::cuGraphAddDependencies_v2;
    "cuGraphAddEmptyNode" 10000 graph_nodes::cuGraphAddEmptyNode;
    "cuGraphAddEventRecordNode" 11010 graph_nodes::cuGraphAddEventRecordNode;
    "cuGraphAddEventWaitNode" 11010 graph_nodes::cuGraphAddEventWaitNode;
    "cuGraphAddHostNode" 10000 graph_nodes::cuGraphAddHostNode;
    "cuGraphAddKernelNode" 10000 graph_nodes::cuGraphAddKernelNode;
    "cuGraphAddKernelNode" 12000 graph_nodes::cuGraphAddKernelNode_v2;
    "cuGraphAddMemAllocNode" 11040 graph_memory::cuGraphAddMemAllocNode;
    "cuGraphAddMemFreeNode" 11040 graph_memory::cuGraphAddMemFreeNode;
    "cuGraphAddMemcpyNode" 10000 graph_nodes::cuGraphAddMemcpyNode;
    "cuGraphAddMemsetNode" 10000 graph_nodes::cuGraphAddMemsetNode;
    "cuGraphChildGraphNodeGetGraph" 10000 graph_nodes::cuGraphChildGraphNodeGetGraph;
    "cuGraphClone" 10000 graph::cuGraphClone;
    "cuGraphCreate" 10000 graph::cuGraphCreate;
    "cuGraphDebugDotPrint" 11030 graph::cuGraphDebugDotPrint;
    "cuGraphDestroy" 10000 graph::cuGraphDestroy;
    "cuGraphDestroyNode" 10000 graph_nodes::cuGraphDestroyNode;
    "cuGraphEventRecordNodeGetEvent" 11010 graph_nodes::cuGraphEventRecordNodeGetEvent;
    "cuGraphEventRecordNodeSetEvent" 11010 graph_nodes::cuGraphEventRecordNodeSetEvent;
    "cuGraphEventWaitNodeGetEvent" 11010 graph_nodes::cuGraphEventWaitNodeGetEvent;
    "cuGraphEventWaitNodeSetEvent" 11010 graph_nodes::cuGraphEventWaitNodeSetEvent;
    "cuGraphExecDestroy" 10000 graph::cuGraphExecDestroy;
    "cuGraphExecEventRecordNodeSetEvent" 11010 graph_nodes::cuGraphExecEventRecordNodeSetEvent;
    "cuGraphExecEventWaitNodeSetEvent" 11010 graph_nodes::cuGraphExecEventWaitNodeSetEvent;
    "cuGraphExecGetFlags" 12000 graph::cuGraphExecGetFlags;
    "cuGraphExecHostNodeSetParams" 10020 graph_nodes::cuGraphExecHostNodeSetParams;
    "cuGraphExecKernelNodeSetParams" 10010 graph_nodes::cuGraphExecKernelNodeSetParams;
    "cuGraphExecKernelNodeSetParams" 12000 graph_nodes::cuGraphExecKernelNodeSetParams_v2;
    "cuGraphExecMemcpyNodeSetParams" 10020 graph_nodes::cuGraphExecMemcpyNodeSetParams;
    "cuGraphExecMemsetNodeSetParams" 10020 graph_nodes::cuGraphExecMemsetNodeSetParams;
    "cuGraphExecUpdate" 10020 graph::cuGraphExecUpdate;
    "cuGraphExecUpdate" 12000 graph::cuGraphExecUpdate_v2;
    "cuGraphGetEdges" 10000 graph_edges::cuGraphGetEdges;
    "cuGraphGetEdges" 12030 graph_edges::cuGraphGetEdges_v2;
    "cuGraphGetNodes" 10000 graph_edges::cuGraphGetNodes;
    "cuGraphGetRootNodes" 10000 graph_edges::cuGraphGetRootNodes;
    "cuGraphHostNodeGetParams" 10000 graph_nodes::cuGraphHostNodeGetParams;
    "cuGraphHostNodeSetParams" 10000 graph_nodes::cuGraphHostNodeSetParams;
    "cuGraphInstantiate" 10000 graph::cuGraphInstantiate;
    "cuGraphInstantiate" 11000 graph::cuGraphInstantiate_v2;
    "cuGraphInstantiate" 12000 graph::cuGraphInstantiateWithFlags;
    "cuGraphInstantiateWithFlags" 11040 graph::cuGraphInstantiateWithFlags;
    "cuGraphInstantiateWithParams" 12000 graph::cuGraphInstantiateWithParams, graph::cuGraphInstantiateWithParams_ptsz;
    "cuGraphKernelNodeGetParams" 10000 graph_nodes::cuGraphKernelNodeGetParams;
    "cuGraphKernelNodeGetParams" 12000 graph_nodes::cuGraphKernelNodeGetParams_v2;
    "cuGraphKernelNodeSetParams" 10000 graph_nodes::cuGraphKernelNodeSetParams;
    "cuGraphKernelNodeSetParams" 12000 graph_nodes::cuGraphKernelNodeSetParams_v2;
    "cuGraphLaunch" 10000 graph::cuGraphLaunch, graph::cuGraphLaunch_ptsz;
    "cuGraphMemAllocNodeGetParams" 11040 graph_memory::cuGraphMemAllocNodeGetParams;
    "cuGraphMemFreeNodeGetParams" 11040 graph_memory::cuGraphMemFreeNodeGetParams;
    "cuGraphMemcpyNodeGetParams" 10000 graph_nodes::cuGraphMemcpyNodeGetParams;
    "cuGraphMemcpyNodeSetParams" 10000 graph_nodes::cuGraphMemcpyNodeSetParams;
    "cuGraphMemsetNodeGetParams" 10000 graph_nodes::cuGraphMemsetNodeGetParams;
    "cuGraphMemsetNodeSetParams" 10000 graph_nodes::cuGraphMemsetNodeSetParams;
    "cuGraphNodeFindInClone" 10000 graph_nodes::cuGraphNodeFindInClone;
    "cuGraphNodeGetDependencies" 10000 graph_edges::cuGraphNodeGetDependencies;
    "cuGraphNodeGetDependencies" 12030 graph_edges::cuGraphNodeGetDependencies_v2;
    "cuGraphNodeGetDependentNodes" 10000 graph_edges::cuGraphNodeGetDependentNodes;
    "cuGraphNodeGetDependentNodes" 12030 graph_edges::cuGraphNodeGetDependentNodes_v2;
    "cuGraphNodeGetEnabled" 11060 graph_nodes::cuGraphNodeGetEnabled;
    "cuGraphNodeGetType" 10000 graph_nodes::cuGraphNodeGetType;
    "cuGraphNodeSetEnabled" 11060 graph_nodes::cuGraphNodeSetEnabled;
    "cuGraphReleaseUserObject" 11030 user_object::cuGraphReleaseUserObject;
    "cuGraphRemoveDependencies" 10000 graph_edges::cuGraphRemoveDependencies;
    "cuGraphRemoveDependencies" 12030 graph_edges::cuGraphRemoveDependencies_v2;
    "cuGraphRetainUserObject" 11030 user_object::cuGraphRetainUserObject;
    "cuUserObjectCreate" 11030 user_object::cuUserObjectCreate;
    "cuUserObjectRelease" 11030 user_object::cuUserObjectRelease;
    "cuUserObjectRetain" 11030 user_object::cuUserObjectRetain;
    "cuDeviceGetGraphMemAttribute" 11040 graph_memory::cuDeviceGetGraphMemAttribute;
    "cuDeviceSetGraphMemAttribute" 11040 graph_memory::cuDeviceSetGraphMemAttribute;
    "cuGraphUpload" 11010 graph::cuGraphUpload, graph::cuGraphUpload_ptsz;
}
