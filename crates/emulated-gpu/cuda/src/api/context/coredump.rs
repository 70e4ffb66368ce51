//! The attributes of core dumps, of the current context and of all.

use crate::abi::error::{Code, Result};
use crate::abi::ffi::export;
use crate::abi::{Handle, List, Out};
use crate::api::calling_thread;
use crate::api::driver::driver;
use crate::context::coredump::{ALL, Attribute, TEXT, Value};

/// Writes the size that a value needs, where nobody wants the value itself; whether that was so.
unsafe fn tell_size(attribute: Attribute, value: Out<u8>, size: Out<usize>) -> Result<bool> {
    size.required()?;
    if value.is_null() {
        size.set(attribute.size())?;
    }
    Ok(value.is_null())
}

fn too_small(size: usize, wanted: usize) -> crate::abi::error::Error {
    Code::INVALID_VALUE.because(format!("{size} bytes for a value of {wanted}"))
}

unsafe fn get(context: Handle, attribute: u32, value: Out<u8>, size: Out<usize>) -> Result {
    let attribute = Attribute::of(attribute)?;
    if tell_size(attribute, value, size)? {
        return Ok(());
    }
    let room = size.get()?;
    let held = driver()?.coredumps.get(context, attribute);
    match held {
        Value::Switch(_) | Value::Flags(_) if room < attribute.size() => {
            return Err(too_small(room, attribute.size()));
        }
        Value::Switch(on) => value.set(on.into())?,
        Value::Flags(flags) => value.cast::<u32>().set(flags)?,
        Value::Text(text) if room <= text.len() => return Err(too_small(room, text.len() + 1)),
        Value::Text(text) => value.set_all(text.into_bytes().into_iter().chain([0])),
    }
    Ok(())
}

unsafe fn set(context: Handle, attribute: u32, value: Out<u8>, size: Out<usize>) -> Result {
    let attribute = Attribute::of(attribute)?;
    if tell_size(attribute, value, size)? {
        return Ok(());
    }
    let given = size.get()?;
    let said = match attribute {
        Attribute::File | Attribute::Pipe => {
            let mut bytes = value.read_only().list(given.min(TEXT))?;
            if let Some(end) = bytes.iter().position(|byte| *byte == 0) {
                bytes.truncate(end);
            }
            if bytes.is_empty() || bytes.len() >= TEXT {
                return Err(Code::INVALID_VALUE.because("a name has 1 to 1023 bytes"));
            }
            Value::Text(String::from_utf8_lossy(&bytes).into_owned())
        }
        _ if given < attribute.size() => return Err(too_small(given, attribute.size())),
        Attribute::Flags => Value::Flags(value.cast::<u32>().get()?),
        _ => Value::Switch(value.get()? != 0),
    };
    driver()?.coredumps.set(context, attribute, said)
}

export! {
    12010 fn cuCoredumpGetAttribute(attribute: u32, value: Out<u8>, size: Out<usize>) {
        get(calling_thread::context()?.handle, attribute, value, size)
    }

    12010 fn cuCoredumpGetAttributeGlobal(attribute: u32, value: Out<u8>, size: Out<usize>) {
        get(ALL, attribute, value, size)
    }

    12010 fn cuCoredumpSetAttribute(attribute: u32, value: Out<u8>, size: Out<usize>) {
        set(calling_thread::context()?.handle, attribute, value, size)
    }

    12010 fn cuCoredumpSetAttributeGlobal(attribute: u32, value: Out<u8>, size: Out<usize>) {
        set(ALL, attribute, value, size)
    }
}
