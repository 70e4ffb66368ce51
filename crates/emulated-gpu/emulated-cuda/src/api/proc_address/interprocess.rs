//! Those that are about other processes.

use std::ffi::c_void;

use crate::api::interprocess;

use super::{Entry, table};

table! {
    /// The functions of memory and events that several processes have.
    rows:
    "cuIpcCloseMemHandle" 4010 interprocess::cuIpcCloseMemHandle;
    "cuIpcGetEventHandle" 4010 interprocess::cuIpcGetEventHandle;
    "cuIpcGetMemHandle" 4010 interprocess::cuIpcGetMemHandle;
    "cuIpcOpenEventHandle" 4010 interprocess::cuIpcOpenEventHandle;
    "cuIpcOpenMemHandle" 4010 interprocess::cuIpcOpenMemHandle_v2;
}
