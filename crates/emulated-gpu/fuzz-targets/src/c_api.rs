//! The C functions of the emulated driver, cuBLAS, cuBLASLt and NVML, in sequences that nobody would
//! write: handles that are gone or never were, addresses beside allocations and far from any,
//! sizes that wrap around, on up to three threads at once.
//!
//! What C leaves to the caller is kept: a pointer to host memory is null or points at enough of it,
//! and a descriptor of cuBLASLt, which is memory of the client's, is not used after it has been
//! destroyed. Everything else may be wrong, and has to be refused or done, without harm to the host.

mod argument;
mod choice;
mod functions;
mod library;
mod lists;
mod objects;
mod prepared;
mod resources;
mod structures;
mod withheld;

use std::sync::OnceLock;

use argument::{Arena, Bytes};
use library::Api;
use objects::{ObjectKind, Objects};
use prepared::{prepare, prepare_thread};

/// `CUDA_ERROR_UNKNOWN`, `NVML_ERROR_UNKNOWN`: what the driver and NVML say after a panic of their own.
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

/// The first byte says how many threads there are, and what there is to work on before they
/// begin; after it, every 16 bytes are a call, in turn of each thread.
pub fn run(bytes: &[u8]) {
    let Some((&first, calls)) = bytes.split_first() else { return };
    let threads = usize::from(first & 3).max(1);
    let api = api();
    let objects = Objects::default();
    api.retain();
    prepare(api, first, &objects);
    let calls: Vec<&[u8]> = calls.chunks(CALL).take(MOST_CALLS).collect();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let own: Vec<&[u8]> = calls.iter().copied().skip(thread).step_by(threads).collect();
            scope.spawn(|| sequence(api, first, &objects, own));
        }
    });
    api.clean_up(&objects);
}

/// The calls of one thread.
fn sequence(api: &Api, first: u8, objects: &Objects, calls: Vec<&[u8]>) {
    api.enter();
    let mut arena = Arena::default();
    prepare_thread(api, first, objects, &mut arena);
    for call in calls {
        let mut bytes = Bytes::new(call);
        let function = api.choose(u16::from_le_bytes([bytes.next(), bytes.next()]));
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
