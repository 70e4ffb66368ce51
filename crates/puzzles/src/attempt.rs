//! Attempts: compiles a reader's kernel, launches it on each tested size, compares the results, and counts the cost.

use ptx_emulator::fault::Fault;
use ptx_emulator::record::Record;
use ptx_emulator::source::Source;

use crate::case::{Argument, Case};
use crate::cost::Cost;
use crate::feedback;
use crate::judge;
use crate::outcome::{Mark, Outcome, TriedSize, Verdict};
use crate::printed::Printed;
use crate::puzzle::{Language, Puzzle};
use crate::run::{Device, NotLaunched};

/// Limits of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The maximum number of instructions that a warp may execute. The longest solution needs 1/100 of the default.
    pub instructions: u64,
    /// The size of the device's memory in bytes.
    pub memory: u64,
    /// The maximum size of the source in bytes.
    pub source: usize,
    /// The maximum size in bytes of the `printf` output that is kept.
    pub printed: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { instructions: 1_000_000, memory: 64 << 20, source: 1 << 18, printed: 4096 }
    }
}

/// Runs a reader's kernel on each tested size, until the kernel fails on one.
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
        return reject(what, &format!("Write it in {}.", known.join(" and ")));
    };
    if source.len() > limits.source {
        let what = format!("The source has {} bytes.", source.len());
        return reject(what, &format!("The limit is {}.", limits.source));
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
        let ending = run_case(puzzle, language, (&text, source), &case, limits, &printed);
        let passed = ending.is_ok();
        tried.push(TriedSize { size: case.describe(), passed });
        match ending {
            Ok(cost_of_case) => cost.join(&cost_of_case),
            // A kernel that can't be launched is rejected as a whole, because it has not failed on a particular size.
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
        let most = demand.measure.count(&solution) as f64 * demand.ratio;
        demand.measure.count(&cost) as f64 > most
    });
    let (verdict, what, teaches) = match too_much {
        None => (Verdict::Solved, String::new(), Vec::new()),
        Some(demand) => {
            let (own, other) = (demand.measure.count(&cost), demand.measure.count(&solution));
            let what = format!(
                "Every number is right, but it takes {own} {}; the solution takes {other}.",
                demand.measure.name()
            );
            (Verdict::Costly, what, vec![demand.says.to_owned()])
        }
    };
    let (cost, solution) = (Some(cost), Some(solution));
    // The compiler's warnings are dropped if every number turned out to be right.
    let marks = if verdict == Verdict::Solved { Vec::new() } else { warnings };
    let printed = printed.text();
    Outcome { what, teaches, tried, marks, cost, solution, printed, ..outcome(verdict) }
}

/// A step-by-step recording of one block of an attempt, launched on one of the puzzle's sizes.
#[derive(Debug)]
pub struct Recording {
    /// The PTX of the attempt.
    pub source: String,
    /// The name of the kernel in the PTX.
    pub kernel: String,
    /// The shape of the grid.
    pub grid: [u32; 3],
    /// The shape of a block.
    pub block: [u32; 3],
    /// The steps of the block's warps.
    pub record: Record,
    /// The fault that ended the launch, and its description in a sentence.
    pub fault: Option<(Fault, String)>,
}

/// Records at most `most` steps of one block of an attempt. `size` is the index of the tested size, from 0.
///
/// # Errors
/// If there is no such size or block, or the attempt can't be launched. The error is a description.
pub fn record(
    puzzle: &Puzzle,
    language: Language,
    source: &str,
    (size, block): (usize, [u32; 3]),
    most: usize,
) -> Result<Recording, String> {
    let cases = (puzzle.cases)();
    let case = cases.get(size).ok_or("the puzzle has no such size")?;
    let (text, _) =
        compile(puzzle, language, source).map_err(|_| "the attempt does not compile")?;
    let (limits, printed) = (Limits::default(), Printed::new(0));
    let device = Device::new(&text, case, &limits, &printed);
    let ready = device.and_then(|device| Ok((device.kernel(puzzle.kernel, case)?, device)));
    let (kernel, device) = ready.map_err(|_| "the attempt can't be launched")?;
    let (record, outcome) =
        device.record(&kernel, case, block, most).map_err(|fault| fault.to_string())?;
    let fault = outcome.err().map(|fault| {
        let message = feedback::fault(&fault, case, &device.addresses);
        (fault, message.what)
    });
    let (grid, block, kernel) = (case.grid, case.block, kernel.name().to_owned());
    Ok(Recording { source: text.text, kernel, grid, block, record, fault })
}

/// Cost of the solution in a language; `None` if the puzzle has no solution in that language.
#[must_use]
pub fn cost_of_solution(puzzle: &Puzzle, language: Language) -> Option<Cost> {
    let source = puzzle.source(language)?.solution;
    let (text, _) = compile(puzzle, language, source).ok()?;
    let (limits, printed) = (Limits::default(), Printed::new(0));
    let mut cost = Cost::default();
    for case in (puzzle.cases)() {
        cost.join(&run_case(puzzle, language, (&text, source), &case, &limits, &printed).ok()?);
    }
    Some(cost)
}

/// Compiles a source. Returns its PTX and the compiler's warnings, or the compiler's errors.
fn compile(
    puzzle: &Puzzle,
    language: Language,
    source: &str,
) -> Result<(Source, Vec<Mark>), Vec<Mark>> {
    let name = format!("{}.{}", puzzle.name, language.extension());
    match language {
        Language::Ptx => Ok((Source { name, text: source.to_owned() }, Vec::new())),
        Language::CudaC => {
            let options =
                cuda_c::CompileOptions { name: &name, ..cuda_c::CompileOptions::default() };
            let marks = |list: Vec<_>| list.into_iter().map(mark_of_cuda_c).collect();
            let ptx = cuda_c::compile(source, &options).map_err(marks)?;
            let made = Source { name, text: ptx.text };
            // Compiled PTX can only have errors in inline PTX, which the user wrote.
            debug_assert!(
                source.contains("asm") || ptx_emulator::parse(&made).is_ok(),
                "cuda-c made PTX that the emulator rejects:\n{}",
                made.text
            );
            Ok((made, marks(ptx.warnings)))
        }
    }
}

/// Converts a diagnostic of either compiler to a mark. The two types of diagnostics have the same fields.
macro_rules! mark {
    ($diagnostic:expr, $is_warning:expr) => {{
        let found = $diagnostic;
        Mark {
            warning: $is_warning,
            message: found.message,
            line: found.line,
            column: found.column,
            width: found.width,
            label: found.label,
            help: found.help,
            text: found.text,
        }
    }};
}

fn mark_of_cuda_c(found: cuda_c::Diagnostic) -> Mark {
    let is_warning = found.severity == cuda_c::Severity::Warning;
    mark!(found, is_warning)
}

fn mark_of_ptx(found: ptx_emulator::Diagnostic) -> Mark {
    mark!(found, false)
}

/// Launches a case and compares the buffers with the expected numbers. Returns the launch's cost, or the failure.
fn run_case(
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
            let message = feedback::fault(&fault, case, &device.addresses);
            let places = feedback::fault_lines(&fault, language, source);
            let what = format!("{}: {}", case.describe(), message.what);
            let teaches = message.teaches;
            return Err(Box::new(Outcome { what, teaches, places, ..outcome(Verdict::Stopped) }));
        }
    };
    for (index, argument) in case.arguments.iter().enumerate() {
        let Argument::Buffer(buffer) = argument else { continue };
        let Some(got) = device.read(index, buffer) else { continue };
        if let Some(wrong) = judge::judge(buffer, &got) {
            let message = feedback::numbers(buffer, &got, &wrong);
            let what = format!("{}: {}", case.describe(), message.what);
            let (teaches, wrong) = (message.teaches, Some(wrong));
            return Err(Box::new(Outcome { what, teaches, wrong, ..outcome(Verdict::Wrong) }));
        }
    }
    let mut cost = Cost::default();
    cost.add(&statistics);
    Ok(cost)
}

fn rejected(unfit: NotLaunched, outcome: Outcome) -> Outcome {
    const KEEP_FIRST_LINE: &str = "Keep the first line of the frame's kernel: the tests launch the kernel by its name, \
                        and pass its parameters in that order.";
    match unfit {
        NotLaunched::Program(diagnostics) => {
            Outcome { marks: diagnostics.into_iter().map(mark_of_ptx).collect(), ..outcome }
        }
        NotLaunched::Kernel(what) => {
            Outcome { what, teaches: vec![KEEP_FIRST_LINE.to_owned()], ..outcome }
        }
        NotLaunched::Memory(what) => Outcome { what, ..outcome },
    }
}
