//! An attempt: what a reader wrote is compiled, launched on each size, judged, and counted.

use ptx_emulator::source::Source;

use crate::case::{Argument, Case};
use crate::cost::Cost;
use crate::judge;
use crate::outcome::{Mark, Outcome, Tried, Verdict};
use crate::printed::Printed;
use crate::puzzle::{Language, Puzzle};
use crate::run::{Device, Unfit};
use crate::teach;

/// How far an attempt may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Instructions that one warp may execute. The largest solution takes a hundredth of the
    /// default.
    pub instructions: u64,
    /// Bytes of the device's memory.
    pub memory: u64,
    /// Bytes of the source.
    pub source: usize,
    /// Bytes of what it prints that are kept.
    pub printed: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { instructions: 1_000_000, memory: 64 << 20, source: 1 << 18, printed: 4096 }
    }
}

/// Runs what a reader wrote, on each size until one fails.
#[must_use]
pub fn attempt(puzzle: &Puzzle, language: Language, source: &str, limits: &Limits) -> Outcome {
    let outcome = |verdict| Outcome::new(puzzle.name, language, verdict);
    let reject = |what: String, teaches: &str| Outcome {
        what,
        teaches: vec![teaches.to_owned()],
        ..outcome(Verdict::Rejected)
    };
    let Some(texts) = puzzle.source(language) else {
        let what = format!("This puzzle can't be solved in {}.", language.name());
        let known: Vec<&str> = puzzle.sources.iter().map(|s| s.language.name()).collect();
        return reject(what, &format!("It is set in {}.", known.join(" and ")));
    };
    if source.len() > limits.source {
        let what = format!("The source has {} bytes.", source.len());
        return reject(what, &format!("At most {} are read.", limits.source));
    }
    let (text, warnings) = match compile(puzzle, language, source) {
        Ok(compiled) => compiled,
        Err(marks) => {
            return Outcome { marks, ..outcome(Verdict::Rejected) };
        }
    };
    let printed = Printed::new(limits.printed);
    let (mut cost, mut tried) = (Cost::default(), Vec::new());
    for case in (puzzle.cases)() {
        let ending = one(puzzle, language, (&text, source), &case, limits, &printed);
        let passed = ending.is_ok();
        tried.push(Tried { size: case.describe(), passed });
        match ending {
            Ok(of_case) => cost.join(&of_case),
            // What can't be launched has failed on no size.
            Err(failed) if failed.verdict == Verdict::Rejected => return *failed,
            Err(failed) => {
                let marks = warnings;
                return Outcome { tried, marks, printed: printed.text(), ..*failed };
            }
        }
    }
    let solution = (source != texts.solution).then(|| cost_of_solution(puzzle, language));
    let solution = solution.flatten().unwrap_or(cost);
    let too_much = puzzle.demands.iter().find(|demand| {
        let most = demand.measure.of(&solution) as f64 * demand.ratio;
        demand.measure.of(&cost) as f64 > most
    });
    let (verdict, what, teaches) = match too_much {
        None => (Verdict::Solved, String::new(), Vec::new()),
        Some(demand) => {
            let (own, other) = (demand.measure.of(&cost), demand.measure.of(&solution));
            let what = format!(
                "Every number is right. But it takes {own} {}, and the solution {other}.",
                demand.measure.name()
            );
            (Verdict::Costly, what, vec![demand.says.to_owned()])
        }
    };
    let (cost, solution) = (Some(cost), Some(solution));
    // What the compiler finds doubtful has proved right on every size.
    let marks = if verdict == Verdict::Solved { Vec::new() } else { warnings };
    let printed = printed.text();
    Outcome { what, teaches, tried, marks, cost, solution, printed, ..outcome(verdict) }
}

/// What the solution in a language costs; `None` where there is none.
#[must_use]
pub fn cost_of_solution(puzzle: &Puzzle, language: Language) -> Option<Cost> {
    let source = puzzle.source(language)?.solution;
    let (text, _) = compile(puzzle, language, source).ok()?;
    let (limits, printed) = (Limits::default(), Printed::new(0));
    let mut cost = Cost::default();
    for case in (puzzle.cases)() {
        cost.join(&one(puzzle, language, (&text, source), &case, &limits, &printed).ok()?);
    }
    Some(cost)
}

/// The PTX of a source, and what the compiler warns of; or why there is none.
fn compile(
    puzzle: &Puzzle,
    language: Language,
    source: &str,
) -> Result<(Source, Vec<Mark>), Vec<Mark>> {
    let name = format!("{}.{}", puzzle.name, language.extension());
    match language {
        Language::Ptx => Ok((Source { name, text: source.to_owned() }, Vec::new())),
        Language::CudaC => {
            let options = cuda_c::Options { name: &name, ..cuda_c::Options::default() };
            let marks = |list: Vec<_>| list.into_iter().map(of_cuda_c).collect();
            let ptx = cuda_c::compile(source, &options).map_err(marks)?;
            let made = Source { name, text: ptx.text };
            // Inline PTX is the user's, and may be wrong.
            debug_assert!(
                source.contains("asm") || ptx_emulator::parse(&made).is_ok(),
                "cuda-c made PTX that the emulator rejects:\n{}",
                made.text
            );
            Ok((made, marks(ptx.warnings)))
        }
    }
}

fn of_cuda_c(found: cuda_c::Diagnostic) -> Mark {
    Mark {
        warning: found.severity == cuda_c::Severity::Warning,
        message: found.message,
        line: found.line,
        column: found.column,
        width: found.width,
        label: found.label,
        help: found.help,
        text: found.text,
    }
}

fn of_ptx(found: ptx_emulator::Diagnostic) -> Mark {
    Mark {
        warning: false,
        message: found.message,
        line: found.line,
        column: found.column,
        width: found.width,
        label: found.label,
        help: found.help,
        text: found.text,
    }
}

/// Launches a case, and judges what it left in memory: what that cost, or what is wrong.
fn one(
    puzzle: &Puzzle,
    language: Language,
    (text, source): (&Source, &str),
    case: &Case,
    limits: &Limits,
    printed: &Printed,
) -> Result<Cost, Box<Outcome>> {
    let outcome = |verdict| Outcome::new(puzzle.name, language, verdict);
    let ready = Device::new(text, case, limits, printed)
        .and_then(|device| Ok((device.kernel(puzzle.kernel, case)?, device)));
    let (kernel, device) = match ready {
        Ok(ready) => ready,
        Err(unfit) => return Err(Box::new(rejected(unfit, outcome(Verdict::Rejected)))),
    };
    let statistics = match device.launch(&kernel, case) {
        Ok(statistics) => statistics,
        Err(fault) => {
            let said = teach::fault(&fault, case, &device.addresses);
            let places = teach::places(&fault, language, source);
            let what = format!("{}: {}", case.describe(), said.what);
            let teaches = said.teaches;
            return Err(Box::new(Outcome { what, teaches, places, ..outcome(Verdict::Stopped) }));
        }
    };
    for (index, argument) in case.arguments.iter().enumerate() {
        let Argument::Buffer(buffer) = argument else { continue };
        let Some(got) = device.read(index, buffer) else { continue };
        if let Some(wrong) = judge::judge(buffer, &got) {
            let said = teach::numbers(buffer, &got, &wrong);
            let what = format!("{}: {}", case.describe(), said.what);
            let (teaches, wrong) = (said.teaches, Some(wrong));
            return Err(Box::new(Outcome { what, teaches, wrong, ..outcome(Verdict::Wrong) }));
        }
    }
    let mut cost = Cost::default();
    cost.add(&statistics);
    Ok(cost)
}

fn rejected(unfit: Unfit, outcome: Outcome) -> Outcome {
    const KEEP: &str = "Keep the line that the frame begins the kernel with: the tests launch the \
                        kernel by its name, and hand over its parameters in that order.";
    match unfit {
        Unfit::Program(diagnostics) => {
            Outcome { marks: diagnostics.into_iter().map(of_ptx).collect(), ..outcome }
        }
        Unfit::Kernel(what) => Outcome { what, teaches: vec![KEEP.to_owned()], ..outcome },
        Unfit::Memory(what) => Outcome { what, ..outcome },
    }
}
