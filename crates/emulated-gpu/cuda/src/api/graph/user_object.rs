//! User objects, and the graphs that hold them.

use std::sync::Arc;

use crate::abi::error::{Code, Result, fail_if};
use crate::abi::ffi::export;
use crate::abi::registry::new_handle;
use crate::abi::{Handle, HostFunction, Out};
use crate::api::driver::driver;
use crate::graph::user_object::UserObject;

/// The flag `CU_USER_OBJECT_NO_DESTRUCTOR_SYNC`, which is mandatory.
const NO_SYNC: u32 = 1;
/// The flag `CU_GRAPH_USER_OBJECT_MOVE`, which transfers the program's references to the graph.
const MOVE: u32 = 1;

fn object(handle: Handle) -> Result<Arc<UserObject>> {
    let missing = || {
        Code::INVALID_VALUE.because(format!(
            "there is no user object {handle:#x} to which the program holds references"
        ))
    };
    driver()?.user_objects.get(handle).ok_or_else(missing)
}

fn check_count(count: u32) -> Result {
    fail_if!(count == 0, INVALID_VALUE, "the number of references is 0");
    Ok(())
}

fn release(handle: Handle, count: u32) -> Result {
    check_count(count)?;
    if object(handle)?.release(count)? {
        driver()?.user_objects.remove(handle);
    }
    Ok(())
}

export! {
    11030 fn cuUserObjectCreate(
        out as required: Out<Handle>, data: Out<u8>, destructor: HostFunction, count: u32, flags: u32,
    ) {
        check_count(count)?;
        if flags != NO_SYNC || destructor.is_none() {
            return Err(Code::INVALID_VALUE
                .because("a user object needs a destructor, and CU_USER_OBJECT_NO_DESTRUCTOR_SYNC as flags"));
        }
        let handle = new_handle();
        driver()?.user_objects.insert(handle, Arc::new(UserObject::new(data.address(), destructor, count)));
        out.set(handle)
    }

    11030 fn cuUserObjectRetain(handle: Handle, count: u32) {
        check_count(count)?;
        object(handle)?.retain(count)
    }

    11030 fn cuUserObjectRelease(handle: Handle, count: u32) {
        release(handle, count)
    }

    11030 fn cuGraphRetainUserObject(graph: Handle, handle: Handle, count: u32, flags: u32) {
        check_count(count)?;
        fail_if!(flags & !MOVE != 0, INVALID_VALUE, "unknown flags {flags:#x}");
        let graph = driver()?.graph(graph)?;
        let object = object(handle)?;
        graph.user_objects.retain(handle, &object.resource, count)?;
        if flags == MOVE
            && let Err(error) = release(handle, count)
        {
            graph.user_objects.release(handle, count)?;
            return Err(error);
        }
        Ok(())
    }

    11030 fn cuGraphReleaseUserObject(graph: Handle, handle: Handle, count: u32) {
        check_count(count)?;
        driver()?.graph(graph)?.user_objects.release(handle, count)
    }
}
