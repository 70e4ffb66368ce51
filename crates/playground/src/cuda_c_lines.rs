//! The way from compiled PTX back to its CUDA C: lines, and the names of variables.

use std::collections::HashMap;

use ptx_emulator::commands::launch;

use crate::exchange::Files;

/// CUDA C, and its relation to the PTX that it was compiled to.
pub(crate) struct Origin {
    /// The text.
    pub(crate) text: String,
    /// The names of variables, by the function in PTX and the register or parameter there.
    names: HashMap<(String, String), String>,
}

impl Origin {
    /// The CUDA C of a launch; `None` if the launch has a file in PTX.
    pub(crate) fn of(arguments: &launch::Arguments, files: &Files) -> Option<Self> {
        if arguments.file.extension().is_none_or(|end| end != "cu") {
            return None;
        }
        let name = arguments.file.to_string_lossy();
        let entries = arguments.entry.iter().filter(|entry| entry.contains('<')).cloned().collect();
        Self::compiled(files.get(&*name)?, entries)
    }

    /// A text in CUDA C, with instances of templates; `None` if it does not compile.
    pub(crate) fn compiled(text: &str, instances: Vec<String>) -> Option<Self> {
        let options =
            cuda_c::CompileOptions { names: instances, ..cuda_c::CompileOptions::default() };
        let ptx = cuda_c::compile(text, &options).ok()?;
        let names = ptx.variables.into_iter().map(|one| ((one.function, one.register), one.name));
        Some(Self { text: text.to_owned(), names: names.collect() })
    }

    /// The name of the variable that a register holds.
    pub(crate) fn variable(&self, function: &str, register: &str) -> Option<&str> {
        self.names.get(&(function.to_owned(), register.to_owned())).map(String::as_str)
    }

    /// A place in memory, such as `param_1+0x20`, with the parameter's name: `x+0x20`.
    pub(crate) fn place(&self, function: &str, place: &str) -> String {
        let (parameter, offset) = place.split_at(place.find('+').unwrap_or(place.len()));
        match self.variable(function, &format!("{function}_{parameter}")) {
            Some(name) => format!("{name}{offset}"),
            None => place.to_owned(),
        }
    }
}

/// For each line of compiled PTX, the line of CUDA C; 0 before the first. Functions of the library have no lines, so
/// their instructions belong to the line before them.
pub(crate) fn lines(ptx: &str) -> Vec<u32> {
    let mut current = 0;
    let line = |text: &str| {
        let mut words = text.trim_start().strip_prefix(".loc")?.split_whitespace();
        // The text is file 1.
        words.next().filter(|file| *file == "1")?;
        words.next()?.parse().ok()
    };
    ptx.lines()
        .map(|text| {
            current = line(text).unwrap_or(current);
            current
        })
        .collect()
}
