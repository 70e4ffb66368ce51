//! Consecutive training steps, which have to stay close to level 1's.
//!
//! The rounding errors of one step are in the next one's input, so no bound follows from a single step's arithmetic.
//! Instead, the two levels' parameters may differ by a small fraction of the distance that the parameters have moved,
//! plus one rounding for each update.

use data::{Dataset, Epoch};
use level1_cpu::{Form, Level1};
use tensor::{Dtype, Tensor};
use training::dump::Inputs;
use training::train::{advance, parameters};
use training::{Parameters, Preset, PresetKind, Result, Runner, Single};

use crate::check::{Case, Expected};

/// The number of training steps in a run.
pub const STEPS: usize = 10;

/// The number of samples in a batch: few, so that the emulated GPU is quick. Other checks have full batches.
const BATCH: usize = 8;

/// The parameters and the loss at the end of a run.
pub(crate) struct Trained {
    parameters: Parameters,
    loss: f32,
}

/// Ten steps of level 1: nine full batches, in the preset's order, and a smaller one.
pub(crate) fn case(preset: Preset) -> Result<Case> {
    let samples = STEPS * BATCH - BATCH / 2;
    // The random inputs of a fixture, which are normally a single batch, are the whole training set here.
    let noise = Preset { kind: PresetKind::Fixture, batch_size: samples, samples, ..preset };
    let inputs = Inputs::fixture(&noise);
    let preset = Preset { batch_size: BATCH, ..noise };
    let mut level1 = Level1::new(&preset.network, Form::Textbook);
    let trained = train(&mut Single(&mut level1), &preset, &inputs)?;
    let name = format!("{}, {STEPS} steps", preset.network);
    Ok(Case { name, preset, inputs, expected: Expected::Trained(trained) })
}

/// Trains as the training loop does, with several batches in one call if the level supports that. It only reads from
/// the level at the end, because reading waits for the device, and waiting would hide missing synchronisation.
pub(crate) fn train(runner: &mut dyn Runner, preset: &Preset, inputs: &Inputs) -> Result<Trained> {
    let set: &Dataset = &inputs.set;
    let order = if preset.shuffle {
        Epoch::shuffled(set.len(), preset.batch_size, false, preset.seed, 0)
    } else {
        Epoch::in_order(set.len(), preset.batch_size, false)
    };
    runner.level().dataset(set)?;
    runner.level().set_parameters(&inputs.parameters)?;
    advance(runner, &order, set, 0..order.batches(), preset.learning_rate)?;
    let loss = runner.level().loss()?;
    Ok(Trained { parameters: parameters(runner.level(), &preset.network)?, loss })
}

/// Describes how a run's parameters and loss differ from the expected ones, if they differ by more than allowed.
pub(crate) fn difference_beyond_tolerance(
    expected: &Trained,
    found: &Trained,
    start: &Parameters,
    dtype: Dtype,
) -> Option<String> {
    // On the emulated GPU, the largest difference in f32 is 4·10⁻⁶ of the distance that the parameters moved. TF32
    // rounds the inputs of products to 2⁻¹¹ instead of 2⁻²⁴, which occasionally changes the sign of a z, so 2 % are
    // allowed. bfloat16 rounds them to 2⁻⁸, so 10 % are allowed.
    let part = match dtype {
        Dtype::Bf16 => 0.3,
        Dtype::Tf32 => 0.1,
        Dtype::F32 | Dtype::F64 => 1e-4,
    };
    let layers = expected.parameters.layers.iter().zip(&found.parameters.layers);
    for (l, ((expected, found), start)) in (1..).zip(layers.zip(&start.layers)) {
        for (name, expected, found, start) in
            [("w", &expected.w, &found.w, &start.w), ("b", &expected.b, &found.b, &start.b)]
        {
            let way = distance(expected, start);
            let rounding = 2.0 * STEPS as f64 * f64::from(f32::EPSILON) / 2.0 * norm(expected);
            let difference = distance(expected, found);
            let allowed = part * way + rounding;
            if difference.is_nan() || difference > allowed {
                return Some(format!(
                    "after {STEPS} steps {name}{l} is {difference:.3e} from level 1's, and may be \
                     {allowed:.3e}, having gone {way:.3e}; `dump --steps {STEPS} --out run.json` and \
                     `tensor-diff run.json` show in which step and tensor it begins"
                ));
            }
        }
    }
    let (e, f) = (f64::from(expected.loss), f64::from(found.loss));
    let difference = (e - f).abs();
    (difference.is_nan() || difference > part * e.abs().max(1.0))
        .then(|| format!("the loss of the last step is {f}, and level 1's is {e}"))
}

/// The Euclidean distance of two tensors; NaN if their shapes differ.
fn distance(a: &Tensor, b: &Tensor) -> f64 {
    if a.shape() != b.shape() {
        return f64::NAN;
    }
    let squares =
        a.data().iter().zip(b.data()).map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2));
    squares.sum::<f64>().sqrt()
}

fn norm(a: &Tensor) -> f64 {
    a.data().iter().map(|a| f64::from(*a).powi(2)).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trained(preset: &Preset, change: impl Fn(&mut Parameters, &mut f32)) -> Trained {
        let mut one = case(preset.clone()).unwrap();
        let Expected::Trained(trained) = &mut one.expected else { unreachable!("made above") };
        change(&mut trained.parameters, &mut trained.loss);
        Trained { parameters: trained.parameters.clone(), loss: trained.loss }
    }

    /// The runs that must be noticed have a missing update, a wrong learning rate, and a NaN.
    #[test]
    fn what_went_another_way_is_noticed() {
        for preset in Preset::presets() {
            let start = case(preset.clone()).unwrap().inputs.parameters;
            let expected = trained(&preset, |_, _| {});
            let apart = |change: &dyn Fn(&mut Parameters, &mut f32)| {
                difference_beyond_tolerance(
                    &expected,
                    &trained(&preset, change),
                    &start,
                    Dtype::F32,
                )
            };
            assert_eq!(apart(&|_, _| {}), None);
            let name = &preset.name;
            let last = start.layers.len() - 1;
            let said = apart(&|p, _| p.layers[last].b = start.layers[last].b.clone());
            let tensor = format!("b{}", last + 1);
            assert!(said.is_some_and(|said| said.contains(&tensor)), "{name}: no update of b");
            let said = apart(&|p, _| {
                let start = start.layers[0].w.data();
                for (w, start) in p.layers[0].w.data_mut().iter_mut().zip(start) {
                    *w = start + 1.01 * (*w - start);
                }
            });
            assert!(said.is_some_and(|said| said.contains("w1")), "{name}: 1 % too far");
            assert!(apart(&|p, _| p.layers[0].w.data_mut()[0] = f32::NAN).is_some(), "{name}");
            assert!(apart(&|_, loss| *loss = f32::NAN).is_some(), "{name}");
            assert!(apart(&|_, loss| *loss += 0.01).is_some(), "{name}");
        }
    }
}
