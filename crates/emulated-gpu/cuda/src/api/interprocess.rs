//! Memory and events shared between processes (`cuIpc…`).

use std::sync::Arc;

use ptx_emulator::memory::{Devices, Home, ShareError};

use crate::abi::error::{Code, Error, Result};
use crate::abi::ffi::export;
use crate::abi::interprocess::{HandleKind, InterprocessHandle};
use crate::abi::registry::new_handle;
use crate::abi::{Handle, Out, Pointer};
use crate::api::calling_thread;
use crate::api::driver::driver;
use crate::event::interprocess::SharedEvent;
use crate::event::{DISABLE_TIMING, Event, INTERPROCESS};
use crate::memory::allocations::{AllocationKind, Owner};
use crate::stream::capture;

/// `CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS`
const LAZY_ENABLE_PEER_ACCESS: u32 = 1;

fn share_error(error: ShareError) -> Error {
    let code = match error {
        ShareError::NotDevice => Code::INVALID_VALUE,
        ShareError::Unavailable => Code::MAP_FAILED,
    };
    code.because(error.to_string())
}

/// Checks that a handle comes from another process: memory and events can't be opened in the process that owns them.
fn check_foreign(process: u32) -> Result {
    if process == std::process::id() {
        return Err(Code::INVALID_CONTEXT
            .because("this process made the handle; only another process can open it"));
    }
    Ok(())
}

export! {
    4010 fn cuIpcGetMemHandle(out as required: Out<InterprocessHandle>, address: Pointer) {
        capture::forbid_unsafe_call(&driver()?.captures)?;
        calling_thread::context()?;
        let driver = driver()?;
        let device = driver.hardware.allocations.with_allocation(address, |allocation| {
            matches!(allocation.kind, AllocationKind::Device).then_some(allocation.device)
        });
        let device = device.flatten().ok_or_else(|| {
            Code::INVALID_VALUE.because(format!("{address:#x} is not inside memory of cuMemAlloc"))
        })?;
        let place = driver.hardware.memory().share_with_processes(address).map_err(share_error)?;
        out.set(InterprocessHandle::new(HandleKind::Memory, place, device))
    }

    4010 fn cuIpcOpenMemHandle_v2(out as required: Out<Pointer>, handle: InterprocessHandle, flags: u32) {
        if flags != LAZY_ENABLE_PEER_ACCESS {
            return Err(Code::INVALID_VALUE
                .because(format!("flags {flags:#x}; pass CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS (1)")));
        }
        capture::forbid_unsafe_call(&driver()?.captures)?;
        let context = calling_thread::context()?;
        let (place, device) = handle.read(HandleKind::Memory)?;
        check_foreign(place.process)?;
        crate::api::device::check(device.cast_signed())?;
        // The flag enables peer access: the context's device may access the memory, whichever device it is on.
        let home = Home {
            shared_with: Devices::default().with(context.device),
            ..Home::on(device)
        };
        let owner = Owner { context: context.handle, home };
        out.set(driver()?.hardware.allocations.open(place, owner)?)
    }

    4010 fn cuIpcCloseMemHandle(address: Pointer) {
        capture::forbid_unsafe_call(&driver()?.captures)?;
        calling_thread::context()?;
        crate::api::memory::close(address)
    }

    4010 fn cuIpcGetEventHandle(out as required: Out<InterprocessHandle>, event: Handle) {
        let event = driver()?.event(event)?;
        event.context.check()?;
        let shared = event.shared.as_ref().ok_or_else(|| {
            Code::INVALID_HANDLE.because(
                "the event is not shareable; create it with CU_EVENT_INTERPROCESS and \
                 CU_EVENT_DISABLE_TIMING",
            )
        })?;
        out.set(InterprocessHandle::new(HandleKind::Event, shared.place()?, event.context.device))
    }

    4010 fn cuIpcOpenEventHandle(out as required: Out<Handle>, handle: InterprocessHandle) {
        let context = calling_thread::context()?;
        let (place, _) = handle.read(HandleKind::Event)?;
        check_foreign(place.process)?;
        let shared = SharedEvent::open(place)?;
        let flags = INTERPROCESS | DISABLE_TIMING;
        let event = Arc::new(Event::shared(new_handle(), context, flags, shared));
        driver()?.events.insert(event.handle, Arc::clone(&event));
        out.set(event.handle)
    }
}
