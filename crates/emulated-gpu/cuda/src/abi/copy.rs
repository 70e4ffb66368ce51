//! Copies of rows and slices, as C describes them: two ends of one shape, and how much is copied.

use std::ffi::c_int;

use crate::abi::{Handle, Pointer};

/// What a `CUDA_MEMCPY2D` says of one end: its fields that begin with `src`, or with `dst`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Side2d {
    pub(crate) x: usize,
    pub(crate) y: usize,
    pub(crate) kind: c_int,
    pub(crate) host: usize,
    pub(crate) device: Pointer,
    pub(crate) array: Handle,
    pub(crate) pitch: usize,
}

/// `CUDA_MEMCPY2D`
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Copy2d {
    pub(crate) from: Side2d,
    pub(crate) to: Side2d,
    pub(crate) width: usize,
    pub(crate) height: usize,
}

/// What a `CUDA_MEMCPY3D` says of one end. A `CUDA_MEMCPY3D_PEER` has a context where the other has a
/// reserved word.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Side3d {
    pub(crate) x: usize,
    pub(crate) y: usize,
    pub(crate) z: usize,
    pub(crate) level: usize,
    pub(crate) kind: c_int,
    pub(crate) host: usize,
    pub(crate) device: Pointer,
    pub(crate) array: Handle,
    pub(crate) context: Handle,
    pub(crate) pitch: usize,
    pub(crate) height: usize,
}

/// `CUDA_MEMCPY3D` and `CUDA_MEMCPY3D_PEER`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copy3d {
    pub(crate) from: Side3d,
    pub(crate) to: Side3d,
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) depth: usize,
}

impl From<Side2d> for Side3d {
    fn from(side: Side2d) -> Self {
        let Side2d { x, y, kind, host, device, array, pitch } = side;
        Self { x, y, kind, host, device, array, pitch, ..Self::default() }
    }
}

/// The same copy, of one slice.
impl From<Copy2d> for Copy3d {
    fn from(copy: Copy2d) -> Self {
        let Copy2d { from, to, width, height } = copy;
        Self { from: from.into(), to: to.into(), width, height, depth: 1 }
    }
}
