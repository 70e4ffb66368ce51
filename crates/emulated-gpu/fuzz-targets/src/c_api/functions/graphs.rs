//! Functions for graphs, stream capture, and user objects.

/// Functions of `libcuda.so`.
pub(super) const FUNCTIONS: &str = "
cuDeviceGraphMemTrim ordinal
cuGraphAddChildGraphNode +node graph nodes count graph
cuGraphConditionalHandleCreate +condition graph zero int count
cuGraphAddNode +node graph nodes count anynode
cuGraphAddNode_v2 +node graph nodes null count anynode
cuGraphNodeGetParams node out
cuGraphNodeSetParams node anynode
cuGraphExecNodeSetParams exec node anynode
cuGraphAddDependencies graph nodes nodes count
cuGraphAddEmptyNode +node graph nodes count
cuGraphAddEventRecordNode +node graph nodes count event
cuGraphAddEventWaitNode +node graph nodes count event
cuGraphAddHostNode +node graph nodes count hostnode
cuGraphAddKernelNode +node graph nodes count kernelnode
cuGraphAddKernelNode_v2 +node graph nodes count kernelnode
cuGraphAddMemFreeNode +node graph nodes count device
cuGraphMemFreeNodeGetParams node out
cuGraphAddMemcpyNode +node graph nodes count copy3d context
cuGraphAddMemsetNode +node graph nodes count setnode context
cuGraphChildGraphNodeGetGraph node +graph
cuGraphClone +graph graph
cuGraphCreate +graph int
cuGraphDebugDotPrint graph path int
cuGraphDestroy graph
cuGraphDestroyNode node
cuGraphEventRecordNodeGetEvent node +event
cuGraphEventRecordNodeSetEvent node event
cuGraphEventWaitNodeSetEvent node event
cuGraphExecDestroy exec
cuGraphExecEventRecordNodeSetEvent exec node event
cuGraphExecEventWaitNodeSetEvent exec node event
cuGraphExecGetFlags exec out
cuGraphExecHostNodeSetParams exec node hostnode
cuGraphExecKernelNodeSetParams_v2 exec node kernelnode
cuGraphExecMemcpyNodeSetParams exec node copy3d context
cuGraphExecMemsetNodeSetParams exec node setnode context
cuGraphExecUpdate exec graph out out
cuGraphExecUpdate_v2 exec graph out
cuGraphGetEdges graph out out room
cuGraphGetNodes graph out room
cuGraphGetRootNodes graph out room
cuGraphHostNodeGetParams node out
cuGraphHostNodeSetParams node hostnode
cuGraphInstantiateWithFlags +exec graph int
cuGraphInstantiateWithParams +exec graph zeros
cuGraphInstantiate_v2 +exec graph out out small
cuGraphKernelNodeGetParams node out
cuGraphKernelNodeSetParams_v2 node kernelnode
cuGraphLaunch exec stream
cuGraphMemcpyNodeGetParams node out
cuGraphMemcpyNodeSetParams node copy3d
cuGraphMemsetNodeGetParams node out
cuGraphMemsetNodeSetParams node setnode
cuGraphNodeFindInClone +node node graph
cuGraphNodeGetDependencies node out room
cuGraphNodeGetDependentNodes node out room
cuGraphNodeGetEnabled exec node out
cuGraphNodeGetType node out
cuGraphNodeSetEnabled exec node int
cuGraphRemoveDependencies graph nodes nodes count
cuGraphUpload exec stream
cuStreamBeginCaptureToGraph stream graph nodes null count int
cuStreamBeginCapture stream
cuStreamBeginCapture_v2 stream int
cuStreamEndCapture stream +graph
cuStreamGetCaptureInfo_v2 stream out out +graph out out
cuStreamIsCapturing stream out
cuStreamUpdateCaptureDependencies stream nodes count int
cuThreadExchangeStreamCaptureMode mode
cuDeviceGetGraphMemAttribute ordinal digit out
cuDeviceSetGraphMemAttribute ordinal digit value
cuGraphAddDependencies_v2 graph nodes nodes edges count
cuGraphAddMemAllocNode +node graph nodes count allocationnode
cuGraphEventWaitNodeGetEvent node +event
cuGraphExecChildGraphNodeSetParams exec node graph
cuGraphExecGetId exec out
cuGraphExecKernelNodeSetParams exec node kernelnode
cuGraphGetEdges_v2 graph out out out room
cuGraphGetId graph out
cuGraphInstantiate +exec graph out out small
cuGraphInstantiateWithParams_ptsz +exec graph zeros
cuGraphKernelNodeCopyAttributes node node
cuGraphKernelNodeGetAttribute node attribute out
cuGraphKernelNodeGetParams_v2 node out
cuGraphKernelNodeSetAttribute node attribute value
cuGraphKernelNodeSetParams node kernelnode
cuGraphLaunch_ptsz exec stream
cuGraphMemAllocNodeGetParams node out
cuGraphNodeGetContainingGraph node +graph
cuGraphNodeGetDependencies_v2 node out out room
cuGraphNodeGetDependentNodes_v2 node out out room
cuGraphNodeGetLocalId node out
cuGraphNodeGetToolsId node out
cuGraphReleaseUserObject graph user int
cuGraphReleaseUserObject graph user one
cuGraphRemoveDependencies_v2 graph nodes nodes edges count
cuGraphRetainUserObject graph user int int
cuGraphRetainUserObject graph user one one
cuGraphUpload_ptsz exec stream
cuStreamBeginCapture_v2_ptsz stream int
cuStreamBeginCaptureToGraph stream graph nodes edges count int
cuStreamEndCapture_ptsz stream +graph
cuStreamGetCaptureInfo stream out out
cuStreamGetCaptureInfo_v3 stream out out +graph out out out
cuStreamGetCaptureInfo_v3_ptsz stream out out +graph out out out
cuStreamUpdateCaptureDependencies_v2 stream nodes edges count int
cuUserObjectCreate +user null hostfunction int int
cuUserObjectCreate +user buffer hostfunction one one
cuUserObjectRelease user int
cuUserObjectRetain user int
";
