//! Tests of the built-in digits: they are the same bytes everywhere, and neither too easy nor too hard.

use std::collections::HashSet;

use data::{Batch, Counts, Dataset, Digits, Epoch, Images, Normalisation, Source};
use sha2::{Digest, Sha256};

fn draw_digits(train: usize, test: usize) -> Digits {
    data::load(Source::Digits, None, Counts { train, test }, &mut |_| {}).unwrap()
}

fn digest(images: &Images) -> String {
    let mut hash = Sha256::new();
    hash.update(images.pixels());
    hash.update(images.labels());
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// If these digests change, every figure that was measured on the digits is outdated: measure the accuracies in tests
/// and documents again.
#[test]
fn the_digits_are_the_same_bytes_everywhere() {
    let digits = draw_digits(1000, 1000);
    assert_eq!(
        digest(&digits.train),
        "2f41e2317e3a6bff92b90bf32fee33e739fbe286292058660f14ff8d031551bc"
    );
    assert_eq!(
        digest(&digits.test),
        "47c28f157265e659c8fa9de29678c42015770aec976d7fca3e9b3e20ae5a22bc"
    );
}

#[test]
fn the_number_of_images_does_not_change_them() {
    let (few, more) = (draw_digits(10, 3), draw_digits(100, 30));
    assert_eq!(few.train, more.train.truncated(10));
    assert_eq!(few.test, more.test.truncated(3));
    assert_eq!((draw_digits(0, 0).train.len(), draw_digits(0, 0).test.len()), (0, 0));
}

#[test]
fn there_are_60_000_and_10_000_different_images() {
    let digits = draw_digits(usize::MAX, usize::MAX);
    assert_eq!((digits.train.len(), digits.test.len()), (60_000, 10_000));
    let images = || (0..60_000).map(|i| digits.train.image(i));
    let mut seen: HashSet<&[u8]> = images().collect();
    seen.extend((0..10_000).map(|i| digits.test.image(i)));
    assert_eq!(seen.len(), 70_000);

    // The ten classes are about equally frequent, and in random order.
    let labels = digits.train.labels();
    let mut counts = [0_usize; 10];
    labels.iter().for_each(|&label| counts[usize::from(label)] += 1);
    assert!(counts.iter().all(|count| count.abs_diff(6000) < 400), "{counts:?}");
    let repeated = labels.windows(2).filter(|pair| pair[0] == pair[1]).count();
    assert!(repeated.abs_diff(6000) < 400, "{repeated} labels follow themselves");

    // The mean and the standard deviation are close to MNIST's 0.1307 and 0.3081.
    let x: Vec<f64> = digits.train.pixels().iter().map(|&p| f64::from(p) / 255.0).collect();
    let mean = x.iter().sum::<f64>() / x.len() as f64;
    let square = x.iter().map(|x| x * x).sum::<f64>() / x.len() as f64;
    let deviation = (square - mean * mean).sqrt();
    assert!((mean - 0.1307).abs() < 0.005 && (deviation - 0.3081).abs() < 0.01);
}

/// A linear model (softmax regression, trained by SGD with a decreasing learning rate) recognises most digits,
/// but fewer than 97 %, so a network with a hidden layer can improve on it.
#[test]
fn a_linear_model_stays_below_97_percent() {
    let digits = draw_digits(60_000, 10_000);
    let train = Dataset::new(&digits.train, Normalisation::Unit);
    let test = Dataset::new(&digits.test, Normalisation::Unit);
    // The weights [784, 10], with one row per pixel so that blank pixels can be skipped, and a last row with the
    // biases.
    let mut w = vec![[0.0_f32; 10]; 785];
    const EPOCHS: u8 = 12;
    for epoch in 0..EPOCHS {
        let rate = 0.5 * (1.0 - f32::from(epoch) / f32::from(EPOCHS));
        let order = Epoch::shuffled(train.len(), 50, false, 1, u64::from(epoch));
        for k in 0..order.batches() {
            step(&mut w, order.batch(&train, k), rate);
        }
    }
    let correct = |set: &Dataset| {
        let right = |i: &usize| largest(&logits(&w, set.row(*i))) == usize::from(set.labels()[*i]);
        (0..set.len()).filter(right).count() as f64 / set.len() as f64
    };
    let (train, test) = (correct(&train), correct(&test));
    println!("a linear model: {train} in training, {test} in testing");
    assert!((0.92..0.97).contains(&test), "{test} of the test images, {train} of the others");
}

fn step(w: &mut [[f32; 10]], batch: Batch<'_>, rate: f32) {
    // Compute all gradients before applying the first.
    let gradients: Vec<[f32; 10]> = batch
        .indices()
        .zip(batch.labels())
        .map(|(i, label)| {
            let mut p = logits(w, batch.dataset().row(i));
            let most = p[largest(&p)];
            p.iter_mut().for_each(|z| *z = (*z - most).exp());
            let scale = 1.0 / p.iter().sum::<f32>();
            p.iter_mut().for_each(|e| *e *= scale);
            p[usize::from(label)] -= 1.0;
            p
        })
        .collect();
    for (i, dz) in batch.indices().zip(&gradients) {
        for (x, row) in batch.dataset().row(i).iter().chain(&[1.0]).zip(&mut *w) {
            if *x != 0.0 {
                let factor = rate * x / batch.len() as f32;
                row.iter_mut().zip(dz).for_each(|(w, dz)| *w -= factor * dz);
            }
        }
    }
}

fn logits(w: &[[f32; 10]], x: &[f32]) -> [f32; 10] {
    let mut z = [0.0; 10];
    for (x, row) in x.iter().chain(&[1.0]).zip(w) {
        if *x != 0.0 {
            z.iter_mut().zip(row).for_each(|(z, w)| *z += x * w);
        }
    }
    z
}

fn largest(values: &[f32; 10]) -> usize {
    (0..10).max_by(|&a, &b| values[a].total_cmp(&values[b])).unwrap()
}
