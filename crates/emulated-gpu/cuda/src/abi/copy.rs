//! Two- and three-dimensional copies (`CUDA_MEMCPY2D`, `CUDA_MEMCPY3D`): source, destination and extent.

use std::ffi::c_int;

pub(crate) use c_abi::{Copy3d, Side3d};

use crate::abi::{Handle, Pointer};

/// The source or the destination of a `CUDA_MEMCPY2D`: its fields that begin with `src`, or with `dst`.
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

impl Side2d {
    fn in_space(self) -> Side3d {
        let Self { x, y, kind, host, device, array, pitch } = self;
        Side3d { x, y, kind, host, device, array, pitch, ..Side3d::default() }
    }
}

impl Copy2d {
    /// Converts the copy to a three-dimensional one with a depth of 1.
    pub(crate) fn in_space(self) -> Copy3d {
        let Self { from, to, width, height } = self;
        Copy3d { from: from.in_space(), to: to.in_space(), width, height, depth: 1 }
    }
}
