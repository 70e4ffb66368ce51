//! Kernels as functions: their attributes, their occupancy, and the checks of a launch.

pub(crate) mod function;
pub(crate) mod image;
pub(crate) mod launch;
pub(crate) mod occupancy;
