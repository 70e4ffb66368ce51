//! Drawings of the graph that a tensor was computed by.

use std::collections::HashMap;
use std::fmt::Write;
use std::rc::Rc;

use ::layout::backends::svg::SVGWriter;
use ::layout::gv::{DotParser, GraphBuilder};

use crate::backward::youngest_first;
use crate::tensor::Node;
use crate::{Element, ErrorKind, Result, Tensor};

/// The largest graph that is drawn: a picture of more nodes would be unreadable.
const MAX_NODES: usize = 500;

/// The graph of everything that a tensor was computed from, in the language of Graphviz. Boxes are tensors
/// that the program created (gold if gradients flow to them); ellipses are results. `dot -Tsvg` draws it.
///
/// # Errors
/// The error that the tensor holds; [`ErrorKind::Drawing`] if the graph is too large.
pub fn dot<T: Element>(tensor: &Tensor<T>) -> Result<String> {
    let mut text = String::from("digraph {\n  rankdir=TB;\n");
    let nodes = nodes(tensor)?;
    let number: HashMap<u64, usize> = nodes.iter().map(|node| node.id).zip(0..).collect();
    for (i, node) in nodes.iter().enumerate() {
        let shape = node.value.borrow().shape().to_vec();
        let operation = node.origin.as_ref().map(|origin| origin.operation);
        let name = node.name.borrow().clone().unwrap_or_default();
        let what = [name.as_str(), operation.unwrap_or_default()];
        let what: Vec<&str> = what.into_iter().filter(|part| !part.is_empty()).collect();
        let (form, color) = match (operation, node.requires_grad) {
            (Some(_), _) => ("ellipse", "white"),
            (None, true) => ("box", "gold"),
            (None, false) => ("box", "lightgray"),
        };
        let label = format!("{}\\n{shape:?}", what.join(" = ").replace(['"', '\\'], "'"));
        let style = format!("shape={form}, style=filled, fillcolor={color}");
        let _ = writeln!(text, "  n{i} [label=\"{label}\", {style}];");
        for operand in node.origin.iter().flat_map(|origin| &origin.operands) {
            let _ = writeln!(text, "  n{} -> n{i};", number[&operand.node.id]);
        }
    }
    text.push_str("}\n");
    Ok(text)
}

/// The graph of a tensor, as [`dot`] describes it, as an SVG picture; this doesn't need Graphviz.
///
/// # Errors
/// As [`dot`].
pub fn svg<T: Element>(tensor: &Tensor<T>) -> Result<String> {
    let drawn = dot(tensor)?;
    let unusable = |reason: String| ErrorKind::Drawing { reason };
    let graph = DotParser::new(&drawn).process().map_err(unusable)?;
    let mut builder = GraphBuilder::new();
    builder.visit_graph(&graph);
    let mut writer = SVGWriter::new();
    builder.get().do_it(false, false, false, &mut writer);
    // A white background, because the page around it may be dark.
    let paper = "</style><rect width=\"100%\" height=\"100%\" fill=\"white\"/>";
    Ok(writer.finalize().replacen("</style>", paper, 1))
}

/// Every node, the oldest first.
fn nodes<T: Element>(tensor: &Tensor<T>) -> Result<Vec<Rc<Node<T>>>> {
    let mut nodes = youngest_first(tensor.node()?, |_| true);
    if nodes.len() > MAX_NODES {
        let reason = format!(
            "it has more than {MAX_NODES} nodes, too many for a readable picture: draw the graph \
            of a part, or of a smaller network"
        );
        return Err(ErrorKind::Drawing { reason }.into());
    }
    nodes.reverse();
    Ok(nodes)
}
