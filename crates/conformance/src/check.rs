//! The checks that a level has to pass, and their cases.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use level1_cpu::{Form, Level1};
use serde::Serialize;
use tensor::{Dump, Loss, Network};
use training::dump::{Inputs, dump, header};
use training::{Error, Preset, PresetKind, Result};

/// One check of the suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// One step of every fixture agrees with the dump that PyTorch made in double precision.
    References,
    /// Three training steps of each loss agree with PyTorch's, tensor by tensor, with the same
    /// buffers from step to step.
    Steps,
    /// One step of every preset's network, on a batch of its size, agrees with level 1.
    Presets,
    /// Networks and batches whose sizes aren't multiples of a tile, a block or a warp agree with level 1.
    OddShapes,
    /// One step of every preset's network on a single sample agrees with level 1.
    BatchOfOne,
    /// Ten training steps, the last with a smaller batch, end with the same parameters as level 1's.
    TenSteps,
}

impl Check {
    /// The cases of the check. `dumps` is the folder of the reference dumps.
    ///
    /// # Errors
    /// If a reference dump can't be read.
    pub fn cases(self, dumps: &Path) -> Result<Vec<Case>> {
        let presets = Preset::presets().into_iter();
        match self {
            Self::References => {
                Preset::fixtures().iter().map(|one| reference(one, dumps)).collect()
            }
            Self::Steps => {
                ["softmax", "bce", "squared-error"].iter().map(|name| steps(name, dumps)).collect()
            }
            Self::Presets => presets.map(against_level1).collect(),
            Self::OddShapes => odd_shapes().into_iter().map(against_level1).collect(),
            Self::BatchOfOne => {
                presets.map(|preset| against_level1(Preset { batch_size: 1, ..preset })).collect()
            }
            Self::TenSteps => presets.map(crate::steps::case).collect(),
        }
    }
}

data::written_by_name!(
    Check,
    "check",
    References: "references",
    Steps: "steps",
    Presets: "presets",
    OddShapes: "odd-shapes",
    BatchOfOne: "batch-of-one",
    TenSteps: "ten-steps",
);

/// A case of a check: a network, its inputs, and the expected result.
pub struct Case {
    /// The case's name in messages.
    pub name: String,
    pub(crate) preset: Preset,
    pub(crate) inputs: Inputs,
    pub(crate) expected: Expected,
}

/// The expected result of a case.
pub(crate) enum Expected {
    /// The expected values of every tensor of one step.
    Step(Box<Dump>),
    /// The expected values of every tensor of several steps.
    Run(Vec<Dump>),
    /// The expected parameters and last loss after several steps.
    Trained(crate::steps::Trained),
}

/// The case of one step of a fixture, with PyTorch's results.
fn reference(preset: &Preset, dumps: &Path) -> Result<Case> {
    let path = find(&preset.name, dumps)?;
    let expected = Dump::read(&path)?;
    let mut preset = preset.clone();
    let inputs = Inputs::from_dump(&expected, &mut preset)
        .map_err(|error| Error::Read { path, reason: error.to_string() })?;
    Ok(Case {
        name: preset.name.clone(),
        preset,
        inputs,
        expected: Expected::Step(Box::new(expected)),
    })
}

/// The case of three steps with a fixture's loss, with PyTorch's results.
fn steps(fixture: &str, dumps: &Path) -> Result<Case> {
    let name = format!("{fixture}-steps");
    let path = find(&name, dumps)?;
    let expected = Dump::read_run(&path)?;
    let mut preset = Preset::find(fixture)
        .ok_or_else(|| Error::Usage(format!("there is no fixture {fixture}")))?;
    let inputs = Inputs::from_run(&expected, &mut preset)
        .map_err(|error| Error::Read { path, reason: error.to_string() })?;
    Ok(Case { name, preset, inputs, expected: Expected::Run(expected) })
}

/// The file of a reference, plain or gzipped.
fn find(name: &str, dumps: &Path) -> Result<PathBuf> {
    [".json", ".json.gz"]
        .map(|end| dumps.join(format!("{name}{end}")))
        .into_iter()
        .find(|path| path.exists())
        .ok_or_else(|| {
            Error::Usage(format!(
                "there is no {name}.json in {}: name the folder of the reference dumps with --dumps",
                host::shown(dumps)
            ))
        })
}

/// The case of a step on random inputs, with the results of level 1, which computes one operation at a time.
fn against_level1(preset: Preset) -> Result<Case> {
    let preset = Preset { kind: PresetKind::Fixture, samples: preset.batch_size, ..preset };
    let inputs = Inputs::fixture(&preset);
    let mut level1 = Level1::new(&preset.network, Form::Textbook);
    let header = header("level1-cpu", "cpu", &preset, 0);
    let expected = dump(&mut level1, header, &preset, &inputs, false)?;
    let name = format!("{}, batch {}", preset.network, preset.batch_size);
    Ok(Case { name, preset, inputs, expected: Expected::Step(Box::new(expected)) })
}

/// Networks with odd sizes, for each loss: a single layer, one unit, one sample, prime numbers, more classes than a
/// warp has lanes, four layers, and batch sizes close to such limits.
fn odd_shapes() -> Vec<Preset> {
    let shapes = [
        (vec![784, 10], 70),
        (vec![784, 1, 10], 3),
        (vec![3, 5, 7, 2], 129),
        (vec![37, 129, 65, 43], 67),
        (vec![64, 36, 33, 20, 34], 33),
        (vec![1, 1], 1),
    ];
    let fixture = Preset::fixtures().remove(0);
    let with = |loss| {
        shapes.clone().map(|(sizes, batch_size)| Preset {
            network: Network { sizes, loss },
            batch_size,
            ..fixture.clone()
        })
    };
    Loss::ALL.into_iter().flat_map(with).collect()
}
