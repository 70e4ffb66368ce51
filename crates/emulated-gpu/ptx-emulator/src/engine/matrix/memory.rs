//! Transfers of matrices between memory and the registers of a warp.

#![allow(unsafe_code, reason = "device memory is read and written, through checked pointers")]

use crate::engine::access::instruction::Access;
use crate::engine::core::{Core, Outcome, Problem};
use crate::engine::race::{Effect, Semantics};
use crate::engine::registers::{LANES, Registers, Slot, lanes};
use crate::engine::state_space::StateSpace;
use crate::fault::FaultKind;
use crate::memory::words::{self, read_bits, write_bits};
use crate::program::{Fragment, Space};

/// The number of rows in a matrix of `ldmatrix`, and of two-byte elements in a row.
const ROWS: usize = 8;
/// The bytes of a row.
const ROW: u64 = 16;
/// The required alignment of the rows of `wmma` in bytes; if a lane has fewer bytes than this,
/// their number is the alignment. The ISA always requires the alignment of a lane's bytes, which is
/// 32 for halves, but CUDA's documentation and samples only require 16.
const ROW_ALIGNMENT: u64 = 16;

/// The operands of `movmatrix`.
pub(in crate::engine) struct Transpose {
    pub(in crate::engine) d: Slot,
    pub(in crate::engine) a: Slot,
}

/// An 8 × 8 matrix of halves from the registers of a warp; each lane holds two elements of a row.
fn unpack_matrix(row: &[u32; LANES]) -> [[u16; ROWS]; ROWS] {
    let mut matrix = [[0; ROWS]; ROWS];
    for (lane, word) in row.iter().enumerate() {
        let (row, column) = (lane / 4, lane % 4 * 2);
        matrix[row][column] = *word as u16;
        matrix[row][column + 1] = (*word >> 16) as u16;
    }
    matrix
}

/// Packs an 8 × 8 matrix of halves into the registers of a warp.
fn pack_matrix(matrix: &[[u16; ROWS]; ROWS], transposed: bool) -> [u32; LANES] {
    std::array::from_fn(|lane| {
        let (row, column) = (lane / 4, lane % 4 * 2);
        let at = |row: usize, column: usize| {
            u32::from(if transposed { matrix[column][row] } else { matrix[row][column] })
        };
        at(row, column) | at(row, column + 1) << 16
    })
}

impl Transpose {
    pub(super) fn run(&self, registers: &mut Registers) {
        let matrix = unpack_matrix(registers.narrow(self.a.index));
        *registers.narrow_mut(self.d.index) = pack_matrix(&matrix, true);
    }
}

/// The operands of `ldmatrix` and `stmatrix`: the first eight lanes have the addresses of the rows
/// of the first matrix, the next eight lanes have the addresses of the second matrix's rows, and so
/// on.
pub(in crate::engine) struct RowTransfer {
    pub(in crate::engine) access: Access,
    pub(in crate::engine) store: bool,
    pub(in crate::engine) transposed: bool,
    /// One register per matrix.
    pub(in crate::engine) registers: Vec<Slot>,
}

impl RowTransfer {
    /// The lanes whose addresses are used, and the bytes at each address.
    pub(in crate::engine) fn extent(&self) -> (u32, u64) {
        let count = self.registers.len() * ROWS;
        (u32::MAX >> (LANES - count.clamp(1, LANES)), ROW)
    }

    pub(super) fn run(&self, core: &mut Core<'_>) -> Outcome {
        let (mask, bytes) = self.extent();
        let access = &self.access;
        let addresses = access.addresses(core);
        let name = if self.store { "stmatrix" } else { "ldmatrix" };
        for lane in lanes(mask) {
            require_space(core, access, (lane, addresses[lane]), name, &[Space::Shared])?;
        }
        let hosts = locate(core, access, &addresses, mask, (bytes, self.store))?;
        for (which, slot) in self.registers.iter().enumerate() {
            let hosts = &hosts[which * ROWS..(which + 1) * ROWS];
            if self.store {
                let mut matrix = unpack_matrix(core.registers.narrow(slot.index));
                if self.transposed {
                    let before = matrix;
                    matrix = std::array::from_fn(|row| std::array::from_fn(|c| before[c][row]));
                }
                for (row, host) in matrix.iter().zip(hosts) {
                    let mut buffer = [0; ROW as usize];
                    for (bytes, element) in buffer.chunks_exact_mut(2).zip(row) {
                        bytes.copy_from_slice(&element.to_le_bytes());
                    }
                    // SAFETY: `locate` has checked 16 bytes.
                    unsafe { words::write(*host as *mut u8, &buffer) };
                }
                continue;
            }
            let mut matrix = [[0; ROWS]; ROWS];
            for (row, host) in matrix.iter_mut().zip(hosts) {
                let mut buffer = [0; ROW as usize];
                // SAFETY: `locate` has checked 16 bytes.
                unsafe { words::read(*host as *const u8, &mut buffer) };
                for (element, bytes) in row.iter_mut().zip(buffer.chunks_exact(2)) {
                    *element = u16::from_le_bytes([bytes[0], bytes[1]]);
                }
            }
            *core.registers.narrow_mut(slot.index) = pack_matrix(&matrix, self.transposed);
        }
        Ok(())
    }
}

/// Reports a generic address that is not in one of the instruction's state spaces.
fn require_space(
    core: &Core<'_>,
    access: &Access,
    (lane, address): (usize, u64),
    name: &str,
    spaces: &[Space],
) -> Outcome {
    let is_in = |space: &Space| core.is_in_space(*space, address, &[]);
    if access.state_space != StateSpace::Generic || spaces.iter().any(is_in) {
        return Ok(());
    }
    let others = [Space::Global, Space::Local, Space::Param];
    let found = others.iter().find(|space| is_in(space)).map_or("shared", |space| match space {
        Space::Local => "local",
        Space::Param => "parameter",
        _ => "global",
    });
    let wanted = if spaces.len() > 1 { "global or shared" } else { "shared" };
    Err(Problem::new(
        FaultKind::IllegalAddress,
        format!("{name} at {address:#x}, which is {found} memory"),
    )
    .lane(lane)
    .address(address)
    .note(format!("{name} takes addresses of {wanted} memory: copy the matrix there first")))
}

/// Performs all checks of an access, and returns the host addresses of `bytes` bytes at the active
/// lanes' addresses.
fn locate(
    core: &mut Core<'_>,
    access: &Access,
    addresses: &[u64; LANES],
    mask: u32,
    (bytes, write): (u64, bool),
) -> Outcome<[u64; LANES]> {
    let effect = if write { Effect::Write } else { Effect::Read };
    let mut hosts = [0; LANES];
    for lane in lanes(mask) {
        let at = access.lane_access(addresses[lane], bytes, lane);
        hosts[lane] = core.resolve(at, write)? as u64;
        core.check_written(at, effect)?;
    }
    core.race(access, addresses, mask, (bytes, Semantics::default()), effect)?;
    Ok(hosts)
}

/// The operands of `wmma.load` and `wmma.store`.
pub(in crate::engine) struct TileTransfer {
    /// The address of the matrix, which is the same in all lanes.
    pub(in crate::engine) access: Access,
    pub(in crate::engine) store: bool,
    /// The elements from one row (or column) to the next; `None` if they are contiguous.
    pub(in crate::engine) stride: Option<Slot>,
    pub(in crate::engine) fragment: Fragment,
    pub(in crate::engine) registers: Vec<Slot>,
}

impl TileTransfer {
    /// The number of elements that are adjacent both in memory and in a register, and their bytes.
    fn run_length(&self) -> (usize, u64) {
        let element = self.fragment.element;
        let parts = element.in_register();
        let (_, first) = self.position(0, 0, 0);
        let (_, second) = self.position(0, 0, parts - 1);
        let together = if second == first + parts - 1 { parts } else { 1 };
        (together, u64::from(element.bits()) * together as u64 / 8)
    }

    /// The row (or column, if stored by columns) of an element, and its index in the row or column.
    fn position(&self, lane: usize, index: usize, part: usize) -> (usize, usize) {
        let (_, row, column) = self.fragment.place(lane, index, part);
        if self.fragment.by_rows { (row, column) } else { (column, row) }
    }

    /// The addresses of a part of a register in all lanes.
    fn addresses(&self, core: &Core<'_>, index: usize, part: usize) -> [u64; LANES] {
        let bits = u64::from(self.fragment.element.bits());
        let long =
            if self.fragment.by_rows { self.fragment.columns() } else { self.fragment.rows() };
        let base = self.access.addresses(core);
        std::array::from_fn(|lane| {
            let stride = self
                .stride
                .map_or(long as u64, |slot| core.registers.get(slot, lane) & 0xffff_ffff);
            let (row, at) = self.position(lane, index, part);
            let element = (row as u64).wrapping_mul(stride).wrapping_add(at as u64);
            base[lane].wrapping_add(element.wrapping_mul(bits) / 8)
        })
    }

    /// The addresses of consecutive accesses of the lanes, and the bytes of each. Two registers
    /// whose words are adjacent in memory are accessed together, as in code from `ptxas`.
    pub(in crate::engine) fn accesses(&self, core: &Core<'_>) -> (Vec<[u64; LANES]>, u64) {
        let (together, bytes) = self.run_length();
        let parts = self.fragment.element.in_register();
        let each = (0..self.registers.len())
            .flat_map(|index| (0..parts).step_by(together).map(move |part| (index, part)));
        let all: Vec<_> = each.map(|(index, part)| self.addresses(core, index, part)).collect();
        let side_by_side = |pair: &[[u64; LANES]]| {
            let mut lanes = pair[0].iter().zip(pair.last().into_iter().flatten());
            lanes.all(|(first, second)| first % 8 == 0 && *second == first.wrapping_add(4))
        };
        if bytes == 4 && all.chunks(2).all(side_by_side) {
            return (all.into_iter().step_by(2).collect(), 8);
        }
        (all, bytes)
    }

    /// Reports an address or a stride that the instruction doesn't allow (PTX ISA, "Matrix Storage
    /// for WMMA").
    fn require_valid(&self, core: &Core<'_>) -> Outcome {
        let name = if self.store { "wmma.store" } else { "wmma.load" };
        let addresses = self.access.addresses(core);
        let strides =
            self.stride.map(|slot| core.registers.all_lanes(slot).map(|stride| stride as u32));
        let stride = strides.map_or(0, |strides| strides[0]);
        for (lane, &address) in addresses.iter().enumerate() {
            require_space(
                core,
                &self.access,
                (lane, address),
                name,
                &[Space::Global, Space::Shared],
            )?;
            if address != addresses[0] || strides.is_some_and(|strides| strides[lane] != stride) {
                let message =
                    format!("the address or stride of {name} differs from that of lane 0");
                return Err(Problem::new(FaultKind::InvalidInstruction, message)
                    .lane(lane)
                    .address(address)
                    .note("the lanes of a warp access one matrix together, so all have to name the same one"));
            }
        }
        let element = self.fragment.element;
        let held = self.fragment.registers() as u64 * element.register().bytes();
        let address = addresses[0];
        if !address.is_multiple_of(held) {
            let message = format!("{name} at {address:#x}, which is not a multiple of {held}");
            return Err(Problem::new(FaultKind::Misaligned, message).lane(0).address(address).note(
                format!(
                    "a lane holds {held} bytes of this matrix, and its address has to be a multiple of \
                     that (PTX ISA, \"Matrix Storage for WMMA\")"
                ),
            ));
        }
        let row = held.min(ROW_ALIGNMENT);
        let bits = u64::from(stride) * u64::from(element.bits());
        if self.stride.is_some() && (stride == 0 || !bits.is_multiple_of(8 * row)) {
            let least = 8 * row / u64::from(element.bits());
            let message = format!(
                "{name} with a stride (leading dimension) of {stride} elements: it has to be a \
                 positive multiple of {least}"
            );
            return Err(Problem::new(FaultKind::InvalidInstruction, message)
                .lane(0)
                .address(address)
                .note(format!(
                    "each row (or column) has to start {row} bytes or a multiple of that after the \
                     last (CUDA C++ Programming Guide, \"Warp Matrix Functions\")"
                )));
        }
        Ok(())
    }

    pub(super) fn run(&self, core: &mut Core<'_>) -> Outcome {
        self.require_valid(core)?;
        let (together, bytes) = self.run_length();
        let parts = self.fragment.element.in_register();
        for (index, &slot) in self.registers.iter().enumerate() {
            let mut values = [0_u64; LANES];
            for part in (0..parts).step_by(together) {
                let shift = part as u32 * self.fragment.element.bits();
                let addresses = self.addresses(core, index, part);
                let hosts = locate(core, &self.access, &addresses, u32::MAX, (bytes, self.store))?;
                for (lane, host) in hosts.into_iter().enumerate() {
                    if self.store {
                        let value = core.registers.get(slot, lane) >> shift;
                        // SAFETY: `locate` has checked `bytes` bytes, and their alignment.
                        unsafe { write_bits(host as *mut u8, bytes, value) };
                    } else {
                        // SAFETY: as above.
                        values[lane] |= unsafe { read_bits(host as *const u8, bytes) } << shift;
                    }
                }
            }
            if !self.store {
                lanes(u32::MAX).for_each(|lane| core.registers.set(slot, lane, values[lane]));
            }
        }
        Ok(())
    }
}
