//! Device variables of a program, addressed by their host shadows.

use c_abi::{Code, export, fail_if};

use crate::api::copy::copy;
use crate::context::bind_context;
use crate::ffi::{Out, Result, export_copies};
use crate::registry::variable;

/// `cudaMemcpyKind`
const HOST_TO_DEVICE: i32 = 1;
const DEVICE_TO_HOST: i32 = 2;

/// The device address of a range in a variable.
pub(super) fn variable_range(symbol: usize, offset: usize, bytes: usize) -> Result<usize> {
    bind_context()?;
    let (address, size) = variable(symbol)?;
    match offset.checked_add(bytes) {
        Some(end) if end <= size => Ok(address + offset),
        _ => Err(Code::INVALID_VALUE.because(format!(
            "{bytes} bytes at offset {offset} exceed the variable's {size} bytes"
        ))),
    }
}

/// Checks the direction of a copy to or from a variable; `wrong` is the opposite direction.
fn check_direction(kind: i32, wrong: i32) -> Result {
    fail_if!(kind == 0 || kind == wrong, INVALID_DIRECTION, "kind is {kind}");
    Ok(())
}

export! {
    /// Returns the address of a variable on the current device.
    fn cudaGetSymbolAddress(out: Out<'_, usize>, symbol: usize) {
        bind_context()?;
        out.set_as(variable(symbol)?.0, "devPtr")
    }

    /// Returns the size of a variable in bytes.
    fn cudaGetSymbolSize(out: Out<'_, usize>, symbol: usize) {
        bind_context()?;
        out.set_as(variable(symbol)?.1, "size")
    }
}

export_copies! {
    /// Copies to a variable.
    fn cudaMemcpyToSymbol, cudaMemcpyToSymbolAsync / cudaMemcpyToSymbolAsync_ptsz(
        symbol: usize, from: usize, bytes: usize, offset: usize, kind: i32; order
    ) {
        check_direction(kind, DEVICE_TO_HOST)?;
        copy(variable_range(symbol, offset, bytes)?, from, bytes, kind, order)
    }

    /// Copies from a variable.
    fn cudaMemcpyFromSymbol, cudaMemcpyFromSymbolAsync / cudaMemcpyFromSymbolAsync_ptsz(
        to: usize, symbol: usize, bytes: usize, offset: usize, kind: i32; order
    ) {
        check_direction(kind, HOST_TO_DEVICE)?;
        copy(to, variable_range(symbol, offset, bytes)?, bytes, kind, order)
    }
}
