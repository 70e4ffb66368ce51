//! What a card is: its name, its number, its identifier, its place, its kind.

use std::ffi::{c_int, c_uint};

use c_abi::export;

use crate::card::Card;
use crate::ffi::Out;
use crate::out::{TextOut, field, versioned};
use crate::session::Handle;

/// `nvmlPciInfo_t`, of `nvmlDeviceGetPciInfo_v3`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct PciInfo {
    first: LegacyPciInfo,
    bus: [u8; 32],
}

/// What its first versions write.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct LegacyPciInfo {
    bus: [u8; 16],
    /// Domain, bus, device.
    place: [c_uint; 3],
    /// Who made the device and the board, and as which model, as such numbers are given out: nobody.
    ids: [c_uint; 2],
}

/// `nvmlPciInfoExt_v1_t`
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct PciInfoExt {
    version: c_uint,
    place: [c_uint; 3],
    ids: [c_uint; 2],
    /// Which kind of device it is, and more exactly: not known.
    classes: [c_uint; 2],
    bus: [u8; 32],
}

fn legacy(card: &Card) -> LegacyPciInfo {
    LegacyPciInfo { bus: field(&card.bus_legacy()), place: card.place, ids: [0; 2] }
}

export! {
    /// "Emulated GPU (…)", as the driver names it.
    fn nvmlDeviceGetName(device: Handle, to: Out<'_, u8>, len: c_uint) {
        let card = device.card()?;
        // SAFETY: the caller vouches for as many bytes.
        unsafe { TextOut::new(to, len) }.set(&card.name())
    }

    /// Its number.
    fn nvmlDeviceGetIndex(device: Handle, out: Out<'_, c_uint>) {
        out.set(device.number()?)
    }

    /// "GPU-" and the digits of its identifier.
    fn nvmlDeviceGetUUID(device: Handle, to: Out<'_, u8>, len: c_uint) {
        let card = device.card()?;
        // SAFETY: the caller vouches for as many bytes.
        unsafe { TextOut::new(to, len) }.set(&card.uuid())
    }

    /// Where it would be on the bus. What it would be there is not known: 0.
    fn nvmlDeviceGetPciInfo / nvmlDeviceGetPciInfo_v2(device: Handle, out: Out<'_, LegacyPciInfo>) {
        let card = device.card()?;
        out.set(legacy(&card))
    }

    /// The same, with a domain of eight digits besides.
    fn nvmlDeviceGetPciInfo_v3(device: Handle, out: Out<'_, PciInfo>) {
        let card = device.card()?;
        out.set(PciInfo { first: legacy(&card), bus: field(&card.bus()) })
    }

    /// The same.
    fn nvmlDeviceGetPciInfoExt(device: Handle, out: Out<'_, PciInfoExt>) {
        let card = device.card()?;
        // SAFETY: the caller has written such a structure there.
        let PciInfoExt { version, .. } = unsafe { versioned::<1, _>(out)? };
        out.set(PciInfoExt {
            version,
            place: card.place,
            ids: [0; 2],
            classes: [0; 2],
            bus: field(&card.bus()),
        })
    }

    /// Its compute capability.
    fn nvmlDeviceGetCudaComputeCapability(device: Handle, major: Out<'_, c_int>, minor: Out<'_, c_int>) {
        let [first, second] = device.card()?.capability;
        major.required()?;
        minor.set(second as c_int)?;
        major.set(first as c_int)
    }

    /// The architecture that has this compute capability.
    fn nvmlDeviceGetArchitecture(device: Handle, out: Out<'_, c_uint>) {
        let card = device.card()?;
        out.set(card.architecture())
    }
}
