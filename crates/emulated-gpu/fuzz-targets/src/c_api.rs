//! Fuzz target for the C functions of the emulated driver, cuBLAS, cuBLASLt and NVML: sequences of calls with
//! stale and invented handles, addresses next to allocations and far from any, and sizes that overflow, on up
//! to three threads at once.
//!
//! The target keeps the promises that C leaves to the caller: a pointer to host memory is null or points to
//! enough memory, and a descriptor of cuBLASLt, which is the client's memory, is not used after it was
//! destroyed. Everything else may be wrong. The libraries must reject or execute it without harm to the host.

mod argument;
mod choice;
mod functions;
mod library;
mod lists;
mod objects;
mod prepared;
mod reserved;
mod resources;
mod structures;

use std::sync::OnceLock;

use argument::{Arena, Bytes};
use library::Api;
use objects::{ObjectKind, Objects};
use prepared::{prepare, prepare_thread};

/// `CUDA_ERROR_UNKNOWN` and `NVML_ERROR_UNKNOWN`: the driver and NVML return this after an internal panic.
const UNKNOWN: u32 = 999;
/// `CUBLAS_STATUS_INTERNAL_ERROR`
const INTERNAL_ERROR: u32 = 14;
/// The number of bytes that describe one call: the function and its arguments.
const CALL: usize = 16;
/// The maximum number of calls in one sequence.
const MAX_CALLS: usize = 96;

fn api() -> &'static Api {
    static API: OnceLock<Api> = OnceLock::new();
    API.get_or_init(Api::load)
}

/// Runs a case, the fuzzer's input. The first byte chooses the number of threads and the objects that exist at the
/// beginning. After it, every 16 bytes describe a call. The calls are distributed over the threads in turn.
pub fn run(bytes: &[u8]) {
    let Some((&first, calls)) = bytes.split_first() else { return };
    let threads = usize::from(first & 3).max(1);
    let api = api();
    let objects = Objects::default();
    api.retain_context();
    prepare(api, first, &objects);
    let calls: Vec<&[u8]> = calls.chunks(CALL).take(MAX_CALLS).collect();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let own: Vec<&[u8]> = calls.iter().copied().skip(thread).step_by(threads).collect();
            scope.spawn(|| sequence(api, first, &objects, own));
        }
    });
    api.clean_up(&objects);
}

/// Executes the calls of one thread.
fn sequence(api: &Api, first: u8, objects: &Objects, calls: Vec<&[u8]>) {
    api.make_context_current();
    let mut arena = Arena::default();
    prepare_thread(api, first, objects, &mut arena);
    for call in calls {
        let mut bytes = Bytes::new(call);
        let function = api.choose(u16::from_le_bytes([bytes.next(), bytes.next()]));
        let code = api.call(function, bytes, objects, &mut arena);
        let internal = if function.name.starts_with("cublas") { INTERNAL_ERROR } else { UNKNOWN };
        assert_ne!(code, internal, "{} failed inside", function.name);
    }
    // Destroys the descriptors, layouts and preferences of this thread that no call has destroyed.
    for kind in [ObjectKind::Descriptor, ObjectKind::Layout, ObjectKind::Preference] {
        api.destroy(kind, arena.thread_objects.drain(kind));
    }
    api.leave_contexts();
}
