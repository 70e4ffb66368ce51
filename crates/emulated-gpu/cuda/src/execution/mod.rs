//! Kernels as functions: attributes, occupancy, and launches.

pub(crate) mod function;
pub(crate) mod image;
pub(crate) mod launch;
pub(crate) mod legacy;
pub(crate) mod occupancy;
