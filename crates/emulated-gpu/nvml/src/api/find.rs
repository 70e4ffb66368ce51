//! Number and handles of cards.

use std::ffi::c_uint;

use c_abi::export;

use crate::ffi::{Out, Status, Text};
use crate::out::versioned;
use crate::session::{Handle, count, find, initialised};

/// `nvmlUUID_v1_t`
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Uuid {
    version: c_uint,
    kind: c_uint,
    value: [u8; 41],
}

/// `NVML_UUID_TYPE_ASCII` and `…_BINARY`
const ASCII: c_uint = 1;
const BINARY: c_uint = 2;

export! {
    /// Returns the number of cards.
    fn nvmlDeviceGetCount / nvmlDeviceGetCount_v2(out: Out<'_, c_uint>) {
        out.set(count()?)
    }

    /// Returns the handle of a card by its index.
    fn nvmlDeviceGetHandleByIndex / nvmlDeviceGetHandleByIndex_v2(
        index: c_uint, out: Out<'_, Handle>
    ) {
        initialised()?;
        out.required()?;
        out.set(Handle::from_index(index)?)
    }

    /// Returns the handle of a card by its PCI address.
    fn nvmlDeviceGetHandleByPciBusId / nvmlDeviceGetHandleByPciBusId_v2(
        address: Text<'_>, out: Out<'_, Handle>
    ) {
        initialised()?;
        out.required()?;
        let address = address.get()?;
        let index = find(|card| card.is_at(address.trim()).ok_or(Status::InvalidArgument))?;
        out.set(Handle::from_index(index)?)
    }

    /// Returns the handle of a card by its UUID, with or without "GPU-".
    fn nvmlDeviceGetHandleByUUID(uuid: Text<'_>, out: Out<'_, Handle>) {
        initialised()?;
        out.required()?;
        let uuid = uuid.get()?;
        out.set(Handle::from_index(find(|card| Ok(card.has_uuid(uuid.as_bytes())))?)?)
    }

    /// Returns the handle of a card by its UUID, as text or as bytes.
    fn nvmlDeviceGetHandleByUUIDV(uuid: Out<'_, Uuid>, out: Out<'_, Handle>) {
        initialised()?;
        out.required()?;
        let uuid = versioned::<1, _>(uuid)?;
        let text = uuid.value.split(|byte| *byte == 0).next().unwrap_or_default();
        let index = find(|card| match uuid.kind {
            ASCII => Ok(card.has_uuid(text)),
            BINARY => Ok(uuid.value.starts_with(&card.uuid)),
            _ => Err(Status::InvalidArgument),
        })?;
        out.set(Handle::from_index(index)?)
    }

    /// Returns the handle of a card by its serial number. No card has one.
    fn nvmlDeviceGetHandleBySerial(serial: Text<'_>, out: Out<'_, Handle>) {
        initialised()?;
        out.required()?;
        serial.get()?;
        Err(Status::NotFound)
    }
}
