//! Variables of a program's device code, by the host's variable that stands for each.

use c_abi::{Code, export, fail_if};

use crate::api::copy::{When, copy};
use crate::context::bind;
use crate::ffi::{Out, Result, export_on_stream};
use crate::registry::variable;

/// `cudaMemcpyKind`s.
const HOST_TO_DEVICE: i32 = 1;
const DEVICE_TO_HOST: i32 = 2;

/// The address of a part of a variable.
pub(super) fn part(symbol: usize, offset: usize, bytes: usize) -> Result<usize> {
    bind()?;
    let (address, size) = variable(symbol)?;
    match offset.checked_add(bytes) {
        Some(end) if end <= size => Ok(address + offset),
        _ => Err(Code::INVALID_VALUE
            .because(format!("{bytes} bytes from byte {offset} on: the variable has {size}"))),
    }
}

/// The direction has to be one that begins, or ends, at a variable.
fn check(kind: i32, wrong: i32) -> Result {
    fail_if!(kind == 0 || kind == wrong, INVALID_DIRECTION, "kind is {kind}");
    Ok(())
}

/// # Safety
/// The addresses are the program's, as the driver's function wants them.
unsafe fn to_symbol(
    symbol: usize,
    from: usize,
    bytes: usize,
    offset: usize,
    kind: i32,
    when: When,
) -> Result {
    check(kind, DEVICE_TO_HOST)?;
    copy(part(symbol, offset, bytes)?, from, bytes, kind, when)
}

/// # Safety
/// The addresses are the program's, as the driver's function wants them.
unsafe fn from_symbol(
    to: usize,
    symbol: usize,
    bytes: usize,
    offset: usize,
    kind: i32,
    when: When,
) -> Result {
    check(kind, HOST_TO_DEVICE)?;
    copy(to, part(symbol, offset, bytes)?, bytes, kind, when)
}

export! {
    /// Where a variable is on the calling thread's device.
    fn cudaGetSymbolAddress(out: Out<'_, usize>, symbol: usize) {
        bind()?;
        out.set_as(variable(symbol)?.0, "devPtr")
    }

    /// How many bytes it has.
    fn cudaGetSymbolSize(out: Out<'_, usize>, symbol: usize) {
        bind()?;
        out.set_as(variable(symbol)?.1, "size")
    }

    /// Writes to it.
    fn cudaMemcpyToSymbol(symbol: usize, from: usize, bytes: usize, offset: usize, kind: i32) {
        to_symbol(symbol, from, bytes, offset, kind, When::Now)
    }

    /// Reads from it.
    fn cudaMemcpyFromSymbol(to: usize, symbol: usize, bytes: usize, offset: usize, kind: i32) {
        from_symbol(to, symbol, bytes, offset, kind, When::Now)
    }
}

export_on_stream! {
    /// Writes to it when its turn has come.
    fn cudaMemcpyToSymbolAsync / cudaMemcpyToSymbolAsync_ptsz(
        symbol: usize, from: usize, bytes: usize, offset: usize, kind: i32; stream
    ) {
        to_symbol(symbol, from, bytes, offset, kind, When::In(stream))
    }

    /// Reads from it when its turn has come.
    fn cudaMemcpyFromSymbolAsync / cudaMemcpyFromSymbolAsync_ptsz(
        to: usize, symbol: usize, bytes: usize, offset: usize, kind: i32; stream
    ) {
        from_symbol(to, symbol, bytes, offset, kind, When::In(stream))
    }
}
