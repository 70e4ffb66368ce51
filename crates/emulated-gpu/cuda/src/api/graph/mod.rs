//! Whole graphs: creating, cloning, instantiating, updating and launching them.

pub(crate) mod any_node;
pub(crate) mod child;
pub(crate) mod edges;
pub(crate) mod ids;
pub(crate) mod kernel_attributes;
pub(crate) mod memory;
pub(crate) mod nodes;
pub(crate) mod user_object;

use std::fmt::Write as _;
use std::sync::Arc;

use host::file::write_atomically;

use crate::abi::error::{Code, Result, fail_if};
use crate::abi::ffi::export;
use crate::abi::registry::new_handle;
use crate::abi::{Handle, Out, Text};
use crate::api::calling_thread;
use crate::api::driver::driver;
use crate::api::legacy_streams;
use crate::graph::executable::{DEVICE_LAUNCH, Executable, Refusal};
use crate::graph::operation::{GraphMemory, Operation};
use crate::graph::step::Difference;
use crate::graph::{Content, Graph};

/// The instantiation flag `CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH`.
const AUTO_FREE: u64 = 1;
/// All instantiation flags.
const FLAGS: u64 = 15;

/// `CUDA_GRAPH_INSTANTIATE_PARAMS`
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct InstantiateParameters {
    flags: u64,
    upload_stream: Handle,
    error_node: Handle,
    result: u32,
}

/// `CUgraphExecUpdateResultInfo`
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct UpdateResult {
    result: u32,
    error_node: Handle,
    error_from_node: Handle,
}

/// `CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED`, `…_NODE_TYPE_CHANGED`, `…_PARAMETERS_CHANGED`
const TOPOLOGY_CHANGED: u32 = 2;
const NODE_TYPE_CHANGED: u32 = 3;
const PARAMETERS_CHANGED: u32 = 5;

fn instantiate(out: Out<Handle>, graph: Handle, flags: u64) -> Result {
    make_executable(out, graph, flags).map_err(|refusal| refusal.error)
}

fn make_executable(out: Out<Handle>, graph: Handle, flags: u64) -> Result<(), Refusal> {
    out.required()?;
    if flags & !FLAGS != 0 || flags & AUTO_FREE != 0 && flags & DEVICE_LAUNCH != 0 {
        let why = format!("unsupported flags {flags:#x} of an executable graph");
        return Err(Code::INVALID_VALUE.because(why).into());
    }
    let driver = driver()?;
    let executable = driver.graph(graph)?.instantiate(flags)?;
    let handle = new_handle();
    driver.executables.insert(handle, Arc::new(executable));
    Ok(out.set(handle)?)
}

/// The executable graph with this handle.
///
/// # Errors
/// `INVALID_VALUE` if the handle is unknown.
pub(crate) fn executable(handle: Handle) -> Result<Arc<Executable>> {
    driver()?.executables.find(handle, Code::INVALID_VALUE, "executable graph")
}

/// Updates an executable graph from another graph. Returns the result code (0 for success) and the node that doesn't
/// match.
fn update(graph: Handle, from: Handle) -> Result<(u32, Handle)> {
    let (old, new) = (executable(graph)?, driver()?.graph(from)?);
    Ok(match old.update(&new)? {
        Ok(()) => (0, 0),
        Err((node, Difference::NodeType)) => (NODE_TYPE_CHANGED, node),
        Err((node, Difference::Topology)) => (TOPOLOGY_CHANGED, node),
        Err((node, Difference::Parameters)) => (PARAMETERS_CHANGED, node),
    })
}

fn dot(graph: &Graph) -> String {
    let mut text = String::from("digraph graph_ {\n");
    write_nodes(graph, &mut text);
    text + "}\n"
}

fn label(operation: &Operation) -> String {
    match operation {
        Operation::Launch { function, launch } => {
            format!("{} {:?} {:?}", function.kernel.name(), launch.grid, launch.block)
        }
        Operation::Copy(_) => "copy".to_owned(),
        Operation::Fill(_) => "fill".to_owned(),
        Operation::Declare(declaration) => declaration.operation.clone(),
        Operation::Library(work) => work.operation.clone(),
        Operation::Host { .. } => "host function".to_owned(),
        other => format!("node of type {}", other.node_type() as u32),
    }
}

/// Writes the nodes and edges of a graph in DOT's syntax, and the bodies of its conditional nodes as clusters.
fn write_nodes(graph: &Graph, text: &mut String) {
    for node in graph.nodes().iter() {
        let label = match &node.content {
            Content::Work(operation) => label(operation),
            Content::Child(_) => "graph".to_owned(),
            Content::Conditional(node) => {
                format!("{} {:#x}", node.kind.name(), node.condition.handle)
            }
        };
        let handle = node.handle;
        // Writing to a String never fails.
        let _ = writeln!(text, "  n{handle:x} [label=\"{}\"];", label.replace('"', "'"));
        for before in node.dependencies() {
            let _ = writeln!(text, "  n{before:x} -> n{handle:x};");
        }
        let Content::Conditional(node) = &node.content else { continue };
        for (number, body) in node.bodies.iter().enumerate() {
            let inside = body.handle;
            let _ = writeln!(text, "  subgraph cluster_{inside:x} {{");
            let _ = writeln!(text, "  label=\"body {number} of n{handle:x}\";");
            write_nodes(body, text);
            text.push_str("  }\n");
        }
    }
}

export! {
    10000 fn cuGraphCreate(out as required: Out<Handle>, flags: u32) {
        fail_if!(flags != 0, INVALID_VALUE, "graphs have no flags");
        let graph = Arc::new(Graph::new(Arc::clone(&driver()?.graphs)));
        graph.register();
        out.set(graph.handle)
    }

    10000 fn cuGraphClone(out as required: Out<Handle>, graph: Handle) {
        out.set(driver()?.graph(graph)?.duplicate()?.handle)
    }

    10000 fn cuGraphDestroy(graph: Handle) {
        let graph = driver()?.graph(graph)?;
        fail_if!(graph.is_body, INVALID_VALUE, "this is the body of a conditional node; destroy the node instead");
        graph.unregister();
        Ok(())
    }

    10000 fn cuGraphInstantiate(
        out: Out<Handle>, graph: Handle, _error: Out<Handle>, _log: Out<u8>, _size: usize,
    ), 11000 cuGraphInstantiate_v2 {
        instantiate(out, graph, 0)
    }

    11040 fn cuGraphInstantiateWithFlags(out: Out<Handle>, graph: Handle, flags: u64) {
        instantiate(out, graph, flags)
    }

    12000 fn cuGraphInstantiateWithParams(
        out: Out<Handle>, graph: Handle, parameters: Out<InstantiateParameters>,
    ) also cuGraphInstantiateWithParams_ptsz {
        let given = parameters.get()?;
        let made = make_executable(out, graph, given.flags);
        // CUDA_GRAPH_INSTANTIATE_SUCCESS, or the reason for the failure.
        let result = made.as_ref().map_or_else(|refusal| refusal.result, |()| 0);
        parameters.set(InstantiateParameters { result, error_node: 0, ..given })?;
        made.map_err(|refusal| refusal.error)
    }

    12000 fn cuGraphExecGetFlags(graph: Handle, flags as required: Out<u64>) {
        flags.set(executable(graph)?.flags)
    }

    10020 fn cuGraphExecUpdate(graph: Handle, from: Handle, node: Out<Handle>, result: Out<u32>) {
        let (code, culprit) = update(graph, from)?;
        node.set_if_wanted(culprit);
        result.set_if_wanted(code);
        if code == 0 { Ok(()) } else { Err(Code::GRAPH_EXEC_UPDATE_FAILURE.into()) }
    }

    12000 fn cuGraphExecUpdate_v2(graph: Handle, from: Handle, result: Out<UpdateResult>) {
        let (code, culprit) = update(graph, from)?;
        result.set_if_wanted(UpdateResult { result: code, error_node: culprit, error_from_node: 0 });
        if code == 0 { Ok(()) } else { Err(Code::GRAPH_EXEC_UPDATE_FAILURE.into()) }
    }

    10000 fn cuGraphLaunch(graph: Handle, stream: Handle) also cuGraphLaunch_ptsz {
        let graph = executable(graph)?;
        let stream = calling_thread::stream(stream)?;
        graph.launch(stream.capture().is_none(), |work| {
            GraphMemory::count_live(&work, &driver()?.hardware);
            legacy_streams::enqueue(&stream, work)
        })
    }

    11010 fn cuGraphUpload(graph: Handle, stream: Handle) also cuGraphUpload_ptsz {
        executable(graph)?;
        calling_thread::stream(stream).map(|_| ())
    }

    10000 fn cuGraphExecDestroy(graph: Handle) {
        executable(graph)?;
        // Launches in flight have their own references to the work.
        driver()?.executables.remove(graph);
        Ok(())
    }

    11030 fn cuGraphDebugDotPrint(graph: Handle, path: Text, _flags: u32) {
        let graph = driver()?.graph(graph)?;
        let path = path.get()?;
        let text = dot(&graph);
        write_atomically(path.as_ref(), |file| file.write_all(text.as_bytes()))
            .map_err(|error| Code::OPERATING_SYSTEM.because(format!("{path}: {error}")))
    }

    11040 fn cuDeviceGraphMemTrim(device: i32) {
        let (device, hardware) = (crate::api::device::check(device)?, &driver()?.hardware);
        hardware.graph_memory.trim(device, hardware.allocations.graph_bytes(device));
        Ok(())
    }
}
