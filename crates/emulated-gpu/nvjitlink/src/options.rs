//! The options of `nvJitLinkCreate`, as its header lists them.

use ptx_emulator::source::Source;

use crate::input::Refusal;
use crate::status::Status;

/// The options of a link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LinkOptions {
    /// All options, as the caller wrote them.
    pub(crate) written: Vec<String>,
    /// `sm_80`, from `-arch`.
    pub(crate) target: String,
    /// The architecture as a number, such as 80.
    pub(crate) architecture: u32,
    pub(crate) max_registers: Option<u32>,
    /// Whether the inputs are LTO-IR.
    pub(crate) lto: bool,
    /// Whether the result is PTX instead of an image.
    pub(crate) ptx: bool,
    /// Whether the result may be linked again.
    pub(crate) relocatable: bool,
    pub(crate) time: bool,
    pub(crate) verbose: bool,
}

/// Options that are ignored: they concern machine code, its optimisation, or the removal of unused
/// symbols.
const IGNORED: &str = "\
    -O0 -O3 -Ofc=min -Ofc=mid -Ofc=max -g -lineinfo -optimize-unused-variables -nvvm-latest \
    -no-cache -device-stack-protector";

/// Options with a value that are ignored: they concern arithmetic (which PTX already determines),
/// unused symbols, or threads.
const IGNORED_WITH_VALUE: &str = "\
    -ftz -prec-div -prec-sqrt -fma -kernels-used -variables-used -Xptxas -Xnvvm -split-compile \
    -split-compile-extended -jump-table-density";

/// The maximum number of registers of a thread. `ptxas` ignores larger limits.
const MAX_REGISTERS: u32 = 255;

fn contains(options: &str, option: &str) -> bool {
    options.split(' ').any(|known| known == option)
}

impl LinkOptions {
    /// Reads the options.
    ///
    /// # Errors
    /// If an option is unknown or has an invalid value. The error is a result code, and a sentence
    /// for the log.
    pub(crate) fn read(written: &[String]) -> Result<Self, Refusal> {
        let mut options = Self { written: written.to_vec(), ..Self::default() };
        let mut is_virtual = false;
        for option in written {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            match name {
                "-arch" => {
                    (options.target, options.architecture) = architecture(option, value)?;
                    is_virtual = value.starts_with("compute_");
                }
                "-maxrregcount" => options.max_registers = registers(option, value)?,
                "-lto" | "-dlto" if option == name => options.lto = true,
                "-ptx" if option == name => options.ptx = true,
                "-r" if option == name => options.relocatable = true,
                "-time" if option == name => options.time = true,
                "-verbose" if option == name => options.verbose = true,
                _ if contains(IGNORED, option) => {}
                _ if contains(IGNORED_WITH_VALUE, name) && !value.is_empty() => {}
                _ => return Err(unrecognized(option)),
            }
        }
        let wrong = |status, log: &str| Err((status, log.to_owned()));
        if options.target.is_empty() {
            let message = "-arch is missing: set the architecture of the device, as in -arch=sm_80";
            return wrong(Status::MissingArch, message);
        }
        if options.ptx && !options.lto {
            return wrong(Status::IncompatibleOptions, "-ptx needs -lto");
        }
        if is_virtual && !options.ptx {
            let message = "-arch=compute_… needs -lto and -ptx: write -arch=sm_…";
            return wrong(Status::IncompatibleOptions, message);
        }
        Ok(options)
    }
}

fn unrecognized(option: &str) -> Refusal {
    (Status::UnrecognizedOption, format!("unrecognized option: {option}"))
}

/// Parses `sm_80` or `compute_80`, with an optional letter at the end. Returns the name for PTX's
/// `.target`, here `sm_80`, and the number without the letter, here 80.
fn architecture(option: &str, value: &str) -> Result<(String, u32), Refusal> {
    let number = value.strip_prefix("sm_").or_else(|| value.strip_prefix("compute_"));
    // The name is pasted into PTX, so nothing but a name is accepted.
    let is_name = |name: &&str| {
        name.starts_with(|first| matches!(first, '1'..='9'))
            && name.chars().all(|each| each.is_ascii_alphanumeric())
    };
    let number = number.filter(is_name);
    let Some(number) = number else {
        let log = format!("{option}: write an architecture, as in -arch=sm_80");
        return Err((Status::UnrecognizedOption, log));
    };
    let target = format!("sm_{number}");
    // Only the emulator has the list of architectures, so its parser checks the name.
    let source = Source { name: option.to_owned(), text: empty_module(&target) };
    match ptx_emulator::parse_part(&source) {
        Ok(module) => Ok((target, module.target)),
        Err(_) => {
            let log =
                format!("{option}: no such architecture; the emulated GPU has sm_10 to sm_121");
            Err((Status::UnrecognizedArch, log))
        }
    }
}

/// PTX without kernels, in a version that has all architectures.
pub(crate) fn empty_module(target: &str) -> String {
    format!(".version 9.0\n.target {target}\n.address_size 64\n")
}

/// Parses the maximum number of registers of a thread; `None` if the number is so large that it
/// limits nothing.
fn registers(option: &str, value: &str) -> Result<Option<u32>, Refusal> {
    let most: i64 = value.parse().map_err(|_| {
        (Status::UnrecognizedOption, format!("{option}: write a number, as in -maxrregcount=32"))
    })?;
    Ok(u32::try_from(most).ok().filter(|most| (1..=MAX_REGISTERS).contains(most)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(options: &[&str]) -> Result<LinkOptions, Refusal> {
        LinkOptions::read(&options.iter().map(|&option| option.to_owned()).collect::<Vec<_>>())
    }

    /// Parses options, and removes the caller's text from the result.
    fn parse(options: &[&str]) -> LinkOptions {
        LinkOptions { written: Vec::new(), ..read(options).unwrap() }
    }

    #[test]
    fn every_option_of_the_header_is_accepted() {
        for option in IGNORED.split(' ') {
            assert_eq!(parse(&["-arch=sm_80", option]), parse(&["-arch=sm_80"]), "{option}");
        }
        for option in IGNORED_WITH_VALUE.split(' ') {
            let option = format!("{option}=1");
            assert_eq!(parse(&["-arch=sm_80", &option]), parse(&["-arch=sm_80"]), "{option}");
        }
        let all =
            ["-arch=compute_90a", "-maxrregcount=32", "-lto", "-ptx", "-r", "-time", "-verbose"];
        let expected = LinkOptions {
            written: Vec::new(),
            target: "sm_90a".into(),
            architecture: 90,
            max_registers: Some(32),
            lto: true,
            ptx: true,
            relocatable: true,
            time: true,
            verbose: true,
        };
        assert_eq!(parse(&all), expected);
        assert_eq!(read(&all).unwrap().written, all);
    }

    #[test]
    fn register_counts_out_of_range_are_no_limit() {
        for (value, most) in
            [("1", Some(1)), ("255", Some(255)), ("256", None), ("0", None), ("-3", None)]
        {
            let option = format!("-maxrregcount={value}");
            assert_eq!(read(&["-arch=sm_80", &option]).unwrap().max_registers, most, "{option}");
        }
    }

    #[test]
    fn wrong_options_are_reported() {
        for (options, status, words) in [
            (&[][..], Status::MissingArch, "-arch is missing"),
            (&["-arch=sm_XX"], Status::UnrecognizedOption, "-arch=sm_XX: write"),
            (&["-arch"], Status::UnrecognizedOption, "-arch: write"),
            (&["-arch=80"], Status::UnrecognizedOption, "-arch=80: write"),
            (&["-arch=sm_85x"], Status::UnrecognizedArch, "no such architecture"),
            (&["-arch=sm_130"], Status::UnrecognizedArch, "no such architecture"),
            (&["-arch=sm_80\n.version 8.0"], Status::UnrecognizedOption, "write an architecture"),
            (&["-arch=sm_80, debug"], Status::UnrecognizedOption, "write an architecture"),
            (&["-arch=sm_080"], Status::UnrecognizedOption, "write an architecture"),
            (&["-arch=compute_80"], Status::IncompatibleOptions, "write -arch=sm_"),
            (&["-arch=sm_80", "-ptx"], Status::IncompatibleOptions, "needs -lto"),
            (&["-arch=sm_80", "-O2"], Status::UnrecognizedOption, "unrecognized option: -O2"),
            (&["-arch=sm_80", "-lto=1"], Status::UnrecognizedOption, "unrecognized option: -lto=1"),
            (&["-arch=sm_80", "-ftz"], Status::UnrecognizedOption, "unrecognized option: -ftz"),
            (&["-arch=sm_80", "-maxrregcount=x"], Status::UnrecognizedOption, "write a number"),
            (&["-arch=sm_80", ""], Status::UnrecognizedOption, "unrecognized option: "),
        ] {
            let (found, log) = read(options).unwrap_err();
            assert_eq!(found, status, "{options:?}: {log}");
            assert!(log.contains(words), "{options:?}: {log}");
        }
    }
}
