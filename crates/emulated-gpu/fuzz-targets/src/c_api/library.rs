//! The libraries, loaded as clients load them, and calls of their functions.
#![allow(unsafe_code, reason = "the functions are C's")]

use std::path::Path;

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

use super::MAX_CALLS;
use super::argument::{Arena, ArgumentKind, Bytes, PIECE_BYTES, RESERVATION_BYTES, buffer};
use super::choice::Choice;
use super::functions;
use super::objects::{ObjectKind, Objects};
use super::reserved::ReservedRanges;
use super::structures::ALLOCATED_ADDRESS_WORD;
use emulated_gpu_test_support::files;

/// Every function can be called with the maximum number of arguments: on x86-64, arguments are words in
/// registers and on the stack, and the caller removes them, so a function with fewer arguments ignores the
/// rest.
#[rustfmt::skip]
type CFunction = unsafe extern "C" fn(
    u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64,
    u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64,
) -> u32;

/// `CUDA_ERROR_INVALID_CONTEXT`
const INVALID_CONTEXT: u32 = 201;
const MAX_ARGUMENTS: usize = 24;

/// A function and the kinds of its arguments.
pub(super) struct Function {
    pub(super) name: String,
    entry: CFunction,
    arguments: Vec<ArgumentKind>,
}

/// The libraries.
pub(super) struct Api {
    libraries: [Library; 4],
    functions: Vec<Function>,
    choice: Choice,
    reserved: ReservedRanges,
}

fn open(path: &Path) -> Library {
    // SAFETY: loading the libraries has no side effects.
    unsafe { Library::open(Some(path), RTLD_NOW | RTLD_GLOBAL) }
        .expect("it is built together with this crate")
}

impl Api {
    /// Loads the libraries, with two devices that have little memory and a low instruction limit.
    pub(super) fn load() -> Self {
        for (name, value) in [
            ("EMULATED_GPU_DEVICES", "2"),
            ("EMULATED_GPU_MEMORY", "64M"),
            ("EMULATED_GPU_INSTRUCTION_LIMIT", "2000"),
            ("EMULATED_GPU_THREADS", "2"),
        ] {
            // SAFETY: libFuzzer runs one case at a time, and no thread has been started yet.
            unsafe { std::env::set_var(name, value) };
        }
        let driver = emulated_cuda::library_path().expect("it is built together with this crate");
        let libraries = [
            open(&driver),
            open(&emulated_cublas::library_path().expect("it is built together with this crate")),
            open(&emulated_cublaslt::library_path().expect("it is built together with this crate")),
            open(&driver.with_file_name(emulated_nvml::FILE)),
        ];
        let signatures = functions::signatures();
        let (choice, reserved) = (Choice::new(&signatures), ReservedRanges::default());
        let mut api = Self { libraries, functions: Vec::new(), choice, reserved };
        api.functions = signatures.iter().map(|signature| api.function(signature)).collect();
        assert_eq!(api.call_by_name("cuInit", &[0]), 0);
        api
    }

    /// The function that a number of the case chooses.
    pub(super) fn choose(&self, number: u16) -> &Function {
        &self.functions[self.choice.function_index(number)]
    }

    /// The function described by a line.
    pub(super) fn function(&self, line: &str) -> Function {
        let mut words = line.split(' ');
        let name = words.next().unwrap_or_default().to_owned();
        let words: Vec<ArgumentKind> = words.map(ArgumentKind::read).collect();
        assert!(words.len() <= MAX_ARGUMENTS, "{line}");
        // SAFETY: all functions of the list only take integers and addresses, so their type is `CFunction`.
        let symbols = self
            .libraries
            .iter()
            .find_map(|library| unsafe { library.get::<CFunction>(&name) }.ok());
        let entry = *symbols.unwrap_or_else(|| panic!("no library exports {name}"));
        Function { name, entry, arguments: words }
    }

    /// Calls a function with arguments that are made from the bytes, and keeps the handles that it returns.
    pub(super) fn call(
        &self,
        function: &Function,
        mut bytes: Bytes<'_>,
        objects: &Objects,
        arena: &mut Arena,
    ) -> u32 {
        arena.clear();
        let mut arguments = [0; MAX_ARGUMENTS];
        let mut created = Vec::new();
        for (argument, word) in arguments.iter_mut().zip(&function.arguments) {
            *argument = word.value(&mut bytes, objects, arena);
            match *word {
                ArgumentKind::New(kind) => created.push((kind, *argument)),
                ArgumentKind::Last(kind) => arena.thread_objects.remove(kind, *argument),
                _ => {}
            }
        }
        let code = call_entry(function.entry, &arguments);
        if code == 0 {
            if function.name == "cuMemAddressFree" {
                self.reserved.reserve(arguments[0], arguments[1]);
                objects.remove(ObjectKind::Device, arguments[0]);
            }
            for (kind, place) in created {
                let handle = arena.read(place);
                let owner = if kind.is_thread_private() { &arena.thread_objects } else { objects };
                owner.add(kind, handle);
                if kind == ObjectKind::Device {
                    arena.store_in_host_buffer(handle);
                }
            }
            if function.name.starts_with("cuGraphAdd") {
                let (name, node) = (&*function.name, arguments[function.arguments.len() - 1]);
                for graph in conditional_bodies(name, arena, node) {
                    objects.add(ObjectKind::Graph, graph);
                }
                if let Some(address) = allocated_address(name, arena, node) {
                    objects.add(ObjectKind::Device, address);
                    arena.store_in_host_buffer(address);
                }
            }
        }
        code
    }

    /// Calls a function by its name, with these arguments.
    fn call_by_name(&self, name: &str, arguments: &[u64]) -> u32 {
        // SAFETY: as above.
        let found = self
            .libraries
            .iter()
            .find_map(|library| unsafe { library.get::<CFunction>(name) }.ok());
        let mut all = [0; MAX_ARGUMENTS];
        all[..arguments.len()].copy_from_slice(arguments);
        call_entry(*found.unwrap_or_else(|| panic!("no library exports {name}")), &all)
    }

    fn call_with_result(&self, name: &str, arguments: &[u64]) -> (u32, u64) {
        let mut value = 0_u64;
        let mut all = vec![&raw mut value as u64];
        all.extend(arguments);
        let code = self.call_by_name(name, &all);
        (code, value)
    }

    /// Retains the primary context, and makes it current.
    pub(super) fn retain_context(&self) {
        assert_eq!(self.call_with_result("cuDevicePrimaryCtxRetain", &[0]).0, 0);
        self.make_context_current();
    }

    /// Makes the primary context current for the calling thread. Another thread may reset or release the context in
    /// between; then a new primary context is made current.
    pub(super) fn make_context_current(&self) {
        let entered = (0..=MAX_CALLS).any(|_| {
            let (code, context) = self.call_with_result("cuDevicePrimaryCtxRetain", &[0]);
            assert_eq!(code, 0);
            match self.call_by_name("cuCtxSetCurrent", &[context]) {
                0 => true,
                INVALID_CONTEXT => false,
                code => panic!("cuCtxSetCurrent of the primary context gave {code}"),
            }
        });
        assert!(entered, "no thread makes more calls than that");
    }

    /// Leaves all contexts of the calling thread, and ends its stream capture.
    pub(super) fn leave_contexts(&self) {
        let mut graph = 0_u64;
        let _ = self.call_by_name("cuStreamEndCapture", &[2, &raw mut graph as u64]);
        while self.call_with_result("cuCtxPopCurrent_v2", &[]).0 == 0 {}
    }

    /// Destroys objects, some of which may no longer exist.
    pub(super) fn destroy(&self, kind: ObjectKind, handles: Vec<u64>) {
        if kind == ObjectKind::User {
            return self.release_users(&handles);
        }
        let Some(function) = kind.destructor() else { return };
        for handle in handles {
            let mut code = self.call_by_name(function, &[handle]);
            // Memory must be released as often as its handle was returned.
            while kind == ObjectKind::Memory && code == 0 {
                code = self.call_by_name(function, &[handle]);
            }
            // The handle may be a surface.
            if kind == ObjectKind::Texture {
                let _ = self.call_by_name("cuSurfObjectDestroy", &[handle]);
            }
        }
    }

    /// Releases all references that the program holds to these user objects, however many there are.
    fn release_users(&self, handles: &[u64]) {
        for &handle in handles {
            for count in (0..32).rev().map(|bit| 1 << bit) {
                let _ = self.call_by_name("cuUserObjectRelease", &[handle, count]);
            }
        }
    }

    /// Destroys all objects, and checks that the driver still works.
    pub(super) fn clean_up(&self, objects: &Objects) {
        self.make_context_current();
        let streams = objects.drain(ObjectKind::Stream);
        for &stream in &streams {
            let mut graph = 0_u64;
            let _ = self.call_by_name("cuStreamEndCapture", &[stream, &raw mut graph as u64]);
            objects.add(ObjectKind::Graph, graph);
        }
        let memory = objects.drain(ObjectKind::Device);
        for address in &memory {
            let _ = self.call_by_name("cuMemFree_v2", &[*address]);
            let _ = self.call_by_name("cuMemFreeHost", &[*address]);
            for at in [*address, address.wrapping_add(PIECE_BYTES)] {
                let _ = self.call_by_name("cuMemUnmap", &[at, PIECE_BYTES]);
            }
            let _ = self.call_by_name("cuMemAddressFree", &[*address, RESERVATION_BYTES]);
        }
        let _ = self.call_by_name("cuMemHostUnregister", &[buffer()]);
        self.destroy(ObjectKind::Stream, streams);
        for &kind in ObjectKind::ALL {
            self.destroy(kind, objects.drain(kind));
        }
        self.leave_contexts();
        for device in [0, 1] {
            assert_eq!(self.call_by_name("cuDevicePrimaryCtxReset_v2", &[device]), 0);
            while self.call_by_name("cuDevicePrimaryCtxRelease_v2", &[device]) == 0 {}
        }
        while self.call_by_name("nvmlShutdown", &[]) == 0 {}
        self.reserved.release_all();
        self.check_driver_works();
        let _ = files::folder();
    }

    /// Checks that memory of a new context can be written and read.
    fn check_driver_works(&self) {
        self.make_context_current();
        let (code, address) = self.call_with_result("cuMemAlloc_v2", &[4]);
        let (written, mut read) = (0x1234_5678_u32, 0_u32);
        let codes = [
            code,
            self.call_by_name("cuMemcpyHtoD_v2", &[address, &raw const written as u64, 4]),
            self.call_by_name("cuMemcpyDtoH_v2", &[&raw mut read as u64, address, 4]),
            self.call_by_name("cuMemFree_v2", &[address]),
            self.call_by_name("cuCtxSynchronize", &[]),
        ];
        assert_eq!((codes, read), ([0; 5], written), "a fresh context does not work");
        self.leave_contexts();
        assert_eq!(self.call_by_name("cuDevicePrimaryCtxRelease_v2", &[0]), 0);
    }
}

/// Whether a node is of this type (`CU_GRAPH_NODE_TYPE_…`).
fn has_node_type(node_type: u64, function: &str, arena: &Arena, node: u64) -> bool {
    function.starts_with("cuGraphAddNode") && arena.read(node) == node_type
}

/// The address that the driver wrote into the parameters of an allocation node. `node` is the parameters' address in
/// the arena. `None` for other kinds of nodes.
fn allocated_address(function: &str, arena: &Arena, node: u64) -> Option<u64> {
    let parameters = match function {
        "cuGraphAddMemAllocNode" => node,
        _ if has_node_type(10, function, arena, node) => node + 16,
        _ => return None,
    };
    Some(arena.read(parameters + 8 * ALLOCATED_ADDRESS_WORD))
}

/// The bodies of a conditional node, whose parameters are at an address of the arena.
fn conditional_bodies(function: &str, arena: &Arena, node: u64) -> Vec<u64> {
    // CU_GRAPH_NODE_TYPE_CONDITIONAL
    if !has_node_type(13, function, arena, node) {
        return Vec::new();
    }
    let mut bodies = vec![0_u64; (arena.read(node + 24) >> 32) as usize];
    let len = bodies.len() * 8;
    let into = libc::iovec { iov_base: bodies.as_mut_ptr().cast(), iov_len: len };
    let from = libc::iovec { iov_base: arena.read(node + 32) as *mut _, iov_len: len };
    // Another thread may have destroyed the node, and the list of bodies with it. Then the system call fails, while
    // a read through the pointer would crash.
    // SAFETY: `into` points to memory of the given length, and `from` may be any address.
    unsafe { libc::process_vm_readv(libc::getpid(), &raw const into, 1, &raw const from, 1, 0) };
    bodies
}

fn call_entry(entry: CFunction, a: &[u64; MAX_ARGUMENTS]) -> u32 {
    // SAFETY: each pointer is null or points to enough memory; see `ArgumentKind`.
    unsafe {
        entry(
            a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13],
            a[14], a[15], a[16], a[17], a[18], a[19], a[20], a[21], a[22], a[23],
        )
    }
}
