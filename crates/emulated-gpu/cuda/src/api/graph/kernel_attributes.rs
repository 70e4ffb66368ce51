//! The attributes of kernel nodes.

use std::sync::Arc;

use crate::abi::enumeration::enumeration;
use crate::abi::error::{Code, Result};
use crate::abi::ffi::export;
use crate::abi::{Handle, In, Out};
use crate::api::graph::nodes::graph_of;
use crate::execution::launch::{check_cluster, set_cooperative_launch};
use crate::graph::operation::Operation;
use crate::graph::{Content, Node};

/// `CUkernelNodeAttrValue`
type Value = [u64; 8];

enumeration! {
    /// The attributes `CUkernelNodeAttrID`. All but three are hints, which are stored and can be read, but have no
    /// effect.
    Attribute, "kernels in graphs have no attribute {}" {
        AccessPolicyWindow = 1, Cooperative = 2, ClusterDimension = 4, ClusterSchedulingPolicyPreference = 5,
        Priority = 8, MemorySyncDomainMap = 9, MemorySyncDomain = 10, PreferredClusterDimension = 11,
        DeviceUpdatableKernelNode = 13, PreferredSharedMemoryCarveout = 14,
    }
}

/// Calls `f` with the node, which must be a kernel.
fn with_kernel<T>(node: Handle, f: impl FnOnce(&mut Node) -> Result<T>) -> Result<T> {
    graph_of(node)?.with_node(node, |node| match node.operation() {
        Some(Operation::Launch { .. }) => f(node),
        _ => Err(Code::INVALID_VALUE.because("the node is not a kernel node")),
    })
}

fn set_cooperative(node: &mut Node, wanted: bool) -> Result {
    if let Content::Work(Operation::Launch { function, launch }) = &mut node.content {
        *launch = Arc::new(set_cooperative_launch(function, launch, wanted)?);
    }
    Ok(())
}

fn is_cooperative(node: &Node) -> bool {
    matches!(node.operation(), Some(Operation::Launch { launch, .. }) if launch.cooperative)
}

fn attribute(node: &Node, attribute: Attribute) -> Value {
    match attribute {
        Attribute::Cooperative => [is_cooperative(node).into(), 0, 0, 0, 0, 0, 0, 0],
        hint => node.hints.get(&(hint as u32)).copied().unwrap_or_default(),
    }
}

fn set(node: &mut Node, attribute: Attribute, value: Value) -> Result {
    match attribute {
        Attribute::Cooperative => return set_cooperative(node, value[0] as u32 != 0),
        Attribute::ClusterDimension => check_cluster(&value)?,
        Attribute::DeviceUpdatableKernelNode if value[0] as u32 != 0 => {
            return Err(Code::NOT_SUPPORTED.because("updating graphs from kernels is not emulated"));
        }
        _ => {}
    }
    node.hints.insert(attribute as u32, value);
    Ok(())
}

export! {
    11000 fn cuGraphKernelNodeGetAttribute(node: Handle, id: u32, value as required: Out<Value>) {
        value.set(with_kernel(node, |node| Ok(attribute(node, Attribute::from_number(id)?)))?)
    }

    11000 fn cuGraphKernelNodeSetAttribute(node: Handle, id: u32, value: In<Value>) {
        let value = value.get()?;
        with_kernel(node, |node| set(node, Attribute::from_number(id)?, value))
    }

    11000 fn cuGraphKernelNodeCopyAttributes(to: Handle, from: Handle) {
        let (cooperative, hints) =
            with_kernel(from, |node| Ok((is_cooperative(node), node.hints.clone())))?;
        with_kernel(to, |node| {
            set_cooperative(node, cooperative)?;
            node.hints = hints;
            Ok(())
        })
    }
}
