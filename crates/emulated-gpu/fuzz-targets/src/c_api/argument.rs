//! Conversion of a case, the fuzzer's input, to arguments of C functions.

use std::sync::{LazyLock, OnceLock};

use super::objects::{ObjectKind, Objects};
use super::structures;
use emulated_gpu_test_support::files;

/// A source of choices: the bytes of a case and, after their end, pseudo-random numbers derived from them.
pub(super) struct Bytes<'a> {
    remaining: &'a [u8],
    state: u64,
}

impl<'a> Bytes<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let hash = |state: u64, &byte: &u8| (state ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        Self { remaining: bytes, state: bytes.iter().fold(0xcbf2_9ce4_8422_2325, hash) }
    }

    pub(super) fn next(&mut self) -> u8 {
        if let Some((&byte, rest)) = self.remaining.split_first() {
            self.remaining = rest;
            return byte;
        }
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.state >> 56) as u8
    }

    /// Chooses an element of `list`.
    pub(super) fn one_of(&mut self, list: &[u64]) -> u64 {
        list[usize::from(self.next()) % list.len()]
    }
}

/// The size in bytes of a host buffer that copies read and write. Half of it is at least as large as every allocation
/// and every mapping, so that copies to and from the middle stay inside.
const BUFFER_BYTES: usize = 16 << 20;
/// The granularity of physical memory in bytes.
pub(super) const PIECE_BYTES: u64 = 2 << 20;
/// The size of a reserved address range in bytes: two pieces for mappings, and one that is never mapped, so that the
/// memory of two reservations is never adjacent.
pub(super) const RESERVATION_BYTES: u64 = 3 * PIECE_BYTES;
/// The size of a thread's arena in bytes.
const ARENA_BYTES: usize = 1 << 16;
/// The size of the memory for a result, in bytes.
pub(super) const RESULT_BYTES: usize = 2048;

/// The address of the host buffer's middle. The buffer is never freed, because copies and kernels may still access it
/// when a case has ended.
pub(super) fn buffer() -> u64 {
    static START: OnceLock<usize> = OnceLock::new();
    let make = || Box::leak(vec![1_u64; BUFFER_BYTES / 8].into_boxed_slice()).as_mut_ptr() as usize;
    (*START.get_or_init(make) + BUFFER_BYTES / 2) as u64
}

/// Memory for the arguments of one call, and the descriptors of one thread.
pub(super) struct Arena {
    memory: Box<[u64]>,
    used: usize,
    pub(super) thread_objects: Objects,
    addresses: usize,
    algorithms: Box<[u64]>,
}

impl Default for Arena {
    fn default() -> Self {
        Self {
            memory: vec![0; ARENA_BYTES / 8].into(),
            used: 0,
            thread_objects: Objects::default(),
            addresses: 0,
            algorithms: vec![0; 64].into(),
        }
    }
}

impl Arena {
    /// Clears the arena's memory for the next call's arguments.
    pub(super) fn clear(&mut self) {
        self.memory[..self.used].fill(0);
        self.used = 0;
    }

    /// Stores these words, and returns their address.
    pub(super) fn words(&mut self, words: &[u64]) -> u64 {
        let at = self.used;
        self.used += words.len();
        assert!(self.used <= self.memory.len(), "the arguments of one call fit");
        self.memory[at..self.used].copy_from_slice(words);
        &raw mut self.memory[at] as u64
    }

    /// Allocates `bytes` zero bytes, and returns their address.
    pub(super) fn zeros(&mut self, bytes: usize) -> u64 {
        self.words(&vec![0; bytes / 8])
    }

    /// The word at an address of the arena.
    pub(super) fn read(&self, address: u64) -> u64 {
        let first = &raw const self.memory[0] as u64;
        self.memory.get((address.wrapping_sub(first) / 8) as usize).copied().unwrap_or(0)
    }

    /// Stores a word at an address of the arena.
    pub(super) fn write(&mut self, address: u64, word: u64) {
        let first = &raw const self.memory[0] as u64;
        self.memory[((address - first) / 8) as usize] = word;
    }

    /// Stores a device address in the host buffer, so that copies to the device can create arrays of pointers
    /// there.
    #[allow(unsafe_code, reason = "the buffer is raw memory that several threads use")]
    pub(super) fn store_in_host_buffer(&mut self, address: u64) {
        let place = buffer() as usize + 8 * (self.addresses % 8);
        self.addresses += 1;
        // SAFETY: the buffer is larger than this offset. It is raw memory that other threads and kernels may
        // write to as well.
        unsafe { std::ptr::write_volatile(place as *mut u64, address) };
    }
}

/// Invalid numbers of different kinds. Those in the range of host addresses are not mapped in any process, not even
/// under AddressSanitizer, whose shadow memory is readable.
const INVALID_NUMBERS: [u64; 10] = [
    // These two are in the gap of AddressSanitizer's shadow memory, from 0x8fff_7000 to 0x0200_8fff_6fff.
    1 << 40,
    (1 << 46) + 8,
    1 << 63,
    u64::MAX,
    u64::MAX - 4094,
    u64::MAX / 4 + 2,
    0xdead_0000_0000,
    1 << 47,
    i64::MAX as u64,
    u64::MAX - 7,
];

const IMAGES: [&str; 3] = [
    concat!(include_str!("kernels.ptx"), "\0"),
    ".version 8.0\n.target sm_90\n.address_size 64\n.global .align 8 .b8 v[64];\n\0",
    ".version 8.0\n.target sm_90\n.visible .entry k() { add.u32 }\0",
];

/// An argument.
#[derive(Clone, Copy, Debug)]
pub(super) enum ArgumentKind {
    /// A handle of an object that exists or was destroyed, or an invented handle.
    Handle(ObjectKind),
    /// Memory for a new handle.
    New(ObjectKind),
    /// A handle of an object that the call destroys.
    Last(ObjectKind),
    /// An argument of any other kind, with the function that makes it.
    Other(fn(&mut Bytes<'_>, &Objects, &mut Arena) -> u64),
}

/// A handle, which may be invalid.
pub(super) fn handle(kind: ObjectKind, bytes: &mut Bytes<'_>, objects: &Objects) -> u64 {
    match bytes.next() {
        0 => 0,
        1 => 1,
        2 => 2,
        3 => 0xdead_beef,
        which => objects.choose(kind, which - 4).unwrap_or(0),
    }
}

/// A device address: in an allocation, at an allocation's boundaries, next to it, or far from all allocations.
pub(super) fn device_address(bytes: &mut Bytes<'_>, objects: &Objects) -> u64 {
    address_near_object(
        bytes,
        objects,
        &[0, 0, 0, 0, 0, 0, 4, 8, 256, 1, 4095, 4096, 65_536, u64::MAX],
    )
}

/// A device address for functions that also accept host addresses. If the address space is limited, the driver
/// can't reserve a range of it, and the fuzzer's own memory may follow an allocation: then no address is more than
/// 256 bytes after an allocation's start.
pub(super) fn unified(bytes: &mut Bytes<'_>, objects: &Objects) -> u64 {
    static IS_LIMITED: LazyLock<bool> = LazyLock::new(|| {
        let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
        let addresses = limits.lines().find(|line| line.starts_with("Max address space"));
        addresses.is_none_or(|line| !line.contains("unlimited"))
    });
    if *IS_LIMITED {
        return address_near_object(bytes, objects, &[0, 0, 0, 0, 4, 8, 256, 1, u64::MAX]);
    }
    device_address(bytes, objects)
}

/// A host or device address.
pub(super) fn any_address(bytes: &mut Bytes<'_>, objects: &Objects) -> u64 {
    match bytes.next() {
        0..=99 => buffer(),
        _ => unified(bytes, objects),
    }
}

fn address_near_object(bytes: &mut Bytes<'_>, objects: &Objects, offsets: &[u64]) -> u64 {
    let address = match bytes.next() {
        0 => return 0,
        1 => return bytes.one_of(&INVALID_NUMBERS),
        which => objects.choose(ObjectKind::Device, which - 2).unwrap_or(0),
    };
    address.wrapping_add(bytes.one_of(offsets))
}

/// A size in bytes: at most 64 KiB, or more than any memory. Sizes in between could be allocated, and take long.
pub(super) fn size(bytes: &mut Bytes<'_>) -> u64 {
    match bytes.next() {
        255 => bytes.one_of(&INVALID_NUMBERS),
        254 => bytes.one_of(&[0, 1, 4095, 4096, 4097, 65_536]),
        large @ 192.. => u64::from(large - 191) * 1024,
        small => u64::from(small),
    }
}

/// A dimension, a stride or a count; some are negative or too large.
pub(super) fn dimension(bytes: &mut Bytes<'_>) -> u64 {
    match bytes.next() {
        hostile @ 240.. => {
            let list =
                [-1, 31, 33, 64, 128, 1024, 65_536, i64::from(i32::MAX), i64::from(i32::MIN)];
            list[usize::from(hostile - 240) % list.len()] as u64
        }
        small => u64::from(small % 20),
    }
}

/// A 32-bit number.
pub(super) fn int(bytes: &mut Bytes<'_>) -> u64 {
    match bytes.next() {
        255 => bytes.one_of(&[u64::from(u32::MAX), 1 << 31, i32::MAX as u64, 1 << 16, 4096, 1000]),
        small @ 128.. => u64::from(small % 4),
        small => u64::from(small),
    }
}

/// A value of `cudaDataType_t`.
fn data_type(bytes: &mut Bytes<'_>) -> u64 {
    bytes.one_of(&[0, 0, 0, 2, 2, 1, 14, 3, 10, 28, 255])
}

extern "C" fn host_function(_: *mut std::ffi::c_void) {}

extern "C" fn shared_bytes(threads: i32) -> usize {
    // The result is sometimes wrong, as a client's callback may be.
    if threads % 96 == 0 { usize::MAX } else { threads as usize * 8 }
}

extern "C" fn callback(_: u64, _: u32, _: *mut std::ffi::c_void) {}

/// A host function, or null.
pub(super) fn host_function_or_null(bytes: &mut Bytes<'_>) -> u64 {
    bytes.one_of(&[host_function as *const () as u64, 0])
}

impl ArgumentKind {
    /// The kind of argument with this name in the list of functions.
    pub(super) fn read(text: &str) -> Self {
        let kind =
            |name| ObjectKind::find(name).unwrap_or_else(|| panic!("there is no kind {name}"));
        if let Some(name) = text.strip_prefix('+') {
            return Self::New(kind(name));
        }
        if let Some(name) = text.strip_prefix('-') {
            return Self::Last(kind(name));
        }
        Self::Other(match text {
            "null" | "zero" => |_, _, _| 0,
            "one" => |_, _, _| 1,
            "page" => |_, _, _| 4096,
            // Numbers.
            "size" | "limit" => |bytes, _, _| size(bytes),
            "dim" => |bytes, _, _| dimension(bytes),
            "int" => |bytes, _, _| int(bytes),
            "byte" | "small" => |bytes, _, _| u64::from(bytes.next()),
            "half" => |bytes, _, _| u64::from(u16::from_le_bytes([bytes.next(), bytes.next()])),
            "count" => |bytes, _, _| u64::from(bytes.next() % 5),
            "digit" => |bytes, _, _| u64::from(bytes.next() % 10),
            // A device: the first, the second (which exists after emulatedGpuSetDevices), or an invalid one.
            "ordinal" => |bytes, _, _| match bytes.next() {
                wrong @ 224.. => bytes.one_of(&[u64::from(u32::MAX), 2, u64::from(wrong), 1 << 31]),
                second @ 160.. => u64::from(second % 2),
                _ => 0,
            },
            "attribute" => |bytes, _, _| u64::from(bytes.next() % 26),
            "version" => {
                |bytes, _, _| bytes.one_of(&[0, 2000, 3020, 12_000, 13_000, 99_999, 1 << 31])
            }
            "width" => |bytes, _, _| bytes.one_of(&[4, 4, 8, 8, 8, 1, 2, 0, 16, 64, u64::MAX]),
            "grid" => |bytes, _, _| bytes.one_of(&[1, 1, 2, 3, 0, 1 << 31, u64::from(u32::MAX)]),
            "block" => |bytes, _, _| bytes.one_of(&[1, 32, 33, 64, 0, 1025, u64::from(u32::MAX)]),
            "shared" => |bytes, _, _| bytes.one_of(&[0, 0, 64, 48 << 10, 227 << 10, 1 << 31]),
            "type" => |bytes, _, _| data_type(bytes),
            "compute" => |bytes, _, _| bytes.one_of(&[68, 68, 64, 70, 74, 77, 72, 0, 999]),
            // Mapped memory.
            "piece" => |bytes, _, _| {
                bytes.one_of(&[
                    PIECE_BYTES,
                    PIECE_BYTES,
                    PIECE_BYTES,
                    PIECE_BYTES,
                    4096,
                    0,
                    1 << 46,
                ])
            },
            "span" => |bytes, _, _| {
                bytes.one_of(&[
                    RESERVATION_BYTES,
                    RESERVATION_BYTES,
                    RESERVATION_BYTES,
                    RESERVATION_BYTES,
                    0,
                    u64::MAX,
                ])
            },
            "spot" => |bytes, objects, _| {
                address_near_object(bytes, objects, &[0, 0, 0, PIECE_BYTES, PIECE_BYTES, 4096])
            },
            // Device memory.
            "device" => |bytes, objects, _| device_address(bytes, objects),
            "pointer" => |bytes, objects, _| any_address(bytes, objects),
            // Host memory.
            "buffer" => |bytes, _, _| bytes.one_of(&[buffer(), buffer(), buffer() + 64, 0]),
            "out" => |bytes, _, arena| match bytes.next() {
                0 => 0,
                _ => arena.zeros(RESULT_BYTES),
            },
            "zeros" => |_, _, arena| arena.zeros(RESULT_BYTES),
            "room" => |bytes, _, arena| arena.words(&[u64::from(bytes.next() % 64)]),
            "few" => |bytes, _, arena| arena.words(&[u64::from(bytes.next() % 5)]),
            "bytes" => |bytes, _, arena| {
                arena.words(&[bytes.one_of(&[0, 1, 3, 4, 8, 64, 1023, 1024, RESULT_BYTES as u64])])
            },
            "bytesofvalue" => |bytes, _, arena| arena.words(&[bytes.one_of(&[0, 1, 3, 4, 8, 64])]),
            "mode" => |bytes, _, arena| arena.words(&[u64::from(bytes.next() % 4)]),
            "value" => |bytes, objects, arena| {
                let value = match bytes.next() {
                    0..=99 => int(bytes),
                    100..=199 => device_address(bytes, objects),
                    _ => size(bytes),
                };
                arena.words(&[value, 0, 0, 0, 0, 0, 0, 0])
            },
            "ints" => |bytes, _, arena| ints(arena, &[(); 6].map(|()| u64::from(bytes.next() % 3))),
            "dims" => |bytes, _, arena| ints(arena, &[(); 6].map(|()| dimension(bytes))),
            "algorithm" => |bytes, _, arena| match bytes.next() % 5 {
                0 => 0,
                which => &raw mut arena.algorithms[8 * usize::from(which)] as u64,
            },
            // Texts.
            "text" => |bytes, _, _| text_of(bytes, &[c"cuMemAlloc", c"cublasSgemm", c"", c"%s%n"]),
            "name" => |bytes, _, _| {
                let names = [
                    c"copy", c"wild", c"reduce", c"paint", c"decide", c"v", c"t", c"s", c"nothing",
                ];
                text_of(bytes, &names)
            },
            "path" => |bytes, _, _| path(bytes),
            "image" => |bytes, _, _| IMAGES[usize::from(bytes.next()) % 3].as_ptr() as u64,
            "goodimage" => |_, _, _| IMAGES[0].as_ptr() as u64,
            "imagesize" => |bytes, _, _| bytes.one_of(&[60, 0, 1 << 46, u64::MAX]),
            // Functions.
            "hostfunction" => |bytes, _, _| host_function_or_null(bytes),
            "sharedbytes" => |bytes, _, _| bytes.one_of(&[shared_bytes as *const () as u64, 0]),
            "callback" => |bytes, _, _| bytes.one_of(&[callback as *const () as u64, 0]),
            _ => match structures::find(text) {
                Some(make) => make,
                None => return Self::Handle(kind(text)),
            },
        })
    }

    /// Makes a value for the argument.
    pub(super) fn value(self, bytes: &mut Bytes<'_>, objects: &Objects, arena: &mut Arena) -> u64 {
        match self {
            Self::Handle(kind) | Self::Last(kind) if kind.is_thread_private() => {
                // The library reads the object that this pointer refers to, so it must be null or an existing object.
                let which = bytes.next();
                if which == 0 { 0 } else { arena.thread_objects.choose(kind, which).unwrap_or(0) }
            }
            Self::Handle(kind) | Self::Last(kind) => handle(kind, bytes, objects),
            Self::New(_) => match bytes.next() {
                0 => 0,
                _ => arena.zeros(RESULT_BYTES),
            },
            Self::Other(make) => make(bytes, objects, arena),
        }
    }
}

/// Stores numbers as 32-bit numbers or, for some functions, as 64-bit numbers.
fn ints(arena: &mut Arena, list: &[u64; 6]) -> u64 {
    let pairs: Vec<u64> = list.chunks(2).map(|p| p[0] & 0xffff_ffff | p[1] << 32).collect();
    let mut words = pairs;
    words.extend([0; 8]);
    arena.words(&words)
}

fn text_of(bytes: &mut Bytes<'_>, list: &[&'static std::ffi::CStr]) -> u64 {
    match usize::from(bytes.next()) {
        0 => 0,
        which => list[which % list.len()].as_ptr() as u64,
    }
}

/// A path: of a PTX file, a missing file, a folder, or an output file.
fn path(bytes: &mut Bytes<'_>) -> u64 {
    static PATHS: OnceLock<Vec<std::ffi::CString>> = OnceLock::new();
    let make = || {
        files::file("module.ptx", IMAGES[0].trim_end_matches('\0').as_bytes());
        let names = ["module.ptx", "missing/file", "", "written.dot"];
        let whole = names.map(|name| files::folder().join(name).display().to_string());
        whole.map(|path| std::ffi::CString::new(path).unwrap_or_default()).to_vec()
    };
    let paths = PATHS.get_or_init(make);
    paths[usize::from(bytes.next()) % paths.len()].as_ptr() as u64
}
