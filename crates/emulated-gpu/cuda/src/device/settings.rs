//! Settings from environment variables: cards, checks, threads and reports.

use std::path::PathBuf;

use ptx_emulator::Checks;
use ptx_emulator::memory::Devices;

use crate::abi::error::{Code, Result};

/// The default compute capability of the emulated cards.
const DEFAULT_CAPABILITY: u32 = 90;
/// The compute capabilities that an emulated card can have.
const CAPABILITIES: [u32; 12] = [50, 52, 60, 61, 70, 72, 75, 80, 86, 87, 89, 90];

/// The values of the `EMULATED_GPU_…` environment variables.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// `EMULATED_GPU_CHECKS`: checks in addition to bounds, alignment and use after free, which are always on:
    /// `initialisation`, `races`, `synchronisation`, separated by commas, or `all`.
    pub(crate) checks: Checks,
    /// `EMULATED_GPU_THREADS`: number of host threads that run the blocks of a kernel, at most 1024; 0 for all cores.
    pub(crate) threads: usize,
    /// `EMULATED_GPU_DETERMINISTIC`: 1 runs the blocks in order on one thread.
    pub(crate) deterministic: bool,
    /// `EMULATED_GPU_SEED`: seed that shuffles the order in which warps are scheduled.
    pub(crate) seed: Option<u64>,
    /// `EMULATED_GPU_INSTRUCTION_LIMIT`: a warp that executes more instructions than this is stopped as a runaway.
    pub(crate) instruction_limit: Option<u64>,
    /// `EMULATED_GPU_MEMORY`: the memory of a card in bytes, with an optional unit K, M, G or T. The default is three
    /// quarters of the memory available to this process (`ptx_emulator::machine`), divided among the cards.
    pub(crate) memory: Option<u64>,
    /// `EMULATED_GPU_CAPABILITY`: the cards' compute capability, such as 8.0. It limits the `.target` of PTX, and
    /// selects how the tensor cores round. The default is 9.0.
    pub(crate) capability: u32,
    /// `EMULATED_GPU_DEVICES`: number of cards, at most 64; the default is 1.
    pub(crate) devices: u32,
    /// `EMULATED_GPU_LEAKS`: 1 prints the memory that was never freed, at process exit.
    pub(crate) leaks: bool,
    /// `EMULATED_GPU_STATISTICS`: path of a JSON file to which the counters of all kernels are written at process
    /// exit.
    pub(crate) statistics: Option<PathBuf>,
    /// `EMULATED_GPU_FAULTS`: path of a file to which a line of JSON is added for each fault.
    pub(crate) faults: Option<PathBuf>,
    /// `CUDA_LOG_FILE`, as for NVIDIA's driver: the log of failed calls and their reasons; `stdout`, `stderr` or a
    /// path.
    pub(crate) log: Option<PathBuf>,
    /// `CUDA_MODULE_LOADING`, as for NVIDIA's driver: whether the runtime library loads all of a program's code at
    /// once (`EAGER`) or each kernel on its first use.
    pub(crate) eager: bool,
}

impl Settings {
    /// Reads the environment. `asked` is the number of cards that is used if the environment doesn't set the number.
    ///
    /// # Errors
    /// `INVALID_VALUE` if a value is invalid; the message has the variable's name and its valid values.
    pub(crate) fn read(
        asked: Option<u32>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self> {
        let text = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        Ok(Self {
            checks: text("EMULATED_GPU_CHECKS")
                .map_or(Ok(Checks::default()), |list| checks(&list))?,
            threads: threads(number(&text, "EMULATED_GPU_THREADS")?.unwrap_or(0))?,
            deterministic: flag(&text, "EMULATED_GPU_DETERMINISTIC")?,
            seed: number(&text, "EMULATED_GPU_SEED")?,
            instruction_limit: number(&text, "EMULATED_GPU_INSTRUCTION_LIMIT")?,
            memory: text("EMULATED_GPU_MEMORY").map(|value| bytes(&value)).transpose()?,
            capability: text("EMULATED_GPU_CAPABILITY")
                .map_or(Ok(DEFAULT_CAPABILITY), |value| capability(&value))?,
            devices: number(&text, "EMULATED_GPU_DEVICES")?
                .map_or(Ok(asked.unwrap_or(1)), |count| devices("EMULATED_GPU_DEVICES", count))?,
            leaks: flag(&text, "EMULATED_GPU_LEAKS")?,
            statistics: text("EMULATED_GPU_STATISTICS").map(PathBuf::from),
            faults: text("EMULATED_GPU_FAULTS").map(PathBuf::from),
            log: text("CUDA_LOG_FILE").map(PathBuf::from),
            eager: text("CUDA_MODULE_LOADING").is_some_and(|value| value.trim() == "EAGER"),
        })
    }

    /// The memory of each card in bytes; by default, the cards share the memory that is available.
    pub(crate) fn memory_of_each(&self) -> u64 {
        let share = || ptx_emulator::machine::memory() / u64::from(self.devices);
        self.memory.unwrap_or_else(share)
    }
}

fn checks(list: &str) -> Result<Checks> {
    let mut checks = Checks::default();
    for word in list.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        match word {
            // This name has no effect, because bounds are always checked: otherwise a kernel could access the host's
            // memory.
            "memory" => {}
            "initialisation" => checks.initialisation = true,
            "races" => checks.races = true,
            "synchronisation" => checks.synchronisation = true,
            "all" => {
                checks.initialisation = true;
                checks.races = true;
                checks.synchronisation = true;
            }
            _ => {
                return Err(Code::INVALID_VALUE.because(format!(
                    "EMULATED_GPU_CHECKS: unknown check `{word}`; use memory, \
                     initialisation, races and synchronisation, or all"
                )));
            }
        }
    }
    Ok(checks)
}

fn flag(text: &impl Fn(&str) -> Option<String>, name: &str) -> Result<bool> {
    match text(name).as_deref().map(str::trim) {
        None | Some("0") => Ok(false),
        Some("1") => Ok(true),
        Some(other) => {
            Err(Code::INVALID_VALUE.because(format!("{name}: `{other}` is neither 0 nor 1")))
        }
    }
}

fn number(text: &impl Fn(&str) -> Option<String>, name: &str) -> Result<Option<u64>> {
    let Some(value) = text(name) else { return Ok(None) };
    let parsed = value.trim().parse();
    parsed.map(Some).map_err(|_| {
        Code::INVALID_VALUE.because(format!("{name}: `{value}` is not a non-negative integer"))
    })
}

fn threads(wanted: u64) -> Result<usize> {
    let max = ptx_emulator::MAX_THREADS;
    usize::try_from(wanted).ok().filter(|&threads| threads <= max).ok_or_else(|| {
        Code::INVALID_VALUE
            .because(format!("EMULATED_GPU_THREADS: {wanted} host threads; the maximum is {max}"))
    })
}

fn capability(value: &str) -> Result<u32> {
    let capability = CAPABILITIES.iter().find(|number| {
        value.trim().split_once('.')
            == Some((&(*number / 10).to_string(), &(*number % 10).to_string()))
    });
    capability.copied().ok_or_else(|| {
        let names: Vec<String> =
            CAPABILITIES.iter().map(|number| format!("{}.{}", number / 10, number % 10)).collect();
        Code::INVALID_VALUE.because(format!(
            "EMULATED_GPU_CAPABILITY: `{value}` is not supported; use one of {}",
            names.join(", ")
        ))
    })
}

/// Checks that a card count is supported. `source` names the origin of the count, for the
/// message.
///
/// # Errors
/// `INVALID_VALUE` if the count is not supported.
pub(crate) fn devices(source: &str, wanted: u64) -> Result<u32> {
    let max = Devices::MAX;
    u32::try_from(wanted).ok().filter(|devices| (1..=max).contains(devices)).ok_or_else(|| {
        Code::INVALID_VALUE.because(format!("{source}: {wanted} cards; 1 to {max} can be emulated"))
    })
}

fn bytes(value: &str) -> Result<u64> {
    let value = value.trim();
    let split = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
    let (digits, unit) = value.split_at(split);
    let factor = match unit.trim().to_ascii_uppercase().as_str() {
        "" => Some(1),
        "K" => Some(1 << 10),
        "M" => Some(1 << 20),
        "G" => Some(1 << 30),
        "T" => Some(1u64 << 40),
        _ => None,
    };
    let parsed =
        digits.parse::<u64>().ok().zip(factor).and_then(|(n, factor)| n.checked_mul(factor));
    parsed.filter(|&bytes| bytes > 0).ok_or_else(|| {
        Code::INVALID_VALUE.because(format!(
            "EMULATED_GPU_MEMORY: `{value}` is not a size; write one like 512M or 8G"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Settings> {
        let find = |name: &str| {
            let pair = pairs.iter().find(|(key, _)| *key == name);
            pair.map(|(_, value)| (*value).to_owned())
        };
        Settings::read(None, find)
    }

    #[test]
    fn unset_variables_give_the_defaults() {
        let settings = read(&[("EMULATED_GPU_CHECKS", " ")]).unwrap();
        assert_eq!(settings.checks, Checks::default());
        assert_eq!((settings.threads, settings.seed, settings.memory), (0, None, None));
        assert!(!settings.deterministic && !settings.leaks);
        assert_eq!(settings.capability, 90);
    }

    #[test]
    fn the_environment_overrides_the_programs_number_of_cards() {
        assert_eq!(read(&[]).unwrap().devices, 1);
        assert_eq!(Settings::read(Some(4), |_| None).unwrap().devices, 4);
        assert_eq!(
            Settings::read(Some(4), |name| {
                (name == "EMULATED_GPU_DEVICES").then(|| "3".to_owned())
            })
            .unwrap()
            .devices,
            3
        );
        assert!(devices("emulatedGpuSetDevices", 65).is_err());
    }

    #[test]
    fn a_capability_has_the_form_major_dot_minor() {
        let settings = read(&[("EMULATED_GPU_CAPABILITY", " 8.6")]).unwrap();
        assert_eq!(settings.capability, 86);
    }

    #[test]
    fn sizes_have_units() {
        for (text, bytes) in
            [("512M", 512 << 20), ("8g", 8 << 30), ("1000", 1000), ("1 T", 1 << 40)]
        {
            let expected = Some(bytes);
            assert_eq!(read(&[("EMULATED_GPU_MEMORY", text)]).unwrap().memory, expected, "{text}");
        }
    }

    #[test]
    fn errors_name_the_variable() {
        for (name, value) in [
            ("EMULATED_GPU_CHECKS", "memory,speed"),
            ("EMULATED_GPU_THREADS", "two"),
            ("EMULATED_GPU_DEVICES", "0"),
            ("EMULATED_GPU_DEVICES", "65"),
            ("EMULATED_GPU_THREADS", "100000"),
            ("EMULATED_GPU_THREADS", "18446744073709551615"),
            ("EMULATED_GPU_DETERMINISTIC", "yes"),
            ("EMULATED_GPU_SEED", "-1"),
            ("EMULATED_GPU_CAPABILITY", "8"),
            ("EMULATED_GPU_CAPABILITY", "12.0"),
            ("EMULATED_GPU_MEMORY", "0"),
            ("EMULATED_GPU_MEMORY", "99999999999T"),
        ] {
            let error = read(&[(name, value)]).unwrap_err();
            assert_eq!(error.code, Code::INVALID_VALUE);
            assert!(error.why.unwrap().starts_with(name), "{name}={value}");
        }
    }

    #[test]
    fn the_readme_lists_every_variable() {
        let (code, readme) = (include_str!("settings.rs"), include_str!("../../README.md"));
        let word = |text: &str| {
            let end =
                text.find(|c: char| !c.is_ascii_uppercase() && c != '_').unwrap_or(text.len());
            format!("`EMULATED_GPU_{}`", &text[..end])
        };
        let mut variables: Vec<String> = code.split("\"EMULATED_GPU_").skip(1).map(word).collect();
        variables.dedup();
        assert!(variables.len() >= 8, "{variables:?}");
        for variable in variables {
            assert!(readme.contains(&variable) || variable == "`EMULATED_GPU_`", "{variable}");
        }
    }
}
