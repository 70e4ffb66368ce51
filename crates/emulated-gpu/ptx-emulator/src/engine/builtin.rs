//! Functions that the driver provides on every device: `vprintf`, `__assertfail`, `malloc`, `free`,
//! and `cudaGraphSetConditional`.

#![allow(unsafe_code, reason = "strings and arguments are read from checked device memory")]

use super::code::{Argument, Builtin, BuiltinArguments};
use super::core::{Core, Outcome, Problem};
use super::format::format;
use super::registers::lanes;
use super::space::LaneAccess;
use super::state_space::StateSpace;
use crate::fault::FaultKind;
use crate::memory::words::{read_bits, write_bits};

/// The maximum length of a string; a longer one is probably not terminated.
const MAX_STRING_BYTES: u64 = 1 << 16;

/// Calls a builtin for each lane of a mask.
pub(super) fn run(
    core: &mut Core<'_>,
    builtin: Builtin,
    arguments: &BuiltinArguments,
    mask: u32,
) -> Outcome {
    let mut printed = Vec::new();
    for lane in lanes(mask) {
        let result = match builtin {
            Builtin::Print => {
                let text = read_argument(core, arguments, 0, lane)?;
                let mut at = read_argument(core, arguments, 1, lane)?;
                let template = read_string(core, text, lane)?;
                let mut taken = 0;
                let core = std::cell::RefCell::new(&mut *core);
                format(
                    &template,
                    &mut printed,
                    |bytes| {
                        at = at.checked_next_multiple_of(bytes).unwrap_or(u64::MAX);
                        let bits = read_generic(&mut core.borrow_mut(), at, bytes, lane)?;
                        at = at.wrapping_add(bytes);
                        taken += 1;
                        Ok(bits)
                    },
                    |address| read_string(&mut core.borrow_mut(), address, lane),
                )?;
                // Returns the number of arguments, unlike C (CUDA C++ Programming Guide, "Formatted
                // Output").
                taken
            }
            Builtin::AssertFail => {
                let expression = read_argument(core, arguments, 0, lane)?;
                let file = read_argument(core, arguments, 1, lane)?;
                let line = read_argument(core, arguments, 2, lane)?;
                let function = read_argument(core, arguments, 3, lane)?;
                let [expression, file, function] = [expression, file, function].map(|address| {
                    read_string(core, address, lane)
                        .map(|text| String::from_utf8_lossy(&text).into_owned())
                });
                let message = format!("`{}` does not hold", expression?);
                return Err(Problem::new(FaultKind::Assert, message)
                    .lane(lane)
                    .note(format!("{}:{}, in {}", file?, line as u32, function?)));
            }
            Builtin::Allocate => {
                let size = read_argument(core, arguments, 0, lane)?;
                core.memory.allocate_in_heap(core.heap, size).unwrap_or(0)
            }
            Builtin::Free => {
                let address = read_argument(core, arguments, 0, lane)?;
                if address != 0 && core.memory.free_in_heap(address).is_err() {
                    let message =
                        format!("free of {address:#x}, where no allocation of a kernel starts");
                    return Err(Problem::new(FaultKind::IllegalAddress, message)
                        .lane(lane)
                        .address(address)
                        .note(core.memory.neighbourhood(address)));
                }
                if let Some(races) = core.races {
                    races.clear(address);
                }
                // A site must not access the freed memory through its cached region.
                core.forget_sites();
                0
            }
            Builtin::SetCondition => {
                let handle = read_argument(core, arguments, 0, lane)?;
                let value = read_argument(core, arguments, 1, lane)? as u32;
                // Conditions belong to a context, like heaps.
                let set = core.memory.conditions().set(core.heap.owner, handle, value);
                set.map_err(|why| {
                    let message = format!("cudaGraphSetConditional: {why}");
                    Problem::new(FaultKind::IllegalAddress, message).lane(lane).note(
                        "use a handle of cuGraphConditionalHandleCreate while its graph, or an \
                         executable graph made of it, exists",
                    )
                })?;
                0
            }
        };
        match arguments.result {
            Some(Argument::Register(slot)) => core.registers.set(slot, lane, result),
            Some(Argument::Memory { offset, bytes }) => {
                let at = LaneAccess::uncached(StateSpace::Local, offset, bytes, lane);
                let host = core.resolve(at, true)?;
                core.mark_written(at);
                // SAFETY: `resolve` has checked the range and its alignment.
                unsafe { write_bits(host, bytes, result) };
            }
            None => {}
        }
    }
    if !printed.is_empty() {
        core.output.write(&printed);
    }
    Ok(())
}

fn read_argument(
    core: &mut Core<'_>,
    arguments: &BuiltinArguments,
    index: usize,
    lane: usize,
) -> Outcome<u64> {
    match arguments.arguments.get(index) {
        Some(&Argument::Register(slot)) => Ok(core.registers.get(slot, lane)),
        Some(&Argument::Memory { offset, bytes }) => {
            let at = LaneAccess::uncached(StateSpace::Local, offset, bytes, lane);
            let host = core.resolve(at, false)?;
            // SAFETY: `resolve` has checked the range and its alignment.
            Ok(unsafe { read_bits(host, bytes) })
        }
        None => Err(Problem::new(
            FaultKind::InvalidInstruction,
            format!("this function takes more than {index} arguments"),
        )),
    }
}

fn read_generic(core: &mut Core<'_>, address: u64, bytes: u64, lane: usize) -> Outcome<u64> {
    let at = LaneAccess::uncached(StateSpace::Generic, address, bytes, lane);
    let host = core.resolve(at, false)?;
    // SAFETY: `resolve` has checked the range and its alignment.
    Ok(unsafe { read_bits(host, bytes) })
}

/// Reads a zero-terminated string.
fn read_string(core: &mut Core<'_>, address: u64, lane: usize) -> Outcome<Vec<u8>> {
    let mut text = Vec::new();
    for at in address..address.saturating_add(MAX_STRING_BYTES) {
        match read_generic(core, at, 1, lane)? {
            0 => return Ok(text),
            byte => text.push(byte as u8),
        }
    }
    let message = format!("the string at {address:#x} is not terminated");
    Err(Problem::new(FaultKind::IllegalAddress, message).lane(lane).address(address))
}
