//! Tests of the page of a training run, made by a level on the built-in digits.

use std::fs;

use data::{Counts, Dataset, Source};
use level1_cpu::{Form, Level1};
use serde_json::json;
use test_support::open_in_browser;
use training::report::{Report, write_json};
use training::{Console, Parameters, Preset, Single, report_page, train};

/// The name of a level, which contains HTML, JavaScript and template code that must not be
/// executed.
const HOSTILE: &str = "</script><svg onload=alert(1)>\"'{{ 7*7 }}";

#[test]
fn a_run_has_a_page_and_shares_one_with_other_runs() {
    let folder = tempfile::tempdir().unwrap();
    let mut preset = Preset::find("race").unwrap();
    preset.batch_size = 16;
    preset.max_batches = Some(12);
    preset.evaluate_every = Some(5);
    let counts = Counts { train: 400, test: 150 };
    let digits = data::load(Source::Digits, None, counts, &mut |_| {}).unwrap();
    let set = |images| Dataset::new(images, preset.normalisation);
    let mut level = Level1::new(&preset.network, Form::Fast);
    let start = Parameters::new(&preset.network, preset.initialisation, 1);
    let mut console = Console::new(true);
    let (training, testing) = (set(&digits.train), set(&digits.test));
    let runner = &mut Single(&mut level);
    let run = train::train(runner, &preset, &training, &testing, &start, &mut console).unwrap();

    // Every tested image is counted in the confusion matrix, and the recognised ones on its
    // diagonal.
    let confusion = &run.examination.confusion;
    assert_eq!(confusion.iter().flatten().sum::<usize>(), 150);
    let right: usize = (0..10).map(|digit| confusion[digit][digit]).sum();
    assert_eq!(right, run.accuracy.correct);
    let wrong = 150 - right;
    assert_eq!(run.examination.mistakes.len(), wrong.min(train::MISTAKES));
    for mistake in &run.examination.mistakes {
        assert_eq!(digits.test.labels()[mistake.image], mistake.label);
        assert!(mistake.predicted != mistake.label && mistake.margin >= 0.0);
    }
    assert!(run.examination.mistakes.is_sorted_by(|a, b| a.margin >= b.margin));
    // There is a time for each loss and each measurement of accuracy, in ascending order.
    assert!(run.times.is_sorted_by(|a, b| a.batches < b.batches && a.seconds <= b.seconds));
    for at in &run.accuracies {
        assert!(run.times.iter().any(|time| time.batches == at.batches), "{at:?}");
    }

    let report = Report::new(HOSTILE, "cpu", &preset, &digits, &run);
    let (one, json) = (folder.path().join("one.html"), folder.path().join("report.json"));
    report_page::write_one(&one, &report, &run.parameters, &digits.test).unwrap();
    write_json(&json, &report).unwrap();
    let both = folder.path().join("both.html");
    let read = report_page::read(&json).unwrap();
    report_page::write_all(&both, &[read.clone(), read]).unwrap();

    let text = fs::read_to_string(&one).unwrap();
    for part in
        ["The worst mistakes", "Weights of the first layer", "taken for", "Where the time went"]
    {
        assert!(text.contains(part), "{part}");
    }
    // The page has a picture of each mistake, and one of each of the first layer's 128 units.
    let pictures = text.matches("<img src=\"data:").count();
    assert_eq!(pictures, run.examination.mistakes.len() + 128);
    for page in [&one, &both] {
        let text = fs::read_to_string(page).unwrap();
        assert!(!text.contains("<svg onload") && text.contains("{{ 7*7 }}"), "{}", page.display());
        assert_eq!(text.matches("</script>").count(), 2, "{}", page.display());
    }
    assert!(
        fs::read_to_string(&both).unwrap().contains("(2)"),
        "the two runs have different titles"
    );
    open_in_browser(folder.path(), &json!([{ "page": one }, { "page": both }]));
}
