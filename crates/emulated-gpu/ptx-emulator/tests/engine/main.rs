//! The engine through its public API: small PTX programs, with the values that the ISA gives.

mod again;
mod allocations;
mod arithmetic;
mod atomics;
mod calls;
mod collectives;
mod conditions;
mod control;
mod cube_maps;
mod faults;
mod interprocess;
mod launches;
mod linking;
mod locals;
mod memory;
mod objects;
mod patterns;
mod printing;
mod resources;
mod robust;
mod sanitizer;
mod texture_faults;
mod textures;
mod work;

use emulated_gpu_test_support::ptx;
