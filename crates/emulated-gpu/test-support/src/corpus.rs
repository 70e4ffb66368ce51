//! Replays a fuzzer's corpus, and variations of it, without libFuzzer's guidance and AddressSanitizer.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::random::Random;
use crate::words;

/// The number of variations, unless a time is given.
const CASES: u64 = 1500;
/// An environment variable that is set in the child process of a target. Each target runs in a separate process, whose
/// standard error is not shown.
const CHILD_VARIABLE: &str = "FUZZ_TARGETS_ALONE";

/// Runs a target on its corpus (the folder with its name), then on as many variations as `FUZZ_SECONDS` allows,
/// in a child process that runs the test with the name `test`.
pub fn replay(test: &str, folder: &str, longest: usize, run: fn(&[u8])) {
    if std::env::var_os(CHILD_VARIABLE).is_some() {
        return replay_in_this_process(Path::new(folder), longest, run);
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    let output =
        command.args([test, "--exact", "--nocapture"]).env(CHILD_VARIABLE, "1").output().unwrap();
    let (stdout, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let last: Vec<&str> = errors.lines().rev().take(60).collect();
    let last: Vec<&str> = last.into_iter().rev().collect();
    assert!(output.status.success(), "{}: {stdout}\n{}", output.status, last.join("\n"));
    stdout.lines().filter(|line| line.contains("near them")).for_each(|line| println!("{line}"));
}

fn replay_in_this_process(folder: &Path, longest: usize, run: fn(&[u8])) {
    let target = folder.file_name().unwrap().to_str().unwrap();
    let mut paths: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let corpus: Vec<Vec<u8>> = paths.iter().map(|path| fs::read(path).unwrap()).collect();
    assert!(!corpus.is_empty(), "{} has no case", folder.display());
    corpus.iter().for_each(|case| check(target, case, run));

    let seconds = std::env::var("FUZZ_SECONDS").ok().map(|text| text.parse().unwrap());
    let end = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let mut count = 0;
    while end.map_or(count < CASES, |end| Instant::now() < end) {
        check(target, &variation_of(&corpus, longest, count), run);
        count += 1;
    }
    println!("{target}: {} cases of the corpus, {count} near them", corpus.len());
}

/// Runs one case. If it fails, the case is saved next to the test program.
fn check(target: &str, case: &[u8], run: fn(&[u8])) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| run(case))) {
        let path = std::env::current_exe().unwrap().with_file_name(format!("{target}-finding"));
        fs::write(&path, case).unwrap();
        eprintln!("to reproduce it with all output: fuzz.sh case {target} {}", path.display());
        std::panic::resume_unwind(panic);
    }
}

/// A case of the corpus with a few pseudo-random changes, which are determined by `number`.
fn variation_of(corpus: &[Vec<u8>], longest: usize, number: u64) -> Vec<u8> {
    let mut random = Random(number);
    let mut below = |most: usize| random.below(most.max(1));
    let mut case = corpus[below(corpus.len())].clone();
    for _ in 0..=below(4) {
        let at = below(case.len());
        match below(6) {
            0 if !case.is_empty() => case[at] ^= 1 << below(8),
            1 if !case.is_empty() => case[at] = [0, 1, 0x7f, 0x80, 0xff][below(5)],
            2 => case.insert(at, below(256) as u8),
            3 if !case.is_empty() => {
                let end = (at + 1 + below(32)).min(case.len());
                case.drain(at..end);
            }
            4 => {
                let other = &corpus[below(corpus.len())];
                let from = below(other.len());
                let piece = &other[from..(from + 1 + below(64)).min(other.len())];
                case.splice(at..at, piece.iter().copied());
            }
            _ => {
                let size = case.len();
                case.resize(longest.max(size), 0);
                let most = case.len();
                let new = words::mutate(&mut case, size, most, below(usize::MAX) as u32);
                case.truncate(new.unwrap_or(size));
            }
        }
    }
    case.truncate(longest);
    case
}
