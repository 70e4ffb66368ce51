//! The cards: what they say they are, all the same. Its numbers are those of an H100 SXM (compute capability 9.0)
//! where the emulator has no limits of its own, so that a program's choices come out as there.

pub(crate) mod kernel_counts;
pub(crate) mod limits;
pub(crate) mod settings;
pub(crate) mod texture_limits;

use std::sync::OnceLock;

use ptx_emulator::Memory;

use crate::abi::error::{Code, Result};
use crate::device::limits::{
    BLOCK, BLOCK_THREADS, GRID, PROCESSORS, SHARED, SHARED_MOST, multiprocessor,
};
use crate::device::texture_limits::of_textures;

/// `CUuuid`: the same on every machine, and no hardware's: "emulated-gpu-001" and so on.
pub(crate) fn uuid(device: i32) -> [u8; 16] {
    let mut uuid = *b"emulated-gpu-000";
    let number = format!("{:03}", device.saturating_add(1));
    uuid.iter_mut().rev().zip(number.bytes().rev()).for_each(|(byte, digit)| *byte = digit);
    uuid
}

/// Where it would be: the domain of PCI, the bus, and its number there.
pub(crate) fn place(device: i32) -> [i32; 3] {
    [0, device, 0]
}

/// The same, as text.
pub(crate) fn bus(device: i32) -> String {
    let [domain, bus, slot] = place(device);
    format!("{domain:04x}:{bus:02x}:{slot:02x}.0")
}

/// "Emulated GPU (the processor's name)".
pub(crate) fn name() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("model name"));
        let model = line.and_then(|rest| rest.split_once(':')).map(|(_, model)| model.trim());
        let model = model.filter(|model| !model.is_empty()).unwrap_or(std::env::consts::ARCH);
        // Programs pass buffers of 64 to 256 bytes.
        let short: String = model.chars().filter(char::is_ascii).take(48).collect();
        format!("Emulated GPU ({})", balanced(&short))
    })
}

/// The text up to a bracket that is never closed, or never was opened: who reads the name finds the
/// end of it by its brackets.
fn balanced(text: &str) -> &str {
    let mut open = Vec::new();
    for (at, c) in text.char_indices() {
        match c {
            '(' => open.push(at),
            ')' if open.pop().is_none() => return text[..at].trim_end(),
            _ => {}
        }
    }
    text[..open.first().copied().unwrap_or(text.len())].trim_end()
}

/// `CUdevice_attribute` of a device.
///
/// # Errors
/// `INVALID_VALUE` for what is none.
pub(crate) fn attribute(attribute: i32, device: i32, memory: &Memory) -> Result<i32> {
    Ok(match attribute {
        1 => BLOCK_THREADS as i32,
        2..=4 => BLOCK[attribute as usize - 2] as i32,
        5..=7 => GRID[attribute as usize - 5] as i32,
        8 => SHARED,
        // Constant memory, bytes.
        9 => 65_536,
        // Lanes of a warp.
        10 => 32,
        // The longest pitch, bytes.
        11 => i32::MAX,
        12 => multiprocessor::REGISTERS,
        // Clock, kHz: the base clock of that card.
        13 => 1_980_000,
        14 | 21..=30 | 42..=49 | 51..=74 | 77 => of_textures(attribute).unwrap_or(0) as i32,
        // Copies overlap with kernels.
        15 => 1,
        16 => PROCESSORS,
        // No time limit, not integrated, maps host memory, any number of contexts.
        17 => 0,
        18 => 0,
        19 => 1,
        20 => 0,
        // Kernels of different streams run at the same time.
        31 => 1,
        // The bus, the number there, the domain; ECC, TCC.
        33 => place(device)[1],
        34 => place(device)[2],
        50 => place(device)[0],
        32 | 35 => 0,
        // Memory clock in kHz, bus in bits, L2 cache in bytes.
        36 => 2_619_000,
        37 => 5120,
        38 => 50 << 20,
        39 => multiprocessor::THREADS,
        40 => 3,
        // Host and device share addresses.
        41 => 1,
        // Priorities, L1 caches.
        78..=80 => 1,
        81 => multiprocessor::SHARED,
        82 => multiprocessor::REGISTERS,
        // Managed memory.
        83 => 1,
        84 | 85 => 0,
        // Atomics of host and device are the same.
        86 => 1,
        // f32 to f64.
        87 => 2,
        // Memory that was not allocated here stays the host's own.
        88 => 0,
        // The host may use managed memory while kernels run; kernels can be stopped.
        89 => 1,
        90 => 1,
        // Registered memory has one address for both.
        91 => 1,
        // Waiting for and writing of numbers in streams.
        92..=94 | 122 | 123 => 1,
        95 => 1,
        96 => 0,
        97 => SHARED_MOST,
        98 => 0,
        99 => 1,
        100 | 101 => 0,
        // Virtual memory management, and POSIX file descriptors as handles for other processes; none of
        // Windows, and no fabric.
        // Memory and events for other processes are files of memory too.
        102 | 103 | 125 => i32::from(memory.can_map()),
        104 | 105 | 128 => 0,
        106 => multiprocessor::BLOCKS,
        107..=110 => 0,
        111 => multiprocessor::SHARED_RESERVED,
        112 | 114 | 116..=121 | 124 | 126 | 127 | 129 | 132..=135 => 0,
        113 => 1,
        // Pools.
        115 => 1,
        // No NUMA of its own.
        130 => 0,
        131 => -1,
        136..=159 | 161 => 0,
        // What tensor maps need of memory makes no difference.
        160 => i32::MAX,
        _ => {
            return Err(
                Code::INVALID_VALUE.because(format!("devices have no attribute {attribute}"))
            );
        }
    })
}
