//! The rules for conditional nodes and their conditions.

use std::ffi::CString;

use crate::capture::instantiate;
use crate::conditional_nodes::{
    AnyNode, CONDITIONAL, IF, SWITCH, WHILE, add, condition, decide, graph, kernel, kernels, run,
};
use crate::graph_attributes;
use crate::support::*;

/// The error code of an instantiation, and its `CUgraphInstantiateResult`.
fn try_instantiate(graph: usize) -> (u32, u32) {
    let (code, result, executable) = graph_attributes::try_instantiate(graph, 0);
    if code == 0 {
        ok!(cuGraphExecDestroy(executable));
    }
    (code, result)
}

#[test]
fn each_kind_has_a_valid_number_of_bodies() {
    let context = context();
    let graph = graph();
    for (kind, size) in [(IF, 0), (IF, 3), (WHILE, 0), (WHILE, 2), (SWITCH, 0), (3, 1)] {
        let condition = condition(graph, None);
        let rejected = decide(graph, &[], (condition, kind, size)).map(|_| ());
        assert_eq!(rejected, Err(code::INVALID_VALUE), "{kind} with {size}");
        // The condition is still unused.
        decide(graph, &[], (condition, SWITCH, 1)).unwrap();
    }
    // Reserved fields must be 0, and other types are invalid.
    for wrong in [
        AnyNode { node_type: 5, reserved: [0, 1, 0], ..AnyNode::default() },
        AnyNode { node_type: 5, reserved_end: 1, ..AnyNode::default() },
        AnyNode { node_type: 14, ..AnyNode::default() },
    ] {
        let mut wrong = wrong;
        assert_eq!(add(graph, &[], &mut wrong), Err(code::INVALID_VALUE));
    }
    // Semaphores of graphics libraries are not supported.
    let mut signal = AnyNode { node_type: 8, ..AnyNode::default() };
    assert_eq!(add(graph, &[], &mut signal), Err(code::NOT_SUPPORTED));
    let create = |graph: usize, context: usize, flags: u32| {
        let mut handle = 0u64;
        cu!(cuGraphConditionalHandleCreate(&raw mut handle, graph, context, 0u32, flags))
    };
    assert_eq!(create(graph, context, 2), code::INVALID_VALUE);
    assert_eq!(create(12345, context, 0), code::INVALID_VALUE);
    assert_eq!(create(graph, 12345, 0), code::INVALID_CONTEXT);
    ok!(cuCtxDestroy_v2(context));
}

#[test]
fn a_condition_belongs_to_one_graph_and_one_node() {
    let _context = own_context();
    let (one, other) = (graph(), graph());
    let of_one = condition(one, Some(0));
    let assert_rejected = |graph: usize, condition: u64| {
        assert_eq!(decide(graph, &[], (condition, IF, 1)).map(|_| ()), Err(code::INVALID_VALUE));
    };
    assert_rejected(other, of_one);
    assert_rejected(one, 12345);
    let (node, body) = decide(one, &[], (of_one, IF, 1)).unwrap();
    assert_rejected(one, of_one);
    // A nested graph may use the outer graph's condition, but the outer graph may not use the body's.
    let (below, above) = (condition(one, None), condition(body[0], None));
    assert_rejected(one, above);
    decide(body[0], &[], (above, IF, 1)).unwrap();
    let (inner, _) = decide(body[0], &[], (below, IF, 1)).unwrap();
    assert_eq!(try_instantiate(one), (0, 0));
    // A condition that no node uses any more prevents instantiation.
    ok!(cuGraphDestroyNode(inner));
    assert_eq!(try_instantiate(one), (code::INVALID_VALUE, 5));
    decide(one, &[], (below, WHILE, 1)).unwrap();
    assert_eq!(try_instantiate(one), (0, 0));
    // The bodies belong to the node: they can't be destroyed before it, and are destroyed with it.
    returns!(code::INVALID_VALUE, cuGraphDestroy(body[0]));
    ok!(cuGraphDestroyNode(node));
    returns!(code::INVALID_VALUE, cuGraphDestroy(body[0]));
    let mut count = 0usize;
    let none = std::ptr::null_mut::<usize>();
    let gone = cu!(cuGraphGetNodes(body[0], none, &raw mut count));
    assert_eq!(gone, code::INVALID_VALUE);
    // A graph's conditions are destroyed with it.
    let left = condition(one, None);
    ok!(cuGraphDestroy(one));
    assert_rejected(other, left);
}

#[test]
fn a_graph_with_conditional_nodes_has_one_executable_and_no_copy() {
    let _context = own_context();
    let stream = stream(1);
    let (module, word, graph) = (module(&kernels()), allocate(4), graph());
    let (_, body) = decide(graph, &[], (condition(graph, Some(1)), IF, 1)).unwrap();
    kernel(body[0], &[], function(module, "add"), &[word, 1]);
    let (mut clone, mut node, outer) = (0usize, 0usize, crate::conditional_nodes::graph());
    returns!(code::INVALID_VALUE, cuGraphClone(&raw mut clone, graph));
    let put = |graph: usize, node: &mut usize| {
        cu!(cuGraphAddChildGraphNode(
            &raw mut *node, outer, std::ptr::null::<usize>(), 0 => usize, graph
        ))
    };
    assert_eq!(put(graph, &mut node), code::INVALID_VALUE);
    // A body without conditional nodes may be copied into a node.
    assert_eq!(put(body[0], &mut node), 0);
    let executable = instantiate(graph);
    assert_eq!(try_instantiate(graph), (code::INVALID_VALUE, 1));
    ok!(cuStreamBeginCapture_v2(stream, 1u32));
    returns!(code::INVALID_VALUE, cuGraphLaunch(executable, stream));
    ok!(cuStreamEndCapture(stream, &raw mut clone));
    ok!(cuMemsetD32_v2(word, 0u32, 1usize));
    ok!(cuCtxSynchronize());
    run(executable, stream);
    assert_eq!(read(word, 1), [1]);
    ok!(cuGraphExecDestroy(executable));
    assert_eq!(try_instantiate(graph), (0, 0));
}

#[test]
fn a_body_may_only_contain_device_work() {
    unsafe extern "C" fn do_nothing(_: *mut std::ffi::c_void) {}
    let other = context();
    let foreign = function(module(&kernels()), "add");
    let context = context();
    let (module, stream, word, host) = (module(&kernels()), stream(1), allocate(64), [0u32; 16]);
    let body_of =
        |graph: usize| decide(graph, &[], (condition(graph, Some(1)), IF, 1)).unwrap().1[0];
    let captured = |body: usize, work: &dyn Fn()| {
        ok!(cuStreamBeginCaptureToGraph(
            stream, body, std::ptr::null::<usize>(), 0 => usize, 0 => usize, 1 => u32
        ));
        work();
        ok!(cuStreamEndCapture(stream, 0usize));
    };
    let do_nothing: unsafe extern "C" fn(*mut std::ffi::c_void) = do_nothing;
    let event = event();
    let launched = graph();
    kernel(launched, &[], function(module, "add"), &[word, 1]);
    let ready = instantiate(launched);
    let works: [(&str, &dyn Fn(), bool); 7] = [
        ("a graph", &|| ok!(cuGraphLaunch(ready, stream)), true),
        (
            "a kernel",
            &|| assert_eq!(launch(function(module, "add"), (1, 1), stream, &[word, 1]), 0),
            true,
        ),
        ("a fill", &|| ok!(cuMemsetD32Async(word, 1u32, 1usize, stream)), true),
        ("a copy", &|| ok!(cuMemcpyDtoDAsync_v2(word, word + 8, 4usize, stream)), true),
        (
            "a copy from the program's memory",
            &|| ok!(cuMemcpyHtoDAsync_v2(word, host.as_ptr(), 4usize, stream)),
            false,
        ),
        (
            "a host function",
            &|| {
                ok!(cuLaunchHostFunc(
                    stream => usize, do_nothing => unsafe extern "C" fn(*mut std::ffi::c_void), 0 => usize
                ))
            },
            false,
        ),
        (
            "memory",
            &|| {
                let block = output!(cuMemAllocAsync(-> u64, 4usize, stream));
                ok!(cuMemFreeAsync(block, stream));
            },
            false,
        ),
    ];
    for (what, work, fits) in works {
        // Try each kind of work in a body, and in a child graph in a body. Outside bodies,
        // everything is allowed.
        let (one, two, plain) = (graph(), graph(), graph());
        captured(body_of(one), work);
        captured(plain, work);
        let mut node = 0usize;
        let child = cu!(cuGraphAddChildGraphNode(
            &raw mut node, body_of(two), std::ptr::null::<usize>(), 0 => usize, plain
        ));
        assert_eq!(child, 0, "{what}");
        let expected = if fits { (0, 0) } else { (code::INVALID_VALUE, 1) };
        assert_eq!(try_instantiate(one), expected, "{what}");
        assert_eq!(try_instantiate(two), expected, "{what}");
        assert_eq!(try_instantiate(plain), (0, 0), "{what}");
    }
    let (waits, foreign_kernel) = (graph(), graph());
    output!(cuGraphAddEventRecordNode(
        -> usize, body_of(waits), std::ptr::null::<usize>(), 0 => usize, event
    ));
    assert_eq!(try_instantiate(waits), (code::INVALID_VALUE, 1));
    kernel(body_of(foreign_kernel), &[], foreign, &[word, 1]);
    assert_eq!(try_instantiate(foreign_kernel), (code::INVALID_VALUE, 1));
    // A conditional node must have the same context as its condition.
    let mine = graph();
    let mut any = AnyNode { node_type: CONDITIONAL, ..AnyNode::default() };
    any.words = [0; 29];
    any.words[..2].copy_from_slice(&[condition(mine, None), 1 << 32]);
    any.words[3] = other as u64;
    assert_eq!(add(mine, &[], &mut any), Err(code::INVALID_VALUE));
    ok!(cuCtxDestroy_v2(context));
    ok!(cuCtxDestroy_v2(other));
}

#[test]
fn a_kernel_can_only_set_valid_conditions_of_its_context() {
    if !is_child() {
        for (case, part) in [
            ("unknown", "is not the handle of a condition"),
            ("gone", "is not the handle of a condition"),
            ("elsewhere", "belongs to a context other than the kernel's"),
        ] {
            let text = run_child!(&[("CASE", case)]);
            assert!(
                text.contains("cudaGraphSetConditional") && text.contains(part),
                "{case}: {text}"
            );
        }
        return;
    }
    context();
    let graph = graph();
    let handle = match std::env::var("CASE").unwrap().as_str() {
        "unknown" => 0,
        "gone" => {
            let handle = condition(graph, None);
            ok!(cuGraphDestroy(graph));
            handle
        }
        _ => {
            let handle = condition(graph, None);
            context();
            handle
        }
    };
    let set = function(module(&kernels()), "set");
    assert_eq!(launch(set, (1, 1), 0, &[handle, 1]), 0);
    returns!(code::ILLEGAL_ADDRESS, cuCtxSynchronize());
}

#[test]
fn the_dot_graph_shows_the_bodies() {
    let _context = own_context();
    let graph = graph();
    let (module, word) = (module(&kernels()), allocate(4));
    let (_, bodies) = decide(graph, &[], (condition(graph, None), SWITCH, 2)).unwrap();
    kernel(bodies[1], &[], function(module, "add"), &[word, 1]);
    let file = std::env::temp_dir().join(format!("emulated-gpu-{}.dot", std::process::id()));
    let path = CString::new(file.to_str().unwrap()).unwrap();
    ok!(cuGraphDebugDotPrint(graph, path.as_ptr(), 0u32));
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    for part in ["switch 0x", "body 0 of", "body 1 of", "add [1, 1, 1]"] {
        assert!(text.contains(part), "no {part} in {text}");
    }
}

/// The parameters of nodes can be read back.
#[test]
fn node_parameters_can_be_read_back() {
    let context = context();
    let (graph, word) = (graph(), allocate(4));
    let adds = function(module(&kernels()), "add");
    let condition = condition(graph, None);
    let params = |node: usize| {
        let mut any = AnyNode { reserved_end: 9, ..AnyNode::default() };
        ok!(cuGraphNodeGetParams(node, &raw mut any => *mut AnyNode));
        assert_eq!((any.reserved, any.reserved_end), ([0; 3], 0));
        any
    };
    let (conditional, bodies) = decide(graph, &[], (condition, SWITCH, 2)).unwrap();
    let any = params(conditional);
    assert_eq!((any.node_type, any.words[0], any.words[1]), (CONDITIONAL, condition, 2 << 32 | 2));
    // SAFETY: the driver's list has two graphs.
    let list = unsafe { std::slice::from_raw_parts(any.words[2] as *const usize, 2) };
    assert_eq!((list, any.words[3]), (&bodies[..], context as u64));
    let any = params(kernel(bodies[0], &[], adds, &[word, 5]));
    let one = 1u64 << 32 | 1;
    assert_eq!((any.node_type, &any.words[..4]), (0, &[adds as u64, one, one, one][..]));
    // SAFETY: the driver's list has two parameters of 8 bytes.
    let values = unsafe {
        let list = any.words[5] as *const *const u64;
        [**list, **list.add(1)]
    };
    assert_eq!(values, [word, 5]);
    // The node is a fill, whose parameters are then changed.
    let mut fill = AnyNode { node_type: 2, ..AnyNode::default() };
    fill.words[..5].copy_from_slice(&[word, 0, 4 << 32 | 7, 1, 1]);
    let node = add(graph, &[], &mut fill).unwrap();
    assert_eq!(params(node).words, fill.words);
    fill.words[2] = 4 << 32 | 8;
    ok!(cuGraphNodeSetParams(node, &raw mut fill => *mut AnyNode));
    assert_eq!(params(node).words, fill.words);
    // The type of a node and the parameters of a conditional node can't be changed.
    let mut empty = AnyNode { node_type: CONDITIONAL, ..AnyNode::default() };
    let set = cu!(cuGraphNodeSetParams(node, &raw mut empty => *mut AnyNode));
    assert_eq!(set, code::NOT_SUPPORTED);
    let other = add(graph, &[], &mut AnyNode { node_type: 5, ..AnyNode::default() }).unwrap();
    let set = cu!(cuGraphNodeSetParams(other, &raw mut fill => *mut AnyNode));
    assert_eq!((set, params(other).node_type), (code::INVALID_VALUE, 5));
    ok!(cuCtxDestroy_v2(context));
}
