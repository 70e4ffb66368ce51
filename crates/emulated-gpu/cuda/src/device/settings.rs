//! Settings from the environment: checks, threads, reports.

use std::path::PathBuf;

use ptx_emulator::Checks;
use ptx_emulator::memory::Devices;

use crate::abi::error::{Code, Result};

/// The compute capability of the emulated card where nothing is said, and those that it can have.
const CAPABILITY: u32 = 90;
const CAPABILITIES: [u32; 12] = [50, 52, 60, 61, 70, 72, 75, 80, 86, 87, 89, 90];

/// What `EMULATED_GPU_…` variables say.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// `EMULATED_GPU_CHECKS`: what is checked beyond bounds, alignment and use after free, which
    /// always are: `initialisation`, `races`, `synchronisation`, separated by commas, or `all`.
    pub(crate) checks: Checks,
    /// `EMULATED_GPU_THREADS`: host threads that the blocks of a kernel run on, 1024 at most; 0 for
    /// all.
    pub(crate) threads: usize,
    /// `EMULATED_GPU_DETERMINISTIC`: 1 for one thread, and blocks in order.
    pub(crate) deterministic: bool,
    /// `EMULATED_GPU_SEED`: shuffles the order in which warps take turns.
    pub(crate) seed: Option<u64>,
    /// `EMULATED_GPU_INSTRUCTION_LIMIT`: a warp that executes more has run away.
    pub(crate) instruction_limit: Option<u64>,
    /// `EMULATED_GPU_MEMORY`: bytes of the card, with K, M, G or T; by default three
    /// quarters of what this process can have (`ptx_emulator::machine`).
    pub(crate) memory: Option<u64>,
    /// `EMULATED_GPU_CAPABILITY`: the card's compute capability, such as 8.0: up to which `.target` it
    /// takes PTX, and by whose rules its matrix units add. Without it 9.0.
    pub(crate) capability: u32,
    /// `EMULATED_GPU_DEVICES`: how many cards there are, 64 at most; by default one.
    pub(crate) devices: u32,
    /// `EMULATED_GPU_LEAKS`: 1 lists at the end what was never freed.
    pub(crate) leaks: bool,
    /// `EMULATED_GPU_STATISTICS`: a JSON file with the counts of every kernel, written at the end.
    pub(crate) statistics: Option<PathBuf>,
    /// `CUDA_LOG_FILE`, as NVIDIA's driver has it: `stdout`, `stderr` or a file that is told of
    /// every call that fails, and why.
    pub(crate) log: Option<PathBuf>,
    /// `CUDA_MODULE_LOADING`, as NVIDIA's driver has it: whether the runtime library loads all of a
    /// program's code at once (`EAGER`), or each kernel when it is first used.
    pub(crate) eager: bool,
}

impl Settings {
    /// Reads the environment. `asked` is how many cards there are where it does not say that.
    ///
    /// # Errors
    /// `INVALID_VALUE`, with the name of the variable and what it may be.
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
                .map_or(Ok(CAPABILITY), |value| capability(&value))?,
            devices: number(&text, "EMULATED_GPU_DEVICES")?
                .map_or(Ok(asked.unwrap_or(1)), |count| devices("EMULATED_GPU_DEVICES", count))?,
            leaks: flag(&text, "EMULATED_GPU_LEAKS")?,
            statistics: text("EMULATED_GPU_STATISTICS").map(PathBuf::from),
            log: text("CUDA_LOG_FILE").map(PathBuf::from),
            eager: text("CUDA_MODULE_LOADING").is_some_and(|value| value.trim() == "EAGER"),
        })
    }

    /// Bytes of memory of each card: they share what there is, where nothing is said.
    pub(crate) fn memory_of_each(&self) -> u64 {
        let share = || ptx_emulator::machine::memory() / u64::from(self.devices);
        self.memory.unwrap_or_else(share)
    }
}

fn checks(list: &str) -> Result<Checks> {
    let mut checks = Checks::default();
    for word in list.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        match word {
            // Always on: nothing else keeps a kernel from the host's own memory.
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
                    "EMULATED_GPU_CHECKS: `{word}` is no check; choose among memory, \
                     initialisation, races, synchronisation, or write all"
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
        Code::INVALID_VALUE
            .because(format!("{name}: `{value}` is not a whole number from 0 upward"))
    })
}

fn threads(wanted: u64) -> Result<usize> {
    let most = ptx_emulator::MOST_THREADS;
    usize::try_from(wanted).ok().filter(|&threads| threads <= most).ok_or_else(|| {
        Code::INVALID_VALUE
            .because(format!("EMULATED_GPU_THREADS: {wanted} host threads: {most} are the most"))
    })
}

fn capability(value: &str) -> Result<u32> {
    let known = CAPABILITIES.iter().find(|number| {
        value.trim().split_once('.')
            == Some((&(*number / 10).to_string(), &(*number % 10).to_string()))
    });
    known.copied().ok_or_else(|| {
        let names: Vec<String> =
            CAPABILITIES.iter().map(|number| format!("{}.{}", number / 10, number % 10)).collect();
        Code::INVALID_VALUE
            .because(format!("EMULATED_GPU_CAPABILITY: `{value}` is none of {}", names.join(", ")))
    })
}

/// A number of cards; `who` asks for it.
///
/// # Errors
/// `INVALID_VALUE` when this many can't be.
pub(crate) fn devices(who: &str, wanted: u64) -> Result<u32> {
    let most = Devices::MOST;
    u32::try_from(wanted).ok().filter(|devices| (1..=most).contains(devices)).ok_or_else(|| {
        Code::INVALID_VALUE
            .because(format!("{who}: {wanted} cards: from 1 to {most} can be emulated"))
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
            "EMULATED_GPU_MEMORY: `{value}` is no size; write one such as 512M or 8G"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Settings> {
        let find = |name: &str| {
            let found = pairs.iter().find(|(own, _)| *own == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Settings::read(None, find)
    }

    #[test]
    fn nothing_set_is_the_default() {
        let settings = read(&[("EMULATED_GPU_CHECKS", " ")]).unwrap();
        assert_eq!(settings.checks, Checks::default());
        assert_eq!((settings.threads, settings.seed, settings.memory), (0, None, None));
        assert!(!settings.deterministic && !settings.leaks);
        assert_eq!(settings.capability, 90);
    }

    #[test]
    fn the_environment_decides_before_the_program_how_many_cards_there_are() {
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
    fn a_capability_is_two_numbers() {
        let settings = read(&[("EMULATED_GPU_CAPABILITY", " 8.6")]).unwrap();
        assert_eq!(settings.capability, 86);
    }

    #[test]
    fn sizes_have_units() {
        for (text, bytes) in
            [("512M", 512 << 20), ("8g", 8 << 30), ("1000", 1000), ("1 T", 1 << 40)]
        {
            assert_eq!(
                read(&[("EMULATED_GPU_MEMORY", text)]).unwrap().memory,
                Some(bytes),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_wrong_names_its_variable() {
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
