//! Test that the network of a page learns like the same network in double precision.

use book_check::repository;
use data::{Counts, Generator, Normalisation, PIXELS, Purpose};
use playground::Playground;
use puzzles::Language;
use serde_json::{Value, json};

const BATCH: usize = 256;
const HIDDEN: usize = 30;
const CLASSES: usize = 10;
const SEED: u64 = 1;

fn tiled() -> String {
    std::fs::read_to_string(repository().join("ptx/tiled.ptx")).unwrap()
}

fn ask(page: &mut Playground, request: &Value) -> Value {
    serde_json::from_str(&page.answer(&request.to_string())).unwrap()
}

fn started() -> Playground {
    let mut page = Playground::default();
    let request = json!({ "do": "train-start", "text": tiled(), "seed": SEED, "samples": 1024 });
    let state = ask(&mut page, &request);
    assert_eq!(state["batches"], 0, "{state}");
    assert_eq!(state["units"].as_array().unwrap().len(), HIDDEN);
    page
}

/// 784-30-10, sigmoid and binary cross-entropy, by the book's own formulas.
struct DoubleNetwork {
    w1: Vec<f64>,
    b1: Vec<f64>,
    w2: Vec<f64>,
    b2: Vec<f64>,
}

impl DoubleNetwork {
    fn new() -> Self {
        let mut generator = Generator::new(SEED, Purpose::Parameters, 0);
        let mut draw = |count: usize, fan_in: usize| -> Vec<f64> {
            let bound = 1.0 / (fan_in as f32).sqrt();
            (0..count).map(|_| f64::from(generator.uniform(-bound, bound))).collect()
        };
        Self {
            w1: draw(HIDDEN * PIXELS, PIXELS),
            b1: draw(HIDDEN, PIXELS),
            w2: draw(CLASSES * HIDDEN, HIDDEN),
            b2: draw(CLASSES, HIDDEN),
        }
    }

    /// Does a training step, and returns the loss before it.
    fn step(&mut self, x: &[f64], labels: &[u8]) -> f64 {
        let mut loss = 0.0;
        let mut sums = [
            vec![0.0; self.w1.len()],
            vec![0.0; HIDDEN],
            vec![0.0; self.w2.len()],
            vec![0.0; CLASSES],
        ];
        for (x, &label) in x.chunks(PIXELS).zip(labels) {
            let dot = |w: &[f64], x: &[f64]| w.iter().zip(x).map(|(w, x)| w * x).sum::<f64>();
            let z1: Vec<f64> =
                self.w1.chunks(PIXELS).zip(&self.b1).map(|(w, b)| dot(w, x) + b).collect();
            let a1: Vec<f64> = z1.iter().map(|z| z.max(0.0)).collect();
            let z2: Vec<f64> =
                self.w2.chunks(HIDDEN).zip(&self.b2).map(|(w, b)| dot(w, &a1) + b).collect();
            let mut da1 = vec![0.0; HIDDEN];
            for (i, &z) in z2.iter().enumerate() {
                let y = f64::from(u8::from(i == usize::from(label)));
                loss += z.max(0.0) - z * y + (-z.abs()).exp().ln_1p();
                let dz = (1.0 / (1.0 + (-z).exp()) - y) / BATCH as f64;
                sums[3][i] += dz;
                for j in 0..HIDDEN {
                    sums[2][i * HIDDEN + j] += dz * a1[j];
                    da1[j] += dz * self.w2[i * HIDDEN + j];
                }
            }
            for j in (0..HIDDEN).filter(|&j| z1[j] > 0.0) {
                sums[1][j] += da1[j];
                let row = &mut sums[0][j * PIXELS..(j + 1) * PIXELS];
                row.iter_mut().zip(x).for_each(|(sum, x)| *sum += da1[j] * x);
            }
        }
        let parameters = [&mut self.w1, &mut self.b1, &mut self.w2, &mut self.b2];
        for (to, gradient) in parameters.into_iter().zip(sums) {
            to.iter_mut().zip(gradient).for_each(|(to, gradient)| *to -= 0.1 * gradient);
        }
        loss / (BATCH * CLASSES) as f64
    }
}

#[test]
fn the_losses_are_those_of_double_precision() {
    let (images, _) = data::built_in(Counts { train: 1024, test: 0 });
    let table = Normalisation::MeanStd.table();
    let x: Vec<f64> =
        images.pixels().iter().map(|&pixel| f64::from(table[usize::from(pixel)])).collect();
    let mut double = DoubleNetwork::new();
    let mut page = started();
    let state = ask(&mut page, &json!({ "do": "train-step", "batches": 6 }));
    assert!(state["fault"].is_null(), "{state}");
    let losses = state["losses"].as_array().unwrap();
    assert_eq!(losses.len(), 6);
    for (k, loss) in losses.iter().enumerate() {
        let samples = k % 4 * BATCH..(k % 4 + 1) * BATCH;
        let labels = &images.labels()[samples.clone()];
        let expected = double.step(&x[samples.start * PIXELS..samples.end * PIXELS], labels);
        let error = (loss.as_f64().unwrap() - expected).abs();
        // Sums of 784 products err by about 1e-6, and a learning rate of 0.1 keeps the error small over six steps.
        assert!(error < 1e-5, "batch {k}: {loss}, but {expected} in double precision");
    }
    let share = state["accuracy"].as_f64().unwrap();
    assert!((0.0..=1.0).contains(&share));
}

/// The solutions of puzzles as a reader's kernels; `edit` changes the text of each by the puzzle's name.
fn solutions(names: &[&str], edit: impl Fn(&str, &str) -> String) -> Value {
    let own = |name: &&str| {
        let source = puzzles::puzzle(name).unwrap().source(Language::CudaC).unwrap();
        json!({ "puzzle": name, "language": "cuda-c", "text": edit(name, source.solution) })
    };
    names.iter().map(own).collect::<Vec<_>>().into()
}

const TEN: [&str; 10] = [
    "product",
    "broadcast",
    "relu",
    "sigmoid",
    "output-gradient",
    "weight-gradient",
    "bias-gradient",
    "layer-backward",
    "relu-backward",
    "update",
];

#[test]
fn ten_solutions_of_a_reader_train_the_network() {
    let mut page = started();
    let kernels = solutions(&TEN, |_, text| format!("{text}// mine\n"));
    let answer = ask(&mut page, &json!({ "do": "train-own", "kernels": kernels }));
    let rows = answer["kernels"].as_array().unwrap();
    assert_eq!(rows.iter().map(|row| row["puzzle"].as_str().unwrap()).collect::<Vec<_>>(), TEN);
    assert!(rows.iter().all(|row| row["state"] == "yours, in CUDA C"), "{answer}");
    let verdict = ask(&mut page, &json!({ "do": "train-judge" }));
    assert_eq!(verdict["agrees"], true, "{verdict}");
    let state = ask(&mut page, &json!({ "do": "train-step", "batches": 3 }));
    let percent = 100.0 * state["accuracy"].as_f64().unwrap();
    assert_eq!(state["credit"], format!("10 of 10 kernels are yours: {percent:.1} %"), "{state}");
    let mut other = started();
    let expected = ask(&mut other, &json!({ "do": "train-step", "batches": 3 }));
    assert!(expected["credit"].is_null(), "{expected}");
    for (own, tiled) in
        state["losses"].as_array().unwrap().iter().zip(expected["losses"].as_array().unwrap())
    {
        // The kernels of the two levels add in different orders.
        let error = (own.as_f64().unwrap() - tiled.as_f64().unwrap()).abs();
        assert!(error < 1e-5, "{own} and {tiled}");
    }
}

#[test]
fn the_steps_of_a_training_are_puzzles_of_the_list() {
    let all = ask(&mut Playground::default(), &json!({ "do": "puzzles" }));
    let mut steps: Vec<_> =
        all.as_array().unwrap().iter().filter(|one| !one["step"].is_null()).collect();
    steps.sort_by_key(|one| one["step"].as_u64());
    assert_eq!(steps.iter().map(|one| one["name"].as_str().unwrap()).collect::<Vec<_>>(), TEN);
}

#[test]
fn a_reader_s_wrong_kernel_is_not_used_unless_forced_and_then_named() {
    let kernels = solutions(&["relu-backward", "update"], |name, text| match name {
        "relu-backward" => text.replace("> 0.0f ?", "< 0.0f ?"),
        _ => text.to_owned(),
    });
    let mut page = started();
    for (unchecked, own, state) in [
        (false, 1, "the book's; not yours (wrong numbers)"),
        (true, 2, "yours, in CUDA C, unchecked (wrong numbers)"),
    ] {
        let request = json!({ "do": "train-own", "kernels": kernels, "unchecked": unchecked });
        let answer = ask(&mut page, &request);
        assert_eq!(answer["kernels"][8]["state"], state, "{answer}");
        assert_eq!(answer["kernels"][9]["state"], "yours, in CUDA C", "{answer}");
        assert_eq!(answer["kernels"][0]["state"], "the book's; not begun", "{answer}");
        let verdict = ask(&mut page, &json!({ "do": "train-judge" }));
        assert_eq!(verdict["agrees"], !unchecked, "{verdict}");
        let state = ask(&mut page, &json!({ "do": "train-step", "batches": 1 }));
        let credit = state["credit"].as_str().unwrap();
        assert!(credit.starts_with(&format!("{own} of 10 kernels are yours: ")), "{credit}");
        if unchecked {
            assert_eq!(verdict["tensor"], "dz1");
            assert_eq!(verdict["operation"], "dz1 = relu_backward(da1, z1)");
        }
    }
    // The page now trains with kernels that are not the reader's.
    ask(&mut page, &json!({ "do": "train-kernels", "text": tiled() }));
    assert!(ask(&mut page, &json!({ "do": "train-step", "batches": 1 }))["credit"].is_null());
}

#[test]
fn training_survives_broken_kernels() {
    let mut page = started();
    let kernels = |page: &mut Playground, text: &str| {
        ask(page, &json!({ "do": "train-kernels", "text": text }))
    };
    // A text that the checker rejects leaves the kernels unchanged.
    let refused = kernels(&mut page, &tiled().replacen("mov.f32", "mov.f33", 1));
    assert_eq!(refused["diagnostics"].as_array().unwrap().len(), 1, "{refused}");
    let lost = kernels(&mut page, &tiled().replacen(".entry update", ".entry changed", 1));
    assert!(lost["refused"].as_str().unwrap().contains("no kernel update"), "{lost}");
    assert!(ask(&mut page, &json!({ "do": "train-step", "batches": 1 }))["fault"].is_null());
    // A kernel that writes out of bounds is a fault, and the page stays usable.
    let wild = tiled()
        .replace("st.global.f32 [address], mine", "st.global.f32 [address+1073741824], mine");
    assert_ne!(wild, tiled());
    assert_eq!(kernels(&mut page, &wild)["diagnostics"], json!([]));
    let state = ask(&mut page, &json!({ "do": "train-step", "batches": 1 }));
    assert_eq!(state["fault"]["kind"], "illegal address", "{state}");
    kernels(&mut page, &tiled());
    let state = ask(&mut page, &json!({ "do": "train-step", "batches": 1 }));
    assert!(state["fault"].is_null() && state["batches"] == 2, "{state}");
}

#[test]
fn an_image_is_read() {
    let mut page = started();
    ask(&mut page, &json!({ "do": "train-step", "batches": 40 }));
    let (_, test) = data::built_in(Counts { train: 0, test: 50 });
    let mut right = 0;
    for (image, label) in test.pixels().chunks(PIXELS).zip(test.labels()) {
        let answer = ask(&mut page, &json!({ "do": "train-read", "pixels": image }));
        assert_eq!(answer["p"].as_array().unwrap().len(), CLASSES, "{answer}");
        right += usize::from(answer["digit"] == *label);
    }
    assert!(right > 25, "{right} of 50 after 40 batches");
    let short = ask(&mut page, &json!({ "do": "train-read", "pixels": [1, 2] }));
    assert!(short["refused"].as_str().unwrap().contains("784"));
}
