//! Tables of functions that NVIDIA's own libraries get from `cuGetExportTable` by identifier. NVIDIA doesn't document
//! them. The information comes from observing programs that use them, above all in the project ZLUDA (its `dark_api`):
//! the identifiers, each table's length, and the arguments and purpose of some entries. An undescribed entry logs
//! that it was called, and returns `NOT_SUPPORTED`.
//!
//! NVIDIA's runtime library (`libcudart`, and its copy inside programs that nvcc built) needs seven of them before it
//! does anything. It asks the last one for a digest that identifies the driver
//! ([`crate::api::export_table::identity`]), and only continues if it computes the same.

mod identity;
mod md2;

use std::collections::BTreeSet;
use std::ffi::c_void;
use std::sync::atomic::AtomicU32;
use std::sync::{Mutex, PoisonError};

use crate::abi::error::{Code, Result};
use crate::abi::ffi::{early, export, report};
use crate::abi::{Device, Handle, In, Out};
use crate::api::context::{cuCtxCreate_v2, find, with_primary};
use crate::api::driver::driver;
use crate::api::export_table::identity::TableAddresses;
use crate::api::module::{load_from_memory, unload};
use crate::context::library_storage::Destructor;

/// A word of a table: the address of a function, or the table's size in bytes.
#[repr(transparent)]
struct Word(*const c_void);

// SAFETY: function addresses and numbers never change.
unsafe impl Sync for Word {}

/// The first word of a table of `words` words: its size.
const fn size(words: usize) -> Word {
    Word(std::ptr::without_provenance(words * size_of::<usize>()))
}

/// Bytes of an identifier, in memory order.
type Id = [u8; 16];

const fn id(number: u128) -> Id {
    number.to_be_bytes()
}

/// A table that `cuGetExportTable` returns.
struct Table {
    id: Id,
    /// ZLUDA's name for the table, or the name in other sources.
    name: &'static str,
    words: &'static [Word],
}

static TABLES: [Table; 11] = [
    Table {
        id: id(0x6bd5_fb6c_5bf4_e74a_8987_d939_12fd_9df9),
        name: "CUDART_INTERFACE",
        words: &CUDART_INTERFACE,
    },
    Table {
        id: id(0xa094_798c_2e74_2e74_93f2_0800_200c_0a66),
        name: "TOOLS_RUNTIME_CALLBACK_HOOKS",
        words: &CALLBACK_HOOKS,
    },
    Table {
        id: id(0x42d8_5a81_23f6_cb47_8298_f6e7_8a3a_ecdc),
        name: "TOOLS_TLS",
        words: &TOOLS_TLS,
    },
    Table {
        id: id(0xc693_336e_1121_df11_a8c3_68f3_55d8_9593),
        name: "CONTEXT_LOCAL_STORAGE_INTERFACE_V0301",
        words: &LOCAL_STORAGE,
    },
    Table {
        id: id(0x0ca5_0b8c_1004_929a_89a7_d0df_10e7_7286),
        name: "CTX_CREATE_BYPASS",
        words: &CREATE_BYPASS,
    },
    Table {
        id: id(0x195b_cbf4_d67d_024a_acc5_1d29_cea6_31ae),
        name: "HEAP_ACCESS",
        words: &HEAP_ACCESS,
    },
    Table {
        id: id(0xb105_41e1_f7c7_c74a_9f64_f223_be99_f1e2),
        name: "DEVICE_EXTENDED_RT",
        words: &DEVICE_EXTENDED,
    },
    Table {
        id: id(0xd408_2055_bde6_704b_8d34_ba12_3c66_e1f2),
        name: "INTEGRITY_CHECK",
        words: &INTEGRITY_CHECK,
    },
    Table {
        id: id(0x263e_8860_7cd2_6143_92f6_bbd5_006d_fa7e),
        name: "UNKNOWN_CHECKS",
        words: &CONTEXT_CHECKS,
    },
    Table {
        id: id(0x2131_8c60_9714_3248_8ca6_41ff_7324_c8f2),
        name: "CU_ETID_ToolsContext",
        words: &TOOLS_CONTEXT,
    },
    // NVRTC looks up these tables when it finds a driver, but doesn't need the functions in them.
    Table { id: id(0xda91_51d3_3ae6_cc41_a5c0_4f26_d533_e328), name: "NVRTC's", words: &EMPTY },
];

/// Tables that are optional for the callers: NVIDIA's own drivers of CUDA 12.0 don't have all of them.
const OPTIONAL: [Id; 2] =
    [id(0xf8cf_f951_2146_8b4e_b9e2_fb46_9e7c_0dd9), id(0x1734_dc26_800d_4745_8726_c0f1_e7dd_8bca)];

/// `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx`
fn text(id: Id) -> String {
    let digits = format!("{:032x}", u128::from_be_bytes(id));
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}

/// Reports a text, the first time only.
fn report_once(text: String) {
    static REPORTED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut reported = REPORTED.lock().unwrap_or_else(PoisonError::into_inner);
    if !reported.contains(&text) {
        report(&text);
        reported.insert(text);
    }
}

/// An undescribed entry. It declares no arguments, because the caller removes them.
extern "C" fn undescribed<const TABLE: usize, const ENTRY: usize>() -> Code {
    early("cuGetExportTable", || {
        let table = TABLES.get(TABLE).ok_or(Code::UNKNOWN)?;
        let why = format!(
            "entry {ENTRY} of the table {} ({}) was called; it is undocumented and not \
             emulated",
            table.name,
            text(table.id)
        );
        report_once(why.clone());
        Err(Code::NOT_SUPPORTED.because(why))
    })
}

/// Words for undescribed entries: `undescribed!(table: entry …)`
macro_rules! undescribed {
    ($table:literal: $($entry:literal)*) => {
        [$(Word(undescribed::<$table, $entry> as *const c_void)),*]
    };
    ($table:literal[$entry:literal]) => { Word(undescribed::<$table, $entry> as *const c_void) };
}

/// Entries: functions like the exported ones, but without an exported symbol.
macro_rules! entries {
    ($($(#[$meta:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block)*) => {$(
        $(#[$meta])*
        unsafe extern "C" fn $name($($argument: $type),*) -> Code {
            unsafe fn body($($argument: $type),*) -> Result $body
            crate::abi::ffi::call(stringify!($name), || body($($argument),*))
        }
    )*};
}

entries! {
    /// Loads a fatbin, given the structure in which a host compiler wraps it.
    fn register_module(out: Out<Handle>, fatbin: In<u8>) {
        out.required()?;
        out.set(load_from_memory(fatbin)?)
    }

    /// Loads a fatbin, given its wrapper structure. The meaning of the other arguments is unknown.
    fn register_module_extended(out: Out<Handle>, fatbin: In<u8>, _first: usize, _second: usize, _third: u32) {
        out.required()?;
        out.set(load_from_memory(fatbin)?)
    }

    /// Loads a fatbin that has no wrapper structure. The meaning of the other arguments is unknown.
    fn load_fatbin(fatbin: In<u8>, out: Out<Handle>, _first: usize, _second: usize, _third: u32) {
        out.required()?;
        out.set(load_from_memory(fatbin)?)
    }

    fn unregister_module(module: Handle) {
        unload(module)
    }

    /// The handle of a device's primary context; the context isn't created.
    fn primary_context(out: Out<Handle>, device: Device) {
        out.required()?;
        out.set(with_primary(device, |primary| Ok(primary.handle()))?)
    }

    /// Loads the PTX compiler; a no-op, because it is always loaded.
    fn load_compilers() {
        Ok(())
    }

    /// Stores a library's value with a context (0: the calling thread's; see [`crate::context::library_storage`]).
    fn storage_put(context: Handle, key: usize, value: usize, destructor: Destructor) {
        find(context)?.storage.put(key, value, destructor);
        Ok(())
    }

    fn storage_delete(context: Handle, key: usize) {
        find(context)?.storage.delete(key);
        Ok(())
    }

    fn storage_get(value: Out<usize>, context: Handle, key: usize) {
        value.required()?;
        let missing = || Code::INVALID_HANDLE.because("the context stores no value under this key");
        value.set(find(context)?.storage.get(key).ok_or_else(missing)?)
    }

    /// Whether the context is a green one, and the green context's handle.
    fn context_check(context: Handle, answer: Out<u32>, detail: Out<usize>) {
        // Before cuInit there are no green contexts.
        let green = driver().ok().and_then(|driver| driver.green_of_context(context));
        if let Some(green) = &green {
            detail.set_if_wanted(green.handle);
        }
        answer.set(green.is_some().into())
    }

    /// The driver's identity, which the caller computes as well. `version` is ten times the runtime library's version
    /// plus the number of the question; `seconds` counts from 1970.
    fn identify(version: u32, seconds: u64, answer: Out<[u64; 2]>) {
        let addresses = TableAddresses {
            runtime: (&raw const CUDART_INTERFACE).addr(),
            identity: (&raw const INTEGRITY_CHECK).addr(),
            function: INTEGRITY_CHECK[1].0.addr(),
        };
        answer.set(identity::answer(version, seconds, &addresses)?)
    }
}

extern "C" fn no_check() -> u32 {
    0
}

/// Buffers of 1024 and 14 words to which profilers write their callbacks; all 0, because no profiler is attached.
static HOOKS: [AtomicU32; 1024] = [const { AtomicU32::new(0) }; 1024];
static EXTRA_HOOKS: [AtomicU32; 14] = [const { AtomicU32::new(0) }; 14];

fn set_buffer(buffer: &'static [AtomicU32], out: Out<*const AtomicU32>, words: Out<usize>) {
    out.set_if_wanted(buffer.as_ptr());
    words.set_if_wanted(buffer.len());
}

extern "C" fn hooks(out: Out<*const AtomicU32>, words: Out<usize>) {
    set_buffer(&HOOKS, out, words);
}

extern "C" fn extra_hooks(out: Out<*const AtomicU32>, words: Out<usize>) {
    set_buffer(&EXTRA_HOOKS, out, words);
}

static EMPTY: [Word; 1] = [size(1)];

static CUDART_INTERFACE: [Word; 13] = [
    size(13),
    Word(register_module as *const c_void),
    Word(primary_context as *const c_void),
    undescribed!(0[3]),
    undescribed!(0[4]),
    undescribed!(0[5]),
    Word(register_module_extended as *const c_void),
    Word(unregister_module as *const c_void),
    Word(load_fatbin as *const c_void),
    undescribed!(0[9]),
    undescribed!(0[10]),
    undescribed!(0[11]),
    Word(load_compilers as *const c_void),
];

static CALLBACK_HOOKS: [Word; 7] = [
    size(7),
    undescribed!(1[1]),
    Word(hooks as *const c_void),
    undescribed!(1[3]),
    undescribed!(1[4]),
    undescribed!(1[5]),
    Word(extra_hooks as *const c_void),
];

static TOOLS_TLS: [Word; 4] = [size(4), undescribed!(2[1]), undescribed!(2[2]), undescribed!(2[3])];

/// This table doesn't begin with its size; it ends with a null word.
static LOCAL_STORAGE: [Word; 4] = [
    Word(storage_put as *const c_void),
    Word(storage_delete as *const c_void),
    Word(storage_get as *const c_void),
    Word(std::ptr::null()),
];

static CREATE_BYPASS: [Word; 2] = [size(2), Word(cuCtxCreate_v2 as *const c_void)];

static HEAP_ACCESS: [Word; 3] = [size(3), undescribed!(5[1]), undescribed!(5[2])];

static DEVICE_EXTENDED: [Word; 26] =
    with_size(undescribed!(6: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25));

static INTEGRITY_CHECK: [Word; 3] = [size(3), Word(identify as *const c_void), undescribed!(7[2])];

static CONTEXT_CHECKS: [Word; 4] = [
    size(4),
    undescribed!(8[1]),
    Word(context_check as *const c_void),
    Word(no_check as *const c_void),
];

static TOOLS_CONTEXT: [Word; 95] = with_size(undescribed!(9:
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36
    37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70
    71 72 73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94
));

/// Stores the table's size in its first word.
const fn with_size<const N: usize>(mut words: [Word; N]) -> [Word; N] {
    words[0] = size(N);
    words
}

export! {
    3000 fn cuGetExportTable(table: Out<*const c_void>, id: In<[u8; 16]>) early {
        let id = id.get()?;
        if let Some(found) = TABLES.iter().find(|table| table.id == id) {
            return table.set(found.words.as_ptr().cast());
        }
        table.set(std::ptr::null())?;
        let why = format!(
            "a library asks for the undocumented table of functions {}, which is not emulated; it gets \
             NOT_SUPPORTED",
            text(id)
        );
        if !OPTIONAL.contains(&id) {
            report_once(why.clone());
        }
        Err(Code::NOT_SUPPORTED.because(why))
    }
}
