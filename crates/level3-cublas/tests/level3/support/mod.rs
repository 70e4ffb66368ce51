//! Functions that several tests use.

#![allow(dead_code, reason = "each file of tests uses a part")]

use gpu::Gpu;
use level1_cpu::{Form, Level1};
use level3_cublas::{Gemm, Level3, Setup};
use profile::Profile;
use tensor::{Dtype, Dump};
use training::dump::{Inputs, dump, header};
use training::{Level, Preset};

pub(crate) const GEMMS: [Gemm; 2] = [Gemm::Cublas, Gemm::Cublaslt];

pub(crate) fn level3(gpu: &Gpu, preset: &Preset, setup: Setup) -> Level3 {
    Level3::new(gpu, &preset.network, setup, Profile::default()).unwrap()
}

/// Runs one step of a level on a fixture's random inputs, phase by phase or as training does.
pub(crate) fn try_step(
    level: &mut dyn Level,
    preset: &Preset,
    fused: bool,
) -> training::Result<Dump> {
    dump(level, header("test", "test", preset, 0), preset, &Inputs::fixture(preset), fused)
}

/// Dumps one step of level 3.
pub(crate) fn step(gpu: &Gpu, preset: &Preset, setup: Setup, fused: bool) -> Dump {
    let mut dump = try_step(&mut level3(gpu, preset, setup), preset, fused).unwrap();
    if setup.tf32 {
        dump.header.dtype = Dtype::Tf32;
    }
    dump
}

/// Dumps one step of level 1, the reference for any network and batch size.
pub(crate) fn blueprint(preset: &Preset) -> Dump {
    try_step(&mut Level1::new(&preset.network, Form::Textbook), preset, false).unwrap()
}

pub(crate) fn not_materialised(dump: &Dump) -> Vec<String> {
    dump.header.not_materialised.iter().map(ToString::to_string).collect()
}
