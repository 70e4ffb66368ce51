//! Parser for command lines of `ptx-emulator`, without clap, which would double the size of the module. A test compares
//! both parsers on every command of the book.

use std::str::FromStr;

use ptx_emulator::commands::launch::{self, LaunchIndex};
use ptx_emulator::commands::{Command, check, profile, run, trace};

/// Default number of elements of a buffer that `run` shows.
const DEFAULT_SHOWN: usize = 8;
/// Default number of lines that `trace` shows.
const DEFAULT_LINES: usize = 200;

/// Parses `run FILE --grid 2 …`.
///
/// # Errors
/// If `ptx-emulator` would reject the line: a description of the problem.
pub fn parse(line: &str) -> Result<Command, String> {
    let mut words = line.split_whitespace().map(str::to_owned);
    let verb = words.next().ok_or("the command is empty: try run, trace, profile or check")?;
    let mut options = CommandWords { words: words.collect(), at: 0, files: Vec::new() };
    let command = match verb.as_str() {
        "check" => {
            let mut fidelity = false;
            options.parse(|name, value| match name {
                "fidelity" => flag(&mut fidelity, name, value),
                _ => Err(unknown(name)),
            })?;
            if options.files.is_empty() {
                return Err("check needs a file".to_owned());
            }
            let files = options.files.iter().map(Into::into).collect();
            Command::Check(check::Arguments { files, fidelity })
        }
        "run" => {
            let mut show = DEFAULT_SHOWN;
            let launch = options.launch(|name, value| match name {
                "show" => set(&mut show, name, value),
                _ => Err(unknown(name)),
            })?;
            Command::Run(run::Arguments { launch, show })
        }
        "trace" => {
            let (mut thread, mut in_block, mut lines) =
                (LaunchIndex([0; 3]), LaunchIndex([0; 3]), DEFAULT_LINES);
            let launch = options.launch(|name, value| match name {
                "thread" => set(&mut thread, name, value),
                "in-block" => set(&mut in_block, name, value),
                "lines" => set(&mut lines, name, value),
                _ => Err(unknown(name)),
            })?;
            Command::Trace(trace::Arguments { launch, thread, in_block, lines })
        }
        "profile" => {
            let mut executed = false;
            let launch = options.launch(|name, value| match name {
                "executed" => flag(&mut executed, name, value),
                _ => Err(unknown(name)),
            })?;
            Command::Profile(profile::Arguments { launch, executed })
        }
        other => return Err(format!("unknown command {other}: try run, trace, profile or check")),
    };
    Ok(command)
}

/// Returns the value of an option: the text after `=`, otherwise the next word.
type Value<'a> = &'a mut dyn FnMut() -> Result<String, String>;

struct CommandWords {
    words: Vec<String>,
    at: usize,
    files: Vec<String>,
}

impl CommandWords {
    /// Collects the files, and calls `option` for each option.
    fn parse(
        &mut self,
        mut option: impl FnMut(&str, Value<'_>) -> Result<(), String>,
    ) -> Result<(), String> {
        while let Some(word) = self.words.get(self.at).cloned() {
            self.at += 1;
            let Some(rest) = word.strip_prefix("--") else {
                self.files.push(word);
                continue;
            };
            let (name, mut given) = match rest.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (rest, None),
            };
            let (words, at) = (&self.words, &mut self.at);
            option(name, &mut || {
                if let Some(value) = given.take() {
                    return Ok(value);
                }
                let next = words.get(*at).cloned();
                *at += 1;
                next.ok_or_else(|| format!("--{name} needs a value"))
            })?;
            if given.is_some() {
                return Err(format!("--{name} takes no value"));
            }
        }
        Ok(())
    }

    /// Parses the options of a launch; `other` handles the rest.
    fn launch(
        &mut self,
        mut other: impl FnMut(&str, Value<'_>) -> Result<(), String>,
    ) -> Result<launch::Arguments, String> {
        let mut launch = launch::Arguments::default();
        self.parse(|name, value| match name {
            "entry" => value().map(|name| launch.entry = Some(name)),
            "grid" => set(&mut launch.grid, name, value),
            "block" => set(&mut launch.block, name, value),
            "shared" => set(&mut launch.shared, name, value),
            "arg" => {
                let one = value()?.parse().map_err(|why| format!("--arg: {why}"))?;
                launch.arguments.push(one);
                Ok(())
            }
            "buffer" => {
                let one = value()?.parse().map_err(|why| format!("--buffer: {why}"))?;
                launch.buffers.push(one);
                Ok(())
            }
            "cooperative" => flag(&mut launch.cooperative, name, value),
            "deterministic" => flag(&mut launch.deterministic, name, value),
            "seed" => {
                let mut seed = 0;
                set(&mut seed, name, value)?;
                launch.seed = Some(seed);
                Ok(())
            }
            "initcheck" => flag(&mut launch.initcheck, name, value),
            "racecheck" => flag(&mut launch.racecheck, name, value),
            "synccheck" => flag(&mut launch.synccheck, name, value),
            "limit" => set(&mut launch.limit, name, value),
            _ => other(name, value),
        })?;
        match &self.files[..] {
            [file] => launch.file = file.into(),
            [] => return Err("no file given, such as kernel.ptx".to_owned()),
            [_, more, ..] => {
                return Err(format!("only one file can be launched, but there is also {more}"));
            }
        }
        Ok(launch)
    }
}

fn unknown(name: &str) -> String {
    format!("unknown option --{name}")
}

fn set<T: FromStr>(to: &mut T, name: &str, value: Value<'_>) -> Result<(), String>
where
    T::Err: std::fmt::Display,
{
    let text = value()?;
    *to = text.parse().map_err(|why| format!("--{name} {text}: {why}"))?;
    Ok(())
}

/// Sets an option without a value.
#[expect(clippy::unnecessary_wraps, reason = "it has the same signature as `set`")]
fn flag(to: &mut bool, _: &str, _: Value<'_>) -> Result<(), String> {
    *to = true;
    Ok(())
}
