//! The command `predict`, which recognises digits.

use data::{Batch, CLASSES, Counts, Dataset, Epoch, PIXELS};
use tensor::TensorName;

use super::commands::print_report;
use super::preset_args::datasets;
use super::{LevelProgram, PredictArgs, outputs};
use crate::{Console, Error, Level, Result, checkpoint, picture, train};

/// Recognises the digits of pictures, or of test images if no picture is named.
pub(super) fn predict(args: &PredictArgs, program: &dyn LevelProgram) -> Result<()> {
    outputs::check(&outputs::of_level(program, None))?;
    let saved = checkpoint::Checkpoint::read(&args.load)?;
    let preset = args.preset.preset_or(|| saved.preset())?;
    let parameters = saved.parameters(&preset.network)?;
    if (preset.network.inputs(), preset.network.outputs()) != (PIXELS, CLASSES) {
        let network = &preset.network;
        let reason = format!(
            "it is for the network {network}, but pictures of digits have {PIXELS} pixels and \
             {CLASSES} classes"
        );
        return Err(Error::Read { path: args.load.clone(), reason });
    }
    let console = Console::new(false);
    let mut level = program.level(&preset.network)?;
    level.set_parameters(&parameters)?;
    if args.pictures.is_empty() {
        let counts = Counts { train: 1, test: args.count };
        let digits = args.data.load(&preset.network, counts, true)?;
        let (_, set) = datasets(&digits, &preset);
        console.line(&format!("test images of {}", digits.origin))?;
        let order = Epoch::in_order(set.len(), set.len(), false);
        let batch = order.batch(&set, 0);
        let answers = answers(level.as_mut(), &batch)?;
        for (i, ((digit, p), label)) in answers.iter().zip(batch.labels()).enumerate() {
            let verdict = if *digit == label { "" } else { "   wrong" };
            console.line(&format!(
                "image {i:>5}   label {label}   predicted {digit}   p {p:.3}{verdict}"
            ))?;
        }
    } else {
        let mut x = Vec::new();
        for path in &args.pictures {
            let pixels = picture::read_digit(path)?;
            x.extend(pixels.iter().map(|&pixel| preset.normalisation.apply(pixel)));
        }
        // The labels of pictures are unknown; these zeros are never used.
        let labels = vec![0; args.pictures.len()];
        let (inputs, classes) = (preset.network.inputs(), preset.network.outputs());
        let set = Dataset::from_rows(x, labels, inputs, classes)?;
        let order = Epoch::in_order(set.len(), set.len(), false);
        let answers = answers(level.as_mut(), &order.batch(&set, 0))?;
        for (path, (digit, p)) in args.pictures.iter().zip(answers) {
            console.line(&format!("{}: {digit}   p {p:.3}", host::shown(path)))?;
        }
    }
    print_report(&console, level.as_mut(), None)
}

/// The predicted digit of each sample, and the output `p` of that digit.
fn answers(level: &mut dyn Level, batch: &Batch<'_>) -> Result<Vec<(u8, f32)>> {
    let digits = train::predict(level, batch)?;
    let p = level.tensor(TensorName::P)?.map(tensor::Tensor::into_data).unwrap_or_default();
    let rows = p.chunks_exact(p.len() / digits.len());
    Ok(digits.into_iter().zip(rows).map(|(digit, row)| (digit, row[usize::from(digit)])).collect())
}
