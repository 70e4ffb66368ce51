//! Devices and their properties.

use crate::abi::enumeration::enumeration;
use crate::abi::error::{Code, Result, fail_if};
use crate::abi::ffi::export;
use crate::abi::{Device, Out, Text};
use crate::api::driver::driver;
use crate::device::limits::{MAX_BLOCK, MAX_BLOCK_THREADS, MAX_GRID};
use crate::device::{attributes, name, pci_address, pci_bus_id, uuid};

/// `CUdevprop`
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Properties {
    threads: i32,
    block: [i32; 3],
    grid: [i32; 3],
    shared: i32,
    constant: i32,
    lanes: i32,
    pitch: i32,
    registers: i32,
    clock: i32,
    texture: i32,
}

/// The number of devices.
///
/// # Errors
/// `NOT_INITIALIZED` if the driver is not initialised.
pub(crate) fn count() -> Result<u32> {
    Ok(driver()?.hardware.settings.devices)
}

/// Checks a device, and returns its ordinal, counted from 0.
///
/// # Errors
/// `INVALID_DEVICE` if there is no such device.
pub(crate) fn check(device: i32) -> Result<u32> {
    let count = count()?;
    u32::try_from(device).ok().filter(|device| *device < count).ok_or_else(|| {
        let devices = if count == 1 {
            "one device, number 0,".to_owned()
        } else {
            format!("{count} devices, numbers 0 to {},", count - 1)
        };
        let more = "(EMULATED_GPU_DEVICES sets their number)";
        Code::INVALID_DEVICE.because(format!("there is {devices} and no number {device} {more}"))
    })
}

/// The value of a device's attribute (`CUdevice_attribute`).
///
/// # Errors
/// `INVALID_VALUE` if the attribute is unknown.
fn attribute(which: i32, device: Device) -> Result<i32> {
    let hardware = &driver()?.hardware;
    attributes::attribute(which, device, &hardware.settings, hardware.memory())
}

enumeration! {
    /// `CUdevice_P2PAttribute`
    PeerAttribute, "pairs of devices have no attribute {}" {
        PerformanceRank = 1, AccessSupported = 2, NativeAtomicSupported = 3, CudaArrayAccessSupported = 4,
    }
}

/// Writes a text and a NUL, truncated to the available space.
///
/// # Safety
/// `into` has space for `len` bytes.
unsafe fn write_text(text: &str, into: Out<u8>, len: i32) -> Result {
    into.required()?;
    let space = usize::try_from(len).ok().filter(|&len| len > 0).ok_or(Code::INVALID_VALUE)?;
    let bytes = text.bytes().take(space - 1).chain([0]);
    into.set_all(bytes);
    Ok(())
}

/// Parses a PCI address in hexadecimal ("0000:01:00.0", "01:00.0" or "0000:01:00") into domain, bus and device
/// number. The domain and the function may be omitted; the function must be 0.
fn parse_pci_address(text: &str) -> Option<[i32; 3]> {
    let (address, function) = text.split_once('.').unwrap_or((text, "0"));
    let number = |digits: &str| {
        let are_digits = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        i32::from_str_radix(digits, 16).ok().filter(|_| are_digits)
    };
    let mut fields = address.rsplit(':').map(number);
    let (device, bus) = (fields.next()??, fields.next()??);
    let domain = fields.next().unwrap_or(Some(0))?;
    (number(function)? == 0 && fields.next().is_none()).then_some([domain, bus, device])
}

export! {
    2000 fn cuDeviceGetCount(number: Out<i32>) {
        number.set(count()? as i32)
    }

    2000 fn cuDeviceGet(device as required: Out<Device>, ordinal: i32) {
        check(ordinal)?;
        device.set(ordinal)
    }

    2000 fn cuDeviceGetName(text: Out<u8>, len: i32, device: Device) {
        check(device)?;
        write_text(name(), text, len)
    }

    9020 fn cuDeviceGetUuid(out: Out<[u8; 16]>, device: Device), 11040 cuDeviceGetUuid_v2 {
        check(device)?;
        out.set(uuid(device))
    }

    3020 fn cuDeviceTotalMem_v2(bytes: Out<usize>, device: Device) {
        check(device)?;
        bytes.set(driver()?.hardware.allocations.total() as usize)
    }

    2000 fn cuDeviceGetAttribute(value as required: Out<i32>, which: i32, device: Device) {
        check(device)?;
        value.set(attribute(which, device)?)
    }

    2000 fn cuDeviceComputeCapability(major: Out<i32>, minor: Out<i32>, device: Device) {
        check(device)?;
        major.set(attribute(attributes::COMPUTE_CAPABILITY_MAJOR, device)?)?;
        minor.set(attribute(attributes::COMPUTE_CAPABILITY_MINOR, device)?)
    }

    2000 fn cuDeviceGetProperties(properties: Out<Properties>, device: Device) {
        check(device)?;
        properties.set(Properties {
            threads: MAX_BLOCK_THREADS as i32,
            block: MAX_BLOCK.map(|axis| axis as i32),
            grid: MAX_GRID.map(|axis| axis as i32),
            shared: attribute(attributes::MAX_SHARED_MEMORY_PER_BLOCK, device)?,
            constant: attribute(attributes::TOTAL_CONSTANT_MEMORY, device)?,
            lanes: attribute(attributes::WARP_SIZE, device)?,
            pitch: attribute(attributes::MAX_PITCH, device)?,
            registers: attribute(attributes::MAX_REGISTERS_PER_BLOCK, device)?,
            clock: attribute(attributes::CLOCK_RATE, device)?,
            texture: attribute(attributes::TEXTURE_ALIGNMENT, device)?,
        })
    }

    4010 fn cuDeviceGetPCIBusId(text: Out<u8>, len: i32, device: Device) {
        check(device)?;
        write_text(&pci_bus_id(device), text, len)
    }

    4010 fn cuDeviceGetByPCIBusId(device as required: Out<Device>, text: Text) {
        let text = text.get()?;
        let address = parse_pci_address(text.trim());
        match (0..count()? as i32).find(|&device| address == Some(pci_address(device))) {
            Some(index) => device.set(index),
            None => Err(Code::INVALID_DEVICE
                .because(format!("there is no device at {text}; the first is at {}", pci_bus_id(0)))),
        }
    }

    11040 fn cuDeviceGetExecAffinitySupport(supported: Out<i32>, _kind: i32, device: Device) {
        check(device)?;
        supported.set(0)
    }

    4000 fn cuDeviceCanAccessPeer(can: Out<i32>, device: Device, peer: Device) {
        check(device)?;
        check(peer)?;
        // Each device can access the memory of every other device.
        can.set(i32::from(device != peer))
    }

    8000 fn cuDeviceGetP2PAttribute(value as required: Out<i32>, which: i32, from: Device, to: Device) {
        check(from)?;
        check(to)?;
        fail_if!(from == to, INVALID_DEVICE, "a device is not its own peer");
        value.set(match PeerAttribute::from_number(which.cast_unsigned())? {
            // The best rank.
            PeerAttribute::PerformanceRank => 0,
            PeerAttribute::AccessSupported | PeerAttribute::NativeAtomicSupported => 1,
            // One device's CUDA arrays can't be used on another.
            PeerAttribute::CudaArrayAccessSupported => 0,
        })
    }
}
