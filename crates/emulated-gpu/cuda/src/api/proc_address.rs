//! `cuGetProcAddress`: functions by name and version.

use std::ffi::c_void;

use crate::abi::{Out, Text};
use crate::error::{Code, Result};
use crate::ffi::{Entry, export};

use super::graph;

/// `CU_GET_PROC_ADDRESS_LEGACY_STREAM`, `…_PER_THREAD_DEFAULT_STREAM`
const LEGACY: u64 = 1;
const PER_THREAD: u64 = 2;

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    Function(*const c_void),
    /// There is none of that name.
    Nothing,
    /// There is, in later versions.
    Newer,
}

/// What `cuGraphInstantiate` has been since 12.0: another function before.
const RENAMED: &[Entry] = &[Entry {
    symbol: "cuGraphInstantiate",
    since: 12000,
    function: graph::cuGraphInstantiateWithFlags as *const c_void,
    per_thread: graph::cuGraphInstantiateWithFlags as *const c_void,
}];

/// Every function.
const ALL: &[&[Entry]] = &[
    ENTRIES,
    RENAMED,
    super::array::ENTRIES,
    super::card::ENTRIES,
    super::context::ENTRIES,
    super::copy::ENTRIES,
    super::coredump::ENTRIES,
    super::device::ENTRIES,
    super::emulated_gpu::ENTRIES,
    super::event::ENTRIES,
    super::export_table::ENTRIES,
    super::fill::ENTRIES,
    super::function::ENTRIES,
    super::graph::ENTRIES,
    super::graph_any::ENTRIES,
    super::graph_attributes::ENTRIES,
    super::graph_child::ENTRIES,
    super::graph_edges::ENTRIES,
    super::graph_ids::ENTRIES,
    super::graph_memory::ENTRIES,
    super::graph_nodes::ENTRIES,
    super::green::ENTRIES,
    super::initialisation::ENTRIES,
    super::interprocess::ENTRIES,
    super::link::ENTRIES,
    super::memory::ENTRIES,
    super::mipmap::ENTRIES,
    super::module::ENTRIES,
    super::pointer::ENTRIES,
    super::pool::ENTRIES,
    super::stream::ENTRIES,
    super::texture::ENTRIES,
    super::texture_reference::ENTRIES,
    super::unsupported::ENTRIES,
    super::user_object::ENTRIES,
    super::virtual_memory::ENTRIES,
];

/// The name by which it is asked for, without the `_v2` of its symbol.
fn name_of(entry: &Entry) -> &str {
    match entry.symbol.rsplit_once("_v") {
        Some((name, form)) if form.bytes().all(|digit| digit.is_ascii_digit()) => name,
        _ => entry.symbol,
    }
}

fn look_up(name: &str, version: i32, flags: u64) -> Found {
    let all = ALL.iter().copied().flatten();
    let mut named = all.filter(|entry| name_of(entry) == name).peekable();
    if named.peek().is_none() {
        return Found::Nothing;
    }
    let newest = named.filter(|entry| entry.since <= version).max_by_key(|entry| entry.since);
    match newest {
        Some(entry) if flags == PER_THREAD => Found::Function(entry.per_thread),
        Some(entry) => Found::Function(entry.function),
        None => Found::Newer,
    }
}

fn get(symbol: Text, out: Out<*const c_void>, version: i32, flags: u64) -> Result<Found> {
    out.required()?;
    let name = symbol.get()?;
    if !matches!(flags, 0 | LEGACY | PER_THREAD) {
        return Err(Code::INVALID_VALUE.because(format!("unknown flags {flags:#x}")));
    }
    let found = look_up(&name, version, flags);
    out.set(if let Found::Function(function) = found { function } else { std::ptr::null() })?;
    Ok(found)
}

export! {
    11030 fn cuGetProcAddress(
        symbol: Text, out: Out<*const c_void>, version: i32, flags: u64,
    ) early {
        match get(symbol, out, version, flags)? {
            Found::Function(_) => Ok(()),
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
        let status_of = |found| match found {
            Found::Function(_) => 0,
            Found::Nothing => 1,
            Found::Newer => 2,
        };
        status.set_if_wanted(status_of(get(symbol, out, version, flags)?));
        Ok(())
    }
}

#[cfg(test)]
mod tests;
