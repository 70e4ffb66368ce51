//! The C functions of the emulated driver, cuBLAS and cuBLASLt, in sequences that nobody would
//! write: handles that are gone or never were, addresses beside allocations and far from any,
//! sizes that wrap around, on up to three threads at once.
//!
//! What C leaves to the caller is kept: a pointer to host memory is null or points at enough of it,
//! and a descriptor of cuBLASLt, which is memory of the client's, is not used after it has been
//! destroyed. Everything else may be wrong, and has to be refused or done, without harm to the host.

mod argument;
mod functions;
mod library;
mod objects;
mod structures;
mod withheld;

use std::sync::OnceLock;

use argument::{Arena, Bytes};
use library::Api;
use objects::{ObjectKind, Objects};

/// `CUDA_ERROR_UNKNOWN`: what the driver says after a panic of its own.
const UNKNOWN: u32 = 999;
/// `CUBLAS_STATUS_INTERNAL_ERROR`
const INTERNAL_ERROR: u32 = 14;
/// Bytes that say one call: which function, which arguments.
const CALL: usize = 16;
/// Calls of one sequence, at most.
const MOST_CALLS: usize = 96;

fn api() -> &'static Api {
    static API: OnceLock<Api> = OnceLock::new();
    API.get_or_init(Api::load)
}

/// The first byte says how many threads there are, and whether there is something to work on
/// before they begin; after it, every 16 bytes are a call, in turn of each thread.
pub fn run(bytes: &[u8]) {
    let Some((&first, calls)) = bytes.split_first() else { return };
    let threads = usize::from(first & 3).max(1);
    let api = api();
    let objects = Objects::default();
    api.retain();
    if first & 4 == 0 {
        prepare(api, &objects);
    }
    let calls: Vec<&[u8]> = calls.chunks(CALL).take(MOST_CALLS).collect();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let own: Vec<&[u8]> = calls.iter().copied().skip(thread).step_by(threads).collect();
            scope.spawn(|| sequence(api, &objects, own));
        }
    });
    api.clean_up(&objects);
}

/// One of each of what most functions want.
fn prepare(api: &Api, objects: &Objects) {
    for line in [
        "cuStreamCreate +stream zero",
        "cuEventCreate +event zero",
        "cuMemAlloc_v2 +device page",
        "cuMemAllocManaged +device page one",
        "cuMemAllocHost_v2 +device page",
        "cuModuleLoadData +module goodimage",
        "cuModuleGetFunction +function module name",
        "cuGraphCreate +graph zero",
        "cublasCreate_v2 +cublas",
        "cublasLtCreate +cublaslt",
    ] {
        let mut arena = Arena::default();
        // The handles are the only ones of their kinds so far.
        api.call(&api.function(line), Bytes::new(&[4; CALL]), objects, &mut arena);
    }
}

/// The calls of one thread.
fn sequence(api: &Api, objects: &Objects, calls: Vec<&[u8]>) {
    api.enter();
    let mut arena = Arena::default();
    for call in calls {
        let mut bytes = Bytes::new(call);
        let index = usize::from(u16::from_le_bytes([bytes.next(), bytes.next()]));
        let function = &api.functions[index % api.functions.len()];
        let code = api.call(function, bytes, objects, &mut arena);
        let internal = if function.name.starts_with("cublas") { INTERNAL_ERROR } else { UNKNOWN };
        assert_ne!(code, internal, "{} failed inside", function.name);
    }
    // Descriptors that were not destroyed are this thread's alone.
    for kind in [ObjectKind::Descriptor, ObjectKind::Layout, ObjectKind::Preference] {
        api.destroy(kind, arena.own.drain(kind));
    }
    api.leave();
}
