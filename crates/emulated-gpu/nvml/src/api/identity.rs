//! Identity of a card: name, index, UUID, PCI address, compute capability.

use std::ffi::{c_int, c_uint};

use c_abi::export;

use crate::card::Card;
use crate::ffi::Out;
use crate::out::{TextOut, padded_field, versioned};
use crate::session::Handle;

/// `nvmlPciInfo_t` of `nvmlDeviceGetPciInfo_v3`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct PciInfo {
    legacy: LegacyPciInfo,
    bus: [u8; 32],
}

/// The part of `nvmlPciInfo_t` that the first two versions of the function write.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct LegacyPciInfo {
    bus: [u8; 16],
    /// The PCI address: domain, bus and device number.
    place: [c_uint; 3],
    /// The PCI ids (vendor and device) of the card and of its board. They are 0, because an
    /// emulated card has none.
    ids: [c_uint; 2],
}

/// `nvmlPciInfoExt_v1_t`
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct PciInfoExt {
    version: c_uint,
    place: [c_uint; 3],
    ids: [c_uint; 2],
    /// The PCI base class and subclass, which are 0, because an emulated card has none.
    device_classes: [c_uint; 2],
    bus: [u8; 32],
}

fn legacy(card: &Card) -> LegacyPciInfo {
    LegacyPciInfo { bus: padded_field(&card.bus_legacy()), place: card.place, ids: [0; 2] }
}

export! {
    /// Returns the driver's name of the card, "Emulated GPU (…)".
    fn nvmlDeviceGetName(device: Handle, to: Out<'_, u8>, len: c_uint) {
        let card = device.card()?;
        TextOut::new(to, len).set(&card.name())
    }

    /// Returns the index of the card.
    fn nvmlDeviceGetIndex(device: Handle, out: Out<'_, c_uint>) {
        out.set(device.number()?)
    }

    /// Returns the UUID: "GPU-" and hexadecimal digits.
    fn nvmlDeviceGetUUID(device: Handle, to: Out<'_, u8>, len: c_uint) {
        let card = device.card()?;
        TextOut::new(to, len).set(&card.uuid())
    }

    /// Returns the PCI address. Vendor and device ids are 0.
    fn nvmlDeviceGetPciInfo / nvmlDeviceGetPciInfo_v2(device: Handle, out: Out<'_, LegacyPciInfo>) {
        let card = device.card()?;
        out.set(legacy(&card))
    }

    /// Returns the PCI address in two forms: the legacy one, and one whose domain has eight digits.
    fn nvmlDeviceGetPciInfo_v3(device: Handle, out: Out<'_, PciInfo>) {
        let card = device.card()?;
        out.set(PciInfo { legacy: legacy(&card), bus: padded_field(&card.bus()) })
    }

    /// Returns the PCI address and the PCI classes.
    fn nvmlDeviceGetPciInfoExt(device: Handle, out: Out<'_, PciInfoExt>) {
        let card = device.card()?;
        let PciInfoExt { version, .. } = versioned::<1, _>(out)?;
        out.set(PciInfoExt {
            version,
            place: card.place,
            ids: [0; 2],
            device_classes: [0; 2],
            bus: padded_field(&card.bus()),
        })
    }

    /// Returns the compute capability.
    fn nvmlDeviceGetCudaComputeCapability(device: Handle, major: Out<'_, c_int>, minor: Out<'_, c_int>) {
        let [first, second] = device.card()?.capability;
        major.required()?;
        minor.set(second as c_int)?;
        major.set(first as c_int)
    }

    /// Returns the card's architecture, which follows from its compute capability.
    fn nvmlDeviceGetArchitecture(device: Handle, out: Out<'_, c_uint>) {
        let card = device.card()?;
        out.set(card.architecture())
    }
}
