//! `cuGetProcAddress`: looks up functions by name and version.

use std::ffi::c_void;

use crate::abi::error::{Code, Result, fail_if};
use crate::abi::ffi::{EntryPoint, export};
use crate::abi::{Out, Text};
use crate::api::{self, graph};

/// `CU_GET_PROC_ADDRESS_LEGACY_STREAM`, `…_PER_THREAD_DEFAULT_STREAM`
const LEGACY: u64 = 1;
const PER_THREAD: u64 = 2;

/// The result of a look-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LookUp {
    Function(*const c_void),
    /// There is no function with this name.
    Unknown,
    /// Only later versions have the function.
    Newer,
}

/// The function that `cuGraphInstantiate` denotes since 12.0. Before that, the name denoted another
/// function.
const RENAMED: &[EntryPoint] = &[EntryPoint {
    symbol: "cuGraphInstantiate",
    since: 12000,
    function: graph::cuGraphInstantiateWithFlags as *const c_void,
    per_thread: graph::cuGraphInstantiateWithFlags as *const c_void,
}];

/// Every exported function.
const ALL: &[&[EntryPoint]] = &[
    ENTRIES,
    RENAMED,
    api::texture::array::ENTRIES,
    api::emulated_gpu::card::ENTRIES,
    api::context::ENTRIES,
    api::memory::copy::ENTRIES,
    api::context::coredump::ENTRIES,
    api::device::ENTRIES,
    api::emulated_gpu::ENTRIES,
    api::event::ENTRIES,
    api::export_table::ENTRIES,
    api::memory::fill::ENTRIES,
    api::execution::ENTRIES,
    api::graph::ENTRIES,
    api::graph::any_node::ENTRIES,
    api::graph::kernel_attributes::ENTRIES,
    api::graph::child::ENTRIES,
    api::graph::edges::ENTRIES,
    api::graph::ids::ENTRIES,
    api::graph::memory::ENTRIES,
    api::graph::nodes::ENTRIES,
    api::green_context::ENTRIES,
    api::initialisation::ENTRIES,
    api::interprocess::ENTRIES,
    api::legacy_launch::ENTRIES,
    api::module::linker::ENTRIES,
    api::memory::ENTRIES,
    api::texture::mipmap::ENTRIES,
    api::module::ENTRIES,
    api::memory::pointer::ENTRIES,
    api::memory::pool::ENTRIES,
    api::stream::ENTRIES,
    api::texture::ENTRIES,
    api::texture::reference::ENTRIES,
    api::unsupported::ENTRIES,
    api::graph::user_object::ENTRIES,
    api::memory::virtual_memory::ENTRIES,
];

/// The name that `cuGetProcAddress` uses: the symbol without a suffix like `_v2`.
fn name_of(entry: &EntryPoint) -> &str {
    match entry.symbol.rsplit_once("_v") {
        Some((name, form)) if form.bytes().all(|digit| digit.is_ascii_digit()) => name,
        _ => entry.symbol,
    }
}

fn look_up(name: &str, version: i32, flags: u64) -> LookUp {
    let all = ALL.iter().copied().flatten();
    let mut named = all.filter(|entry| name_of(entry) == name).peekable();
    if named.peek().is_none() {
        return LookUp::Unknown;
    }
    let newest = named.filter(|entry| entry.since <= version).max_by_key(|entry| entry.since);
    match newest {
        Some(entry) if flags == PER_THREAD => LookUp::Function(entry.per_thread),
        Some(entry) => LookUp::Function(entry.function),
        None => LookUp::Newer,
    }
}

fn get(symbol: Text, out: Out<*const c_void>, version: i32, flags: u64) -> Result<LookUp> {
    out.required()?;
    let name = symbol.get()?;
    fail_if!(!matches!(flags, 0 | LEGACY | PER_THREAD), INVALID_VALUE, "unknown flags {flags:#x}");
    let result = look_up(&name, version, flags);
    out.set(if let LookUp::Function(function) = result { function } else { std::ptr::null() })?;
    Ok(result)
}

export! {
    11030 fn cuGetProcAddress(
        symbol: Text, out: Out<*const c_void>, version: i32, flags: u64,
    ) early {
        match get(symbol, out, version, flags)? {
            LookUp::Function(_) => Ok(()),
            _ => {
                let name = symbol.get()?;
                Err(Code::NOT_FOUND
                    .because(format!("there is no function {name} of version {version} or before")))
            }
        }
    }

    12000 fn cuGetProcAddress_v2(
        symbol: Text, out: Out<*const c_void>, version: i32, flags: u64, status: Out<u32>,
    ) early {
        // CUdriverProcAddressQueryResult
        let status_of = |result| match result {
            LookUp::Function(_) => 0,
            LookUp::Unknown => 1,
            LookUp::Newer => 2,
        };
        status.set_if_wanted(status_of(get(symbol, out, version, flags)?));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{context, execution, memory};

    #[test]
    fn the_newest_form_up_to_the_version_is_found() {
        let is = |result: LookUp, function: *const c_void| {
            assert_eq!(result, LookUp::Function(function))
        };
        is(look_up("cuMemAlloc", 12_000, 0), memory::cuMemAlloc_v2 as *const c_void);
        is(look_up("cuCtxCreate", 12_000, 0), context::cuCtxCreate_v3 as *const c_void);
        is(look_up("cuCtxCreate", 13_000, 0), context::cuCtxCreate_v4 as *const c_void);
        is(look_up("cuCtxCreate", 11_000, 0), context::cuCtxCreate_v2 as *const c_void);
        is(
            look_up("cuLaunchKernel", 12_000, PER_THREAD),
            execution::cuLaunchKernel_ptsz as *const c_void,
        );
        is(look_up("cuMemAlloc", 12_000, PER_THREAD), memory::cuMemAlloc_v2 as *const c_void);
        assert_eq!(look_up("cuMemAlloc", 2_000, 0), LookUp::Newer);
        assert_eq!(look_up("cuMemAlloc_v2", 12_000, 0), LookUp::Unknown);
        assert_eq!(look_up("cuNothing", 12_000, 0), LookUp::Unknown);
    }
}
