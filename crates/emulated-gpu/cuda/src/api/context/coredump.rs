//! The attributes of core dumps: of the current context, and the global ones.

use crate::abi::error::{Code, Result};
use crate::abi::ffi::export;
use crate::abi::{Handle, List, Out};
use crate::api::calling_thread;
use crate::api::driver::driver;
use crate::context::coredump::{Attribute, GLOBAL, MAX_TEXT, Value};

/// If `value` is null, writes the size that the value needs, and returns true.
unsafe fn write_size_only(attribute: Attribute, value: Out<u8>, size: Out<usize>) -> Result<bool> {
    size.required()?;
    if value.is_null() {
        size.set(attribute.size())?;
    }
    Ok(value.is_null())
}

fn too_small(size: usize, wanted: usize) -> crate::abi::error::Error {
    Code::INVALID_VALUE.because(format!("the value needs {wanted} bytes and the buffer has {size}"))
}

unsafe fn get(context: Handle, attribute: u32, value: Out<u8>, size: Out<usize>) -> Result {
    let attribute = Attribute::from_number(attribute)?;
    if write_size_only(attribute, value, size)? {
        return Ok(());
    }
    let space = size.get()?;
    let current = driver()?.coredumps.get(context, attribute);
    match current {
        Value::Switch(_) | Value::Flags(_) if space < attribute.size() => {
            return Err(too_small(space, attribute.size()));
        }
        Value::Switch(on) => value.set(on.into())?,
        Value::Flags(flags) => value.cast::<u32>().set(flags)?,
        Value::Text(text) if space <= text.len() => return Err(too_small(space, text.len() + 1)),
        Value::Text(text) => value.set_all(text.into_bytes().into_iter().chain([0])),
    }
    Ok(())
}

unsafe fn set(context: Handle, attribute: u32, value: Out<u8>, size: Out<usize>) -> Result {
    let attribute = Attribute::from_number(attribute)?;
    if write_size_only(attribute, value, size)? {
        return Ok(());
    }
    let size = size.get()?;
    let new = match attribute {
        Attribute::File | Attribute::Pipe => {
            let mut bytes = value.read_only().list(size.min(MAX_TEXT))?;
            if let Some(end) = bytes.iter().position(|byte| *byte == 0) {
                bytes.truncate(end);
            }
            if bytes.is_empty() || bytes.len() >= MAX_TEXT {
                return Err(Code::INVALID_VALUE.because("a name has 1 to 1023 bytes"));
            }
            Value::Text(String::from_utf8_lossy(&bytes).into_owned())
        }
        _ if size < attribute.size() => return Err(too_small(size, attribute.size())),
        Attribute::Flags => Value::Flags(value.cast::<u32>().get()?),
        _ => Value::Switch(value.get()? != 0),
    };
    driver()?.coredumps.set(context, attribute, new)
}

export! {
    12010 fn cuCoredumpGetAttribute(attribute: u32, value: Out<u8>, size: Out<usize>) {
        get(calling_thread::context()?.handle, attribute, value, size)
    }

    12010 fn cuCoredumpGetAttributeGlobal(attribute: u32, value: Out<u8>, size: Out<usize>) {
        get(GLOBAL, attribute, value, size)
    }

    12010 fn cuCoredumpSetAttribute(attribute: u32, value: Out<u8>, size: Out<usize>) {
        set(calling_thread::context()?.handle, attribute, value, size)
    }

    12010 fn cuCoredumpSetAttributeGlobal(attribute: u32, value: Out<u8>, size: Out<usize>) {
        set(GLOBAL, attribute, value, size)
    }
}
