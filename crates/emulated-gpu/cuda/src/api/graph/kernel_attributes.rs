//! The attributes of kernels in graphs.

use std::sync::Arc;

use crate::abi::error::{Code, Error, Result};
use crate::abi::ffi::export;
use crate::abi::{Handle, In, Out};
use crate::api::graph::nodes::graph_of;
use crate::execution::launch::cooperating;
use crate::graph::operation::Operation;
use crate::graph::{Content, Node};

/// `CUkernelNodeAttrValue`
type Value = [u64; 8];

/// `CU_LAUNCH_ATTRIBUTE_COOPERATIVE`, `…_CLUSTER_DIMENSION`, `…_DEVICE_UPDATABLE_KERNEL_NODE`
const COOPERATIVE: u32 = 2;
const CLUSTER: u32 = 4;
const UPDATABLE: u32 = 13;
/// Windows of caches, how clusters are spread, priority, domains of fences and of their order, a cluster that
/// would be better, and how much of the cache is shared memory.
const HINTS: [u32; 7] = [1, 5, 8, 9, 10, 11, 14];

fn unknown(attribute: u32) -> Error {
    Code::INVALID_VALUE.because(format!("kernels in graphs have no attribute {attribute}"))
}

/// What a function makes of a node that is a kernel.
fn with<T>(node: Handle, f: impl FnOnce(&mut Node) -> Result<T>) -> Result<T> {
    graph_of(node)?.with(node, |node| match node.operation() {
        Some(Operation::Launch { .. }) => f(node),
        _ => Err(Code::INVALID_VALUE.because("the node is no kernel")),
    })
}

fn set_cooperative(node: &mut Node, wanted: bool) -> Result {
    if let Content::Work(Operation::Launch { function, launch }) = &mut node.content {
        *launch = Arc::new(cooperating(function, launch, wanted)?);
    }
    Ok(())
}

fn is_cooperative(node: &Node) -> bool {
    matches!(node.operation(), Some(Operation::Launch { launch, .. }) if launch.cooperative)
}

fn attribute(node: &Node, attribute: u32) -> Result<Value> {
    match attribute {
        COOPERATIVE => Ok([is_cooperative(node).into(), 0, 0, 0, 0, 0, 0, 0]),
        CLUSTER | UPDATABLE => Ok(node.hints.get(&attribute).copied().unwrap_or_default()),
        hint if HINTS.contains(&hint) => Ok(node.hints.get(&hint).copied().unwrap_or_default()),
        other => Err(unknown(other)),
    }
}

fn set(node: &mut Node, attribute: u32, value: Value) -> Result {
    match attribute {
        COOPERATIVE => return set_cooperative(node, value[0] as u32 != 0),
        CLUSTER => {
            let [x, y] = [value[0] as u32, (value[0] >> 32) as u32];
            if x > 1 || y > 1 || value[1] as u32 > 1 {
                return Err(
                    Code::NOT_SUPPORTED.because("clusters of more than one block are not emulated")
                );
            }
        }
        UPDATABLE if value[0] as u32 != 0 => {
            return Err(Code::NOT_SUPPORTED.because("kernels can't change graphs here"));
        }
        UPDATABLE => {}
        hint if HINTS.contains(&hint) => {}
        other => return Err(unknown(other)),
    }
    node.hints.insert(attribute, value);
    Ok(())
}

export! {
    11000 fn cuGraphKernelNodeGetAttribute(node: Handle, id: u32, value: Out<Value>) {
        value.required()?;
        value.set(with(node, |node| attribute(node, id))?)
    }

    11000 fn cuGraphKernelNodeSetAttribute(node: Handle, id: u32, value: In<Value>) {
        let value = value.get()?;
        with(node, |node| set(node, id, value))
    }

    11000 fn cuGraphKernelNodeCopyAttributes(to: Handle, from: Handle) {
        let (cooperative, hints) =
            with(from, |node| Ok((is_cooperative(node), node.hints.clone())))?;
        with(to, |node| {
            set_cooperative(node, cooperative)?;
            node.hints = hints;
            Ok(())
        })
    }
}
