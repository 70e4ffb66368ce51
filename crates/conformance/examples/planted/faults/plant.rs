//! Runs a level with a fault, and collects the verdicts with and without a reference.
#![allow(
    unsafe_code,
    reason = "a planted fault is a promise that isn't kept; the emulated GPU looks first"
)]

use std::fmt::Display;
use std::path::Path;

use gpu::transfer::Strategy;
use gpu::{Choice, Compiler, Gpu, KERNELS};
use level2_cuda_naive::{Level2, PerSample, Products};
use level3_cublas::{Gemm, Setup};
use level4_ptx::{Level4, Rung};
use profile::Profile;
use tempfile::TempDir;
use tensor::{Dump, Network, TensorName};
use tensor_diff::{
    Candidate, Deviation, Divergence, PatternKind, RunComparison, compare_runs, judge_run,
    write_page,
};
use training::dump::{Inputs, Steps, header, run};
use training::{Error, Level, Preset, Result, Single};

use super::network::{Change, FaultyNetwork};
use super::{Fault, Planted, code};

#[path = "../../../../level3-cublas/examples/mistaken/mod.rs"]
mod mistaken;

/// The verdicts on a fault.
pub(crate) struct Verdicts {
    /// The level in which the fault was planted.
    pub(crate) level: String,
    /// The first wrong step and tensor, if the dump is judged without a reference.
    pub(crate) alone: Option<(u64, TensorName)>,
    /// The first wrong step and tensor, if the dump is compared with the reference.
    pub(crate) compared: Option<(u64, TensorName)>,
    /// The reading: the mistake by which `tensor-diff` explains the wrong numbers, if it finds one.
    pub(crate) reading: Option<String>,
    reference: Vec<Dump>,
    run: Vec<Dump>,
    found: RunComparison,
}

impl Verdicts {
    /// Whether both verdicts (with and without a reference) name the step and the tensor of the
    /// fault.
    pub(crate) fn is_found(&self, fault: &Fault) -> bool {
        let right = Some((fault.step, fault.tensor));
        self.alone == right && self.compared == right
    }

    /// Whether the reading describes the planted fault.
    pub(crate) fn is_read(&self, fault: &Fault) -> bool {
        self.reading.as_ref().is_some_and(|reading| reading.contains(&fault.reading))
    }

    /// The HTML page of the comparison with the reference, and the worst element of the first wrong
    /// tensor on it.
    pub(crate) fn page(&self) -> (String, Option<Deviation>) {
        let mut page = Vec::new();
        let candidate = [Candidate {
            path: Path::new("planted.json"),
            run: &self.run,
            found: self.found.clone(),
        }];
        let reference = Some((Path::new("reference.json"), &self.reference[..]));
        write_page(&mut page, reference, &candidate, 1.0).expect("memory takes what is written");
        let step = self.found.first_faulty();
        let worst = step.and_then(|step| {
            let tensor = step.first_fault()?.tensor;
            let row = step.comparison.as_ref()?.rows.get(tensor)?;
            let own = step.own.rows.get(tensor).filter(|_| !row.verdict.is_mismatch());
            own.unwrap_or(row).deviation.clone()
        });
        (String::from_utf8(page).expect("a page is text"), worst)
    }
}

/// Plants a fault and runs the steps of its reference. Each run begins with new buffers, and
/// keeps them from step to step.
///
/// # Errors
/// If the fault can't be planted any more, or the level fails.
pub(crate) fn plant(fault: &Fault, gpu: &Gpu) -> Result<Verdicts> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/dumps");
    let reference = Dump::read_run(&folder.join(format!("{}.json", fault.run)))?;
    let mut preset = Preset::find(&reference[0].header.preset)
        .ok_or_else(|| Error::Usage(format!("{} is of no preset", fault.run)))?;
    let inputs = Inputs::from_run(&reference, &mut preset)?;
    let (name, mut level) = level(fault, gpu, &preset.network)?;
    let header = header("planted", "emulated", &preset, 0);
    let steps = Steps { before: 0, dumped: reference.len(), fused: false };
    let found = run(&mut Single(level.as_mut()), &header, &preset, &inputs, steps)?;
    let alone = judge_run(&found, 1.0);
    let compared = compare_runs(&reference, &found, 1.0).map_err(Error::Usage)?;
    let first = |found: &tensor_diff::RunComparison| {
        let step = found.first_faulty()?;
        Some((step.step, step.first_fault()?.tensor))
    };
    let fault = alone.first_faulty().and_then(|step| step.first_fault());
    Ok(Verdicts {
        level: name,
        alone: first(&alone),
        compared: first(&compared),
        reading: fault.and_then(explanation),
        found: compared,
        run: found,
        reference,
    })
}

/// Makes a level with the fault. Returns the level's name in the printed table, and the level.
fn level(fault: &Fault, gpu: &Gpu, network: &Network) -> Result<(String, Box<dyn Level>)> {
    let lost = |name: &str| Error::Usage(format!("faults.toml names {name}, which doesn't exist"));
    let plain = |change| Box::new(FaultyNetwork::new(network, change, fault.tensor));
    Ok(match &fault.planted {
        Planted::Text { file, replace } => {
            if let Some(name) = file.strip_prefix("kernels/") {
                let kernel = KERNELS.iter().find(|kernel| format!("{}.cu", kernel.name) == name);
                let kernel = kernel.ok_or_else(|| lost(file))?.name;
                return Ok((format!("level 2, {name}"), level2(kernel, replace, gpu, network)?));
            }
            let rung = Rung::ALL.into_iter().find(|rung| rung.row().file == file);
            let rung = rung.ok_or_else(|| lost(file))?;
            let ptx = replace_parts(rung, rung.row().ptx, replace)?;
            // SAFETY: the kernels run on the emulated device, which checks each access.
            let level = unsafe { Level4::with_ptx(gpu, network, rung, &ptx) }?;
            (format!("level 4, {rung}"), Box::new(level))
        }
        Planted::Rules { rules } => {
            let mistake = code::find(code::PRODUCT_MISTAKES, rules).ok_or_else(|| lost(rules))?;
            let setup = Setup { gemm: Gemm::Cublas, ..Setup::default() };
            let level = mistaken::level3(gpu, network, setup, mistake);
            ("level 3, cublas".into(), Box::new(level.map_err(Error::level)?))
        }
        Planted::Made { made } => {
            let make = code::find(code::COMPUTATION_MISTAKES, made).ok_or_else(|| lost(made))?;
            ("level 1".into(), plain(Change::Made(make)))
        }
        Planted::Between { between } => {
            let change = code::find(code::UPDATE_MISTAKES, between).ok_or_else(|| lost(between))?;
            ("level 1".into(), plain(Change::Between(change)))
        }
    })
}

/// Level 2 with a changed kernel, which the built-in compiler turns into PTX.
fn level2(
    kernel: &str,
    texts: &[(String, String)],
    gpu: &Gpu,
    network: &Network,
) -> Result<Box<dyn Level>> {
    let folder = kernels(kernel, texts)?;
    let gpu = gpu.clone().compiling_by(Some(Compiler::BuiltIn));
    // SAFETY: the kernels run on the emulated device, which checks each access.
    let gpu = unsafe { gpu.with_kernels(folder.path().to_owned()) };
    let (transfer, profile) = (Strategy::default(), Profile::default());
    if matches!(kernel, "train_step" | "update_weights") {
        let level = PerSample::new(&gpu, network, transfer, profile);
        return Ok(Box::new(level.map_err(Error::level)?));
    }
    let level = Level2::new(&gpu, network, Products::Naive, transfer, profile);
    Ok(Box::new(level.map_err(Error::level)?))
}

fn explanation(fault: &Divergence) -> Option<String> {
    let pattern = fault.pattern.as_ref().filter(|p| p.kind != PatternKind::Unexplained)?;
    Some(pattern.text.clone())
}

/// Replaces parts of a text; each of them has to occur in it.
fn replace_parts(what: impl Display, text: &str, texts: &[(String, String)]) -> Result<String> {
    let mut text = text.to_owned();
    for (old, new) in texts {
        if !text.contains(old.as_str()) {
            return Err(Error::Usage(format!("{what} has no {old:?} any more")));
        }
        text = text.replace(old.as_str(), new);
    }
    Ok(text)
}

/// Makes a folder with all kernels of level 2, one of which is changed.
fn kernels(kernel: &str, texts: &[(String, String)]) -> Result<TempDir> {
    let folder = tempfile::tempdir().map_err(Error::level)?;
    for one in KERNELS {
        let texts = if one.name == kernel { texts } else { &[] };
        let source = replace_parts(one.name, one.source, texts)?;
        let path = folder.path().join(format!("{}.cu", one.name));
        std::fs::write(path, source).map_err(Error::level)?;
    }
    Ok(folder)
}

/// The emulated GPU.
///
/// # Errors
/// If it can't be loaded.
pub(crate) fn device() -> Result<Gpu> {
    Gpu::open(Choice::Emulated).map_err(Error::level)
}
