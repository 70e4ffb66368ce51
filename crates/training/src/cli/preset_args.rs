//! The options that name a preset, override its parts, and say where the images come from.

use std::ffi::OsString;
use std::path::Path;
use std::str::FromStr;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, ValueHint};
use data::{Counts, Dataset, Digits, Normalisation, Source};
use tensor::{FORMER_PRESET_NAMES, Loss, Network};

use crate::{Error, Initialisation, Preset, Result};

/// A preset, and an option for each part of it.
#[derive(Args, Clone)]
#[command(next_help_heading = "Preset")]
pub(crate) struct PresetArgs {
    /// The network and its training, by name; the fixtures are for `dump` [default: small].
    #[arg(long, value_name = "NAME", value_parser = preset_name())]
    preset: Option<String>,
    /// Layer sizes, inputs first, such as 784-30-10.
    #[arg(long, value_name = "N-N-N", value_parser = sizes)]
    sizes: Option<Sizes>,
    /// Loss: cross-entropy, bce or squared-error.
    #[arg(long, value_parser = loss)]
    loss: Option<Loss>,
    /// Samples in a batch.
    #[arg(long, value_name = "N", value_parser = positive)]
    batch_size: Option<usize>,
    /// Learning rate.
    #[arg(long, value_name = "RATE", value_parser = learning_rate)]
    learning_rate: Option<f32>,
    /// Passes over the samples.
    #[arg(long, value_name = "N", value_parser = positive)]
    epochs: Option<usize>,
    /// How many training images are used.
    #[arg(long, value_name = "N", value_parser = positive)]
    samples: Option<usize>,
    /// Give each epoch an order of its own.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    shuffle: Option<bool>,
    /// Leave out a last batch that is not full, in training and testing.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    drop_last: Option<bool>,
    /// What becomes of a pixel: unit (x/255) or mean-std ((x/255 - 0.1307)/0.3081).
    #[arg(long, value_name = "HOW")]
    normalisation: Option<Normalisation>,
    /// How parameters are drawn: uniform-fan-in, kaiming-uniform or small-normal.
    #[arg(long, value_name = "HOW")]
    initialisation: Option<Initialisation>,
    /// Seed of the parameters and of the order of the samples [default: 1].
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Report the loss once in this many batches.
    #[arg(long, value_name = "N", value_parser = positive)]
    report_every: Option<usize>,
    /// Take the test accuracy once in this many batches.
    #[arg(long, value_name = "N", value_parser = positive)]
    evaluate_every: Option<usize>,
    /// Stop when the test accuracy passes this fraction, such as 0.6; needs --evaluate-every.
    #[arg(long, value_name = "FRACTION", value_parser = fraction)]
    stop_at_accuracy: Option<f64>,
    /// Stop after this many batches.
    #[arg(long, value_name = "N", value_parser = positive)]
    max_batches: Option<usize>,
}

impl PresetArgs {
    /// The preset with what the command line overrides.
    pub(crate) fn preset(&self) -> Result<Preset> {
        self.preset_or(|| Ok(Preset::presets().remove(0)))
    }

    /// The same, with another preset where the command line names none.
    pub(crate) fn preset_or(&self, default: impl FnOnce() -> Result<Preset>) -> Result<Preset> {
        let mut preset = match &self.preset {
            Some(name) => Preset::find(name)
                .ok_or_else(|| Error::Usage(format!("there is no preset {name}")))?,
            None => default()?,
        };
        self.apply_to(&mut preset)?;
        Ok(preset)
    }

    /// Overrides the parts of a preset that the command line names.
    pub(crate) fn apply_to(&self, preset: &mut Preset) -> Result<()> {
        fn set<T: Clone>(field: &mut T, option: &Option<T>) {
            if let Some(value) = option {
                field.clone_from(value);
            }
        }
        if let Some(Sizes(sizes)) = &self.sizes {
            preset.network = Network { sizes: sizes.clone(), loss: preset.network.loss };
        }
        set(&mut preset.network.loss, &self.loss);
        set(&mut preset.batch_size, &self.batch_size);
        set(&mut preset.learning_rate, &self.learning_rate);
        set(&mut preset.epochs, &self.epochs);
        set(&mut preset.samples, &self.samples);
        set(&mut preset.shuffle, &self.shuffle);
        set(&mut preset.drop_last, &self.drop_last);
        set(&mut preset.normalisation, &self.normalisation);
        set(&mut preset.initialisation, &self.initialisation);
        set(&mut preset.seed, &self.seed);
        set(&mut preset.report_every, &self.report_every);
        if self.evaluate_every.is_some() {
            preset.evaluate_every = self.evaluate_every;
        }
        if self.stop_at_accuracy.is_some() {
            preset.stop_at_accuracy = self.stop_at_accuracy;
        }
        if self.max_batches.is_some() {
            preset.max_batches = self.max_batches;
        }
        if preset.stop_at_accuracy.is_some() && preset.evaluate_every.is_none() {
            return Err(Error::Usage(
                "--stop-at-accuracy needs to know when to test: add --evaluate-every N".into(),
            ));
        }
        Ok(())
    }
}

/// Where the images come from.
#[derive(Args, Clone)]
#[command(next_help_heading = "Data")]
pub(crate) struct DataArgs {
    /// auto: MNIST where it is found or can be downloaded, else the built-in digits; mnist;
    /// digits.
    #[arg(long, value_name = "SOURCE", default_value = "auto")]
    data: Source,
    /// Folder of the four MNIST files; an empty name counts as none.
    #[arg(long, value_name = "DIR", env = "MNIST_DIR", hide_env_values = true,
          value_hint = ValueHint::DirPath)]
    data_dir: Option<OsString>,
}

impl DataArgs {
    /// Loads the images, and checks that the network fits them. Notes on where they come from are
    /// printed if this process `leads`.
    pub(crate) fn load(&self, network: &Network, counts: Counts, leads: bool) -> Result<Digits> {
        if network.inputs() != 28 * 28 || network.outputs() != 10 {
            return Err(Error::Usage(format!(
                "the images have 784 pixels and 10 classes, and the network is {network}: \
                 --sizes has to begin with 784 and end with 10"
            )));
        }
        let folder = self.data_dir.as_deref().filter(|folder| !folder.is_empty()).map(Path::new);
        Ok(data::load(self.data, folder, counts, &mut |notice| {
            if leads {
                host::complain(format_args!("note: {notice}"));
            }
        })?)
    }
}

/// Both sets, normalised.
pub(crate) fn datasets(digits: &Digits, preset: &Preset) -> (Dataset, Dataset) {
    let normalised = |images| Dataset::new(images, preset.normalisation);
    (normalised(&digits.train), normalised(&digits.test))
}

/// The names of presets and fixtures; the former ones are accepted too, and not listed.
fn preset_name() -> PossibleValuesParser {
    let names = Preset::names().into_iter().map(|name| {
        let of_it = |(former, current)| (current == name).then_some(former);
        let former: Vec<&str> = FORMER_PRESET_NAMES.into_iter().filter_map(of_it).collect();
        PossibleValue::new(name).aliases(former)
    });
    names.into()
}

/// Layer sizes; a type of its own, since clap would take a list for a repeated option.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Sizes(Vec<usize>);

fn sizes(text: &str) -> Result<Sizes, String> {
    let sizes: Vec<usize> = text
        .split(['-', ','])
        .map(positive)
        .collect::<Result<_, _>>()
        .map_err(|error| format!("{error}; expected layer sizes such as 784-30-10"))?;
    if sizes.len() < 2 {
        return Err("a network has at least inputs and outputs, such as 784-10".into());
    }
    let parameters = sizes
        .windows(2)
        .try_fold(0_usize, |sum, n| n[0].checked_add(1)?.checked_mul(n[1])?.checked_add(sum));
    if parameters.is_none_or(|count| count > 1 << 28) {
        return Err("these layers have more than 2^28 parameters".into());
    }
    Ok(Sizes(sizes))
}

fn loss(text: &str) -> Result<Loss, String> {
    Loss::ALL
        .into_iter()
        .find(|loss| loss.name() == text)
        .ok_or_else(|| format!("expected one of {}", Loss::ALL.map(Loss::name).join(", ")))
}

/// A whole number from 1.
pub(crate) fn positive(text: &str) -> Result<usize, String> {
    match usize::from_str(text) {
        Ok(0) => Err("it has to be at least 1".into()),
        Ok(number) => Ok(number),
        Err(error) => Err(error.to_string()),
    }
}

fn learning_rate(text: &str) -> Result<f32, String> {
    match f32::from_str(text) {
        Ok(rate) if rate.is_finite() && rate > 0.0 => Ok(rate),
        Ok(_) => Err("it has to be a finite number above 0".into()),
        Err(error) => Err(error.to_string()),
    }
}

fn fraction(text: &str) -> Result<f64, String> {
    match f64::from_str(text) {
        Ok(fraction) if (0.0..1.0).contains(&fraction) => Ok(fraction),
        Ok(_) => Err("it has to be a fraction from 0 up to 1, such as 0.6".into()),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_dashes_or_commas() {
        assert_eq!(sizes("784-30-10"), Ok(Sizes(vec![784, 30, 10])));
        assert_eq!(sizes("784,30,10"), Ok(Sizes(vec![784, 30, 10])));
        for bad in ["", "784", "784-0-10", "784-x-10", "99999999999-99999999999", "-5-3"] {
            assert!(sizes(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn numbers_that_make_no_sense_are_refused() {
        for bad in ["0", "-1", "NaN", "inf", "x"] {
            assert!(learning_rate(bad).is_err(), "{bad}");
        }
        for bad in ["1", "-0.1", "NaN", "60%"] {
            assert!(fraction(bad).is_err(), "{bad}");
        }
    }
}
