//! Tests of green contexts: each has its own resources, and shares everything else with the primary
//! context.

use crate::export_tables;
use crate::support::*;

const INVALID_RESOURCE_TYPE: u32 = 914;
const INVALID_RESOURCE_CONFIGURATION: u32 = 915;
const STREAM_DETACHED: u32 = 917;
const MULTIPROCESSORS: u32 = 1;

/// `CUdevResource`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Resource {
    kind: u32,
    internal: [u32; 23],
    data: [u32; 10],
    next: usize,
}

/// `CU_DEV_SM_RESOURCE_GROUP_PARAMS`
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Group {
    count: u32,
    coscheduled: u32,
    rest: [u32; 14],
}

fn device_resource() -> Resource {
    let mut resource = Resource::default();
    ok!(cuDeviceGetDevResource(0 => i32, &raw mut resource => *mut Resource, MULTIPROCESSORS));
    resource
}

fn by_count(input: Resource, wanted: usize, min: u32) -> (u32, Vec<Resource>, Resource) {
    let mut groups = vec![Resource::default(); wanted];
    let (mut count, mut rest) = (wanted as u32, Resource::default());
    let list = if wanted == 0 { std::ptr::null_mut() } else { groups.as_mut_ptr() };
    let code = cu!(cuDevSmResourceSplitByCount(
        list => *mut Resource, &raw mut count => *mut u32, &raw const input => *const Resource,
        &raw mut rest => *mut Resource, 0 => u32, min => u32,
    ));
    assert!(wanted == 0 || code != 0 || count as usize <= wanted);
    groups.truncate(count as usize);
    if wanted == 0 && code == 0 {
        groups = vec![Resource::default(); count as usize];
    }
    (code, groups, rest)
}

fn by_groups(input: Resource, groups: &mut [Group]) -> (u32, Vec<Resource>, Resource) {
    let mut created = vec![Resource::default(); groups.len()];
    let mut rest = Resource::default();
    let code = cu!(cuDevSmResourceSplit(
        created.as_mut_ptr() => *mut Resource, groups.len() as u32 => u32,
        &raw const input => *const Resource, &raw mut rest => *mut Resource, 0 => u32,
        groups.as_mut_ptr() => *mut Group,
    ));
    (code, created, rest)
}

fn descriptor(resources: &[Resource]) -> (u32, usize) {
    let mut descriptor = 0usize;
    let code = cu!(cuDevResourceGenerateDesc(
        &raw mut descriptor, resources.as_ptr() => *const Resource, resources.len() as u32
    ));
    (code, descriptor)
}

fn green(resources: &[Resource]) -> usize {
    let (code, descriptor) = descriptor(resources);
    assert_eq!(code, 0);
    output!(cuGreenCtxCreate(-> usize, descriptor, 0 => i32, 1u32))
}

#[test]
fn multiprocessors_are_split() {
    ok!(cuInit(0u32));
    let all = device_resource();
    // All multiprocessors of the device, in steps of 8 as for compute capability 9.0.
    assert_eq!((all.kind, &all.data[..3]), (MULTIPROCESSORS, &[132, 8, 8][..]));
    let (code, groups, rest) = by_count(all, 0, 2);
    assert_eq!((code, groups.len(), rest.data[0]), (0, 16, 4));
    let (code, groups, rest) = by_count(all, 3, 9);
    assert_eq!(code, 0);
    assert_eq!(groups.iter().map(|group| group.data[0]).collect::<Vec<_>>(), [16; 3]);
    assert_eq!((rest.kind, rest.data[0]), (MULTIPROCESSORS, 132 - 48));
    assert_ne!(groups[0], groups[1], "the groups are disjoint");
    assert_eq!(by_count(all, 1, 133).0, code::INVALID_VALUE);
    assert_eq!(by_count(Resource::default(), 1, 2).0, INVALID_RESOURCE_TYPE);
    // A group can only be split once a green context has it; the remainder can be split immediately.
    assert_eq!(by_count(groups[0], 1, 2).0, INVALID_RESOURCE_CONFIGURATION);
    assert_eq!(by_count(rest, 1, 2).0, 0);
    // Groups with individual sizes; the second one takes the remainder.
    let mut wanted = [Group { count: 4, coscheduled: 2, ..Group::default() }, Group::default()];
    let (code, made, rest) = by_groups(all, &mut wanted);
    assert_eq!(code, 0);
    assert_eq!((made[0].data[0], made[1].data[0], wanted[1].count), (4, 128, 128));
    assert_eq!(rest.kind, 0, "nothing is left");
    for (count, expected) in [(3, code::INVALID_VALUE), (134, code::INVALID_VALUE)] {
        let mut wanted = [Group { count, ..Group::default() }];
        assert_eq!(by_groups(all, &mut wanted).0, expected, "{count}");
    }
    let mut twice = [Group { count: 100, ..Group::default() }; 2];
    assert_eq!(by_groups(all, &mut twice).0, INVALID_RESOURCE_CONFIGURATION);
    // A context's groups must be disjoint and come from one split.
    let (_, groups, _) = by_count(all, 2, 8);
    assert_eq!(descriptor(&groups).0, 0);
    assert_eq!(descriptor(&[groups[0], groups[0]]).0, INVALID_RESOURCE_CONFIGURATION);
    assert_eq!(descriptor(&[]).0, code::INVALID_VALUE);
    assert_eq!(descriptor(&[Resource::default()]).0, INVALID_RESOURCE_TYPE);
}

#[test]
fn green_contexts_share_memory_with_the_primary_context() {
    ok!(cuInit(0u32));
    let primary = output!(cuDevicePrimaryCtxRetain(-> usize, 0 => i32));
    let (_, groups, _) = by_count(device_resource(), 2, 8);
    let green = green(&groups[..1]);
    let green_context = output!(cuCtxFromGreenCtx(-> usize, green));
    assert!(green_context != primary && green_context != green);
    // The runtime library queries this.
    assert_eq!([primary, green_context].map(export_tables::green), [(0, 0), (1, green)]);
    // Memory and modules are shared.
    ok!(cuCtxSetCurrent(primary));
    let block = allocate(16);
    let increment = function(module(INCREMENT), "increment");
    ok!(cuMemsetD32_v2(block, 3u32, 4usize));
    // The fill is asynchronous, and the non-blocking stream below doesn't wait for it.
    ok!(cuCtxSynchronize());
    ok!(cuCtxSetCurrent(green_context));
    let mut current = output!(cuCtxGetCurrent(-> usize));
    assert_eq!(current, green_context);
    ok!(cuCtxPopCurrent_v2(&raw mut current));
    ok!(cuCtxPushCurrent_v2(green_context));
    ok!(cuCtxGetCurrent(&raw mut current));
    assert_eq!(current, green_context, "not the primary context, of which it is a part");
    let mut stream = 0usize;
    returns!(code::INVALID_VALUE, cuGreenCtxStreamCreate(&raw mut stream, green, 0u32, 0 => i32));
    ok!(cuGreenCtxStreamCreate(&raw mut stream, green, 1u32, 0 => i32));
    let other = crate::support::stream(1);
    assert_eq!(launch(increment, (1, 4), stream, &[block, 4]), 0);
    ok!(cuStreamSynchronize(stream));
    assert_eq!(read(block, 4), [4; 4]);
    // Both streams belong to the green context, and have its multiprocessors.
    for stream in [stream, other] {
        let (mut owner, mut context, mut resource) = (0usize, 0usize, Resource::default());
        ok!(cuStreamGetGreenCtx(stream, &raw mut owner));
        ok!(cuStreamGetCtx(stream, &raw mut context));
        ok!(cuStreamGetDevResource(stream, &raw mut resource => *mut Resource, MULTIPROCESSORS));
        assert_eq!((owner, context, resource.data[0]), (green, green_context, 8));
        ok!(cuStreamGetCtx_v2(stream, &raw mut context, &raw mut owner));
        assert_eq!((owner, context), (green, primary));
    }
    // Record one event after the work of all of the green context's streams, and let all of these streams wait for
    // another.
    let (after_all, first) = (event(), event());
    let gate = gate(other);
    ok!(cuGreenCtxRecordEvent(green, after_all));
    returns!(code::NOT_READY, cuEventQuery(after_all));
    ok!(cuEventRecord(first, other));
    ok!(cuGreenCtxWaitEvent(green, first));
    let late = crate::support::stream(1);
    for stream in [stream, late] {
        returns!(code::NOT_READY, cuStreamQuery(stream));
    }
    gate.open();
    ok!(cuEventSynchronize(after_all));
    ok!(cuCtxSynchronize());
    let id = output!(cuGreenCtxGetId(green, -> u64));
    let again = output!(cuGreenCtxGetId(0usize, -> u64));
    assert!(id > 0 && id == again);
    // Streams that outlive the green context accept no work.
    ok!(cuCtxSetCurrent(primary));
    ok!(cuGreenCtxDestroy(green));
    returns!(code::INVALID_CONTEXT, cuGreenCtxDestroy(green));
    returns!(code::INVALID_CONTEXT, cuCtxSetCurrent(green_context));
    assert_eq!(launch(increment, (1, 4), stream, &[block, 4]), STREAM_DETACHED);
    for stream in [stream, other, late] {
        ok!(cuStreamDestroy_v2(stream));
    }
    ok!(cuMemFree_v2(block));
    ok!(cuDevicePrimaryCtxRelease_v2(0 => i32));
}
