//! Tables of functions that NVIDIA's own libraries get from `cuGetExportTable` by identifier. NVIDIA doesn't document
//! them. The information comes from observing programs that use them, above all in the project ZLUDA (its `dark_api`):
//! the identifiers, each table's length, and the arguments and purpose of some entries. An entry without a known
//! purpose logs that it was called, and returns `NOT_SUPPORTED`.
//!
//! NVIDIA's runtime library (`libcudart`, and its copy inside programs that nvcc built) needs seven of these tables
//! before it does anything. It requests a digest that identifies the driver from the last table
//! ([`crate::api::export_table::identity`]), and only continues if it computes the same digest.

mod identity;
mod md2;

use std::collections::BTreeSet;
use std::ffi::c_void;
use std::sync::atomic::AtomicU32;
use std::sync::{Mutex, PoisonError};

use crate::abi::error::{Code, Result};
use crate::abi::ffi::{call_before_init, export, report};
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

/// The bytes of a table's identifier, in memory order.
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

/// Tables that are optional for the callers: NVIDIA's own drivers of CUDA 12.0 don't have all of them.
const OPTIONAL: [Id; 2] =
    [id(0xf8cf_f951_2146_8b4e_b9e2_fb46_9e7c_0dd9), id(0x1734_dc26_800d_4745_8726_c0f1_e7dd_8bca)];

/// `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx`
fn text(id: Id) -> String {
    let digits = format!("{:032x}", u128::from_be_bytes(id));
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}

/// Prints a text, but only the first time.
fn report_once(text: String) {
    static REPORTED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut reported = REPORTED.lock().unwrap_or_else(PoisonError::into_inner);
    if !reported.contains(&text) {
        report(&text);
        reported.insert(text);
    }
}

/// The function of an entry whose purpose is unknown. It declares no arguments, because the caller removes them.
extern "C" fn undescribed<const TABLE: usize, const ENTRY: usize>() -> Code {
    call_before_init("cuGetExportTable", || {
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

/// Makes a word of a table from `[n]` (the size of a table of n words), `null`, the number of an entry whose purpose is
/// unknown, or a function.
macro_rules! word {
    ($table:literal [$words:literal]) => {
        Word(std::ptr::without_provenance($words * size_of::<usize>()))
    };
    ($table:literal null) => {
        Word(std::ptr::null())
    };
    ($table:literal $entry:literal) => {
        Word(undescribed::<$table, $entry> as *const c_void)
    };
    ($table:literal $function:ident) => {
        Word($function as *const c_void)
    };
}

/// Declares tables. A declaration consists of a number, a variable, a name, an identifier, and a [`word`] for each
/// word.
macro_rules! tables {
    ($($number:literal $table:ident $name:literal $id:literal [$($word:tt)*])*) => {
        $(static $table: &[Word] = &[$(word!($number $word)),*];)*
        static TABLES: &[Table] = &[$(Table { id: id($id), name: $name, words: $table }),*];
    };
}

/// Declares entries: functions like the exported functions, but without an exported symbol.
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
    /// Loads a fatbin, whose wrapper structure by a host compiler is the argument.
    fn register_module(out: Out<Handle>, fatbin: In<u8>) {
        out.required()?;
        out.set(load_from_memory(fatbin)?)
    }

    /// Loads a fatbin, whose wrapper structure is an argument. The meaning of the other arguments is unknown.
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

    /// Returns whether a context is a green context, and the green context's handle.
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
            runtime: CUDART_INTERFACE.as_ptr().addr(),
            identity: INTEGRITY_CHECK.as_ptr().addr(),
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

tables! {
    0 CUDART_INTERFACE "CUDART_INTERFACE" 0x6bd5_fb6c_5bf4_e74a_8987_d939_12fd_9df9 [
        [13] register_module primary_context 3 4 5 register_module_extended unregister_module load_fatbin
        9 10 11 load_compilers
    ]
    1 CALLBACK_HOOKS "TOOLS_RUNTIME_CALLBACK_HOOKS" 0xa094_798c_2e74_2e74_93f2_0800_200c_0a66 [
        [7] 1 hooks 3 4 5 extra_hooks
    ]
    2 TOOLS_TLS "TOOLS_TLS" 0x42d8_5a81_23f6_cb47_8298_f6e7_8a3a_ecdc [[4] 1 2 3]
    // This table doesn't begin with its size; it ends with a null word.
    3 LOCAL_STORAGE "CONTEXT_LOCAL_STORAGE_INTERFACE_V0301" 0xc693_336e_1121_df11_a8c3_68f3_55d8_9593 [
        storage_put storage_delete storage_get null
    ]
    4 CREATE_BYPASS "CTX_CREATE_BYPASS" 0x0ca5_0b8c_1004_929a_89a7_d0df_10e7_7286 [[2] cuCtxCreate_v2]
    5 HEAP_ACCESS "HEAP_ACCESS" 0x195b_cbf4_d67d_024a_acc5_1d29_cea6_31ae [[3] 1 2]
    6 DEVICE_EXTENDED "DEVICE_EXTENDED_RT" 0xb105_41e1_f7c7_c74a_9f64_f223_be99_f1e2 [
        [26]
        1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25
    ]
    7 INTEGRITY_CHECK "INTEGRITY_CHECK" 0xd408_2055_bde6_704b_8d34_ba12_3c66_e1f2 [[3] identify 2]
    8 CONTEXT_CHECKS "UNKNOWN_CHECKS" 0x263e_8860_7cd2_6143_92f6_bbd5_006d_fa7e [
        [4] 1 context_check no_check
    ]
    9 TOOLS_CONTEXT "CU_ETID_ToolsContext" 0x2131_8c60_9714_3248_8ca6_41ff_7324_c8f2 [
        [95]
        1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38
        39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73
        74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94
    ]
    // NVRTC looks up these tables when it finds a driver, but doesn't need the functions in them.
    10 NVRTC_TABLE "NVRTC's" 0xda91_51d3_3ae6_cc41_a5c0_4f26_d533_e328 [[1]]
}

export! {
    3000 fn cuGetExportTable(table: Out<*const c_void>, id: In<[u8; 16]>) early {
        let id = id.get()?;
        if let Some(Table { words, .. }) = TABLES.iter().find(|table| table.id == id) {
            return table.set(words.as_ptr().cast());
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
