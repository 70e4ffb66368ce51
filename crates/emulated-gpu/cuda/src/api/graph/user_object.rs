//! User objects, and the graphs that hold them.

use std::sync::Arc;

use crate::abi::error::{Code, Result, fail_if};
use crate::abi::ffi::export;
use crate::abi::registry::fresh;
use crate::abi::{Handle, HostFunction, Out};
use crate::api::driver::driver;
use crate::graph::user_object::UserObject;

/// `CU_USER_OBJECT_NO_DESTRUCTOR_SYNC`, which has to be said.
const NO_SYNC: u32 = 1;
/// `CU_GRAPH_USER_OBJECT_MOVE`: the program's references become the graph's.
const MOVE: u32 = 1;

fn object(handle: Handle) -> Result<Arc<UserObject>> {
    let missing = || {
        Code::INVALID_VALUE
            .because(format!("there is no user object {handle:#x} with references of yours"))
    };
    driver()?.users.get(handle).ok_or_else(missing)
}

fn counted(count: u32) -> Result {
    fail_if!(count == 0, INVALID_VALUE, "0 references: there is nothing to do");
    Ok(())
}

fn release(handle: Handle, count: u32) -> Result {
    counted(count)?;
    if object(handle)?.release(count)? {
        driver()?.users.remove(handle);
    }
    Ok(())
}

export! {
    11030 fn cuUserObjectCreate(
        out as required: Out<Handle>, data: Out<u8>, end: HostFunction, count: u32, flags: u32,
    ) {
        counted(count)?;
        if flags != NO_SYNC || end.is_none() {
            return Err(Code::INVALID_VALUE.because(
                "a user object has a function that ends it, and CU_USER_OBJECT_NO_DESTRUCTOR_SYNC for flags",
            ));
        }
        let handle = fresh();
        driver()?.users.insert(handle, Arc::new(UserObject::new(data.address(), end, count)));
        out.set(handle)
    }

    11030 fn cuUserObjectRetain(handle: Handle, count: u32) {
        counted(count)?;
        object(handle)?.retain(count)
    }

    11030 fn cuUserObjectRelease(handle: Handle, count: u32) {
        release(handle, count)
    }

    11030 fn cuGraphRetainUserObject(graph: Handle, handle: Handle, count: u32, flags: u32) {
        counted(count)?;
        fail_if!(flags & !MOVE != 0, INVALID_VALUE, "unknown flags {flags:#x}");
        let graph = driver()?.graph(graph)?;
        let object = object(handle)?;
        graph.users.retain(handle, &object.resource, count)?;
        if flags == MOVE
            && let Err(error) = release(handle, count)
        {
            graph.users.release(handle, count)?;
            return Err(error);
        }
        Ok(())
    }

    11030 fn cuGraphReleaseUserObject(graph: Handle, handle: Handle, count: u32) {
        counted(count)?;
        driver()?.graph(graph)?.users.release(handle, count)
    }
}
