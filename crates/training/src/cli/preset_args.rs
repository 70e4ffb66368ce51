//! The options that name a preset, override its parts, and choose the images.

use std::ffi::OsString;
use std::num::{IntErrorKind, ParseIntError};
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
    /// Preset for the network and its training; fixtures are for `dump` [default: small].
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
    /// Number of training images to use.
    #[arg(long, value_name = "N", value_parser = positive)]
    samples: Option<usize>,
    /// Shuffle the samples in each epoch.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    shuffle: Option<bool>,
    /// Skip the last batch if it is not full, in training and testing.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    drop_last: Option<bool>,
    /// Pixel normalisation: unit (x/255) or mean-std ((x/255 - 0.1307)/0.3081).
    #[arg(long, value_name = "HOW")]
    normalisation: Option<Normalisation>,
    /// Distribution of the initial parameters: uniform-fan-in, kaiming-uniform or small-normal.
    #[arg(long, value_name = "HOW")]
    initialisation: Option<Initialisation>,
    /// Seed of the parameters and of the order of the samples [default: 1].
    #[arg(long, value_name = "N", value_parser = whole_number::<u64>)]
    seed: Option<u64>,
    /// Report the loss every N batches.
    #[arg(long, value_name = "N", value_parser = positive)]
    report_every: Option<usize>,
    /// Measure the test accuracy every N batches.
    #[arg(long, value_name = "N", value_parser = positive)]
    evaluate_every: Option<usize>,
    /// Stop once the test accuracy exceeds FRACTION, such as 0.6; needs --evaluate-every.
    #[arg(long, value_name = "FRACTION", value_parser = fraction)]
    stop_at_accuracy: Option<f64>,
    /// Stop after N batches.
    #[arg(long, value_name = "N", value_parser = positive)]
    max_batches: Option<usize>,
}

impl PresetArgs {
    /// The preset that the command line names, or the default preset, with the parts that options override.
    pub(crate) fn preset(&self) -> Result<Preset> {
        self.preset_or(|| Ok(Preset::presets().remove(0)))
    }

    /// As [`preset`](Self::preset), with another default.
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
        macro_rules! set {
            ($($field:ident)*) => {
                $(if let Some(value) = self.$field {
                    preset.$field = value;
                })*
            };
        }
        if let Some(Sizes(sizes)) = &self.sizes {
            preset.network = Network { sizes: sizes.clone(), loss: preset.network.loss };
        }
        preset.network.loss = self.loss.unwrap_or(preset.network.loss);
        set!(batch_size learning_rate epochs samples shuffle drop_last normalisation initialisation);
        set!(seed report_every);
        preset.evaluate_every = self.evaluate_every.or(preset.evaluate_every);
        preset.stop_at_accuracy = self.stop_at_accuracy.or(preset.stop_at_accuracy);
        preset.max_batches = self.max_batches.or(preset.max_batches);
        if preset.stop_at_accuracy.is_some() && preset.evaluate_every.is_none() {
            return Err(Error::Usage(
                "--stop-at-accuracy needs tests during training: add --evaluate-every N".into(),
            ));
        }
        Ok(())
    }
}

/// The source of the images.
#[derive(Args, Clone)]
#[command(next_help_heading = "Data")]
pub(crate) struct DataArgs {
    /// auto: MNIST if it is found or can be downloaded, otherwise the built-in digits; mnist;
    /// digits.
    #[arg(long, value_name = "SOURCE", default_value = "auto")]
    data: Source,
    /// Folder with the four MNIST files (empty: not set).
    #[arg(long, value_name = "DIR", env = "MNIST_DIR", hide_env_values = true,
          value_hint = ValueHint::DirPath)]
    data_dir: Option<OsString>,
}

impl DataArgs {
    /// Loads the images, and checks that the network fits them. Notes about the images' source are only printed if this
    /// process `leads`.
    pub(crate) fn load(&self, network: &Network, counts: Counts, leads: bool) -> Result<Digits> {
        if network.inputs() != 28 * 28 || network.outputs() != 10 {
            return Err(Error::Usage(format!(
                "the images have 784 pixels and 10 classes, but the network is {network}: \
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

/// Accepts the names of presets and fixtures. Former names are accepted too, but help doesn't list them.
fn preset_name() -> PossibleValuesParser {
    let names = Preset::names().into_iter().map(|name| {
        let of_it = |(former, current)| (current == name).then_some(former);
        let former: Vec<&str> = FORMER_PRESET_NAMES.into_iter().filter_map(of_it).collect();
        PossibleValue::new(name).aliases(former)
    });
    names.into()
}

/// Layer sizes, in a new type because clap would treat a `Vec` as a repeated option.
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

/// Parses a whole number for an option.
///
/// # Errors
/// If the text is not a whole number, or is out of the type's range. The error is the reason, for clap's message.
pub fn whole_number<T: FromStr<Err = ParseIntError>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow => "it is too large".into(),
        _ if text.parse::<i128>().is_ok() => "it has to be at least 0".into(),
        _ => format!("`{text}` is not a whole number"),
    })
}

/// Parses a whole number of at least 1.
pub(crate) fn positive(text: &str) -> Result<usize, String> {
    if text.parse::<i128>().is_ok_and(|number| number < 1) {
        return Err("it has to be at least 1".into());
    }
    whole_number(text)
}

fn learning_rate(text: &str) -> Result<f32, String> {
    parse(text, |rate| rate.is_finite() && *rate > 0.0, "it has to be a finite number above 0")
}

fn fraction(text: &str) -> Result<f64, String> {
    let expected = "it has to be a fraction from 0 up to 1, such as 0.6";
    parse(text, |fraction| (0.0..1.0).contains(fraction), expected)
}

/// Parses a number for which `is_valid` holds.
fn parse<T: FromStr>(text: &str, is_valid: fn(&T) -> bool, expected: &str) -> Result<T, String> {
    let number = text.parse().map_err(|_| format!("`{text}` is not a number"))?;
    if is_valid(&number) { Ok(number) } else { Err(expected.into()) }
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
    fn invalid_whole_numbers_are_refused_with_the_reason() {
        let large = "99999999999999999999";
        for (text, reason) in [
            ("0", "it has to be at least 1"),
            ("-1", "it has to be at least 1"),
            ("two", "`two` is not a whole number"),
            ("1.5", "`1.5` is not a whole number"),
            ("", "`` is not a whole number"),
            (large, "it is too large"),
        ] {
            assert_eq!(positive(text), Err(reason.into()), "{text}");
        }
        assert_eq!(whole_number::<u64>("-1"), Err("it has to be at least 0".into()));
        assert_eq!(whole_number::<u64>("two"), Err("`two` is not a whole number".into()));
        assert_eq!((positive("1"), whole_number("0")), (Ok(1), Ok(0_u64)));
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        for bad in ["0", "-1", "NaN", "inf", "x"] {
            assert!(learning_rate(bad).is_err(), "{bad}");
        }
        for bad in ["1", "-0.1", "NaN", "60%"] {
            assert!(fraction(bad).is_err(), "{bad}");
        }
    }
}
