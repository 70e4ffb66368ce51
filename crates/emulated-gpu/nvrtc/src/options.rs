//! The options of `nvrtcCompileProgram`.

use std::path::PathBuf;

use cuda_c::ARCHITECTURES;

/// What a program is compiled for where nothing is said.
const DEFAULT: u32 = 52;

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// 80 for `compute_80`.
    pub(crate) arch: u32,
    /// Whether it is a card's, `sm_80`, for which there is to be an image.
    pub(crate) for_card: bool,
    /// Whether a product that is added becomes `fma`.
    pub(crate) fmad: bool,
    /// Whether warnings go into the log.
    pub(crate) warnings: bool,
    /// Macros and their values.
    pub(crate) defines: Vec<(String, String)>,
    /// Folders for `#include`.
    pub(crate) folders: Vec<PathBuf>,
}

/// Options that have a value, with their short forms, and that change nothing here: they are about
/// registers, about arithmetic that may be less exact, or about messages.
const IDLE_VALUES: &[&str] = &[
    "--ftz",
    "-ftz",
    "--prec-div",
    "-prec-div",
    "--prec-sqrt",
    "-prec-sqrt",
    "--maxrregcount",
    "-maxrregcount",
    "--std",
    "-std",
    "--dopt",
    "-dopt",
    "--ptxas-options",
    "-Xptxas",
    "--diag-error",
    "-diag-error",
    "--diag-suppress",
    "-diag-suppress",
    "--diag-warn",
    "-diag-warn",
    "--version-ident",
    "-version-ident",
    "--builtin-move-forward",
    "-builtin-move-forward",
    "--builtin-initializer-list",
    "-builtin-initializer-list",
    "--split-compile",
    "-split-compile",
];

/// The same without a value. Lines are always known.
const IDLE: &[&str] = &[
    "--use_fast_math",
    "-use_fast_math",
    "--extra-device-vectorization",
    "-extra-device-vectorization",
    "--restrict",
    "-restrict",
    "--generate-line-info",
    "-lineinfo",
    "--device-debug",
    "-G",
    "--extensible-whole-program",
    "-ewp",
    "--display-error-number",
    "-err-no",
    "--no-display-error-number",
    "-no-err-no",
    "--no-source-include",
    "-no-source-include",
    "--device-int128",
    "-device-int128",
];

impl Options {
    /// Reads the options, in any of NVRTC's ways to write them.
    ///
    /// # Errors
    /// A sentence for the log.
    pub(crate) fn read(written: &[impl AsRef<str>]) -> Result<Self, String> {
        let mut options = Self {
            arch: DEFAULT,
            for_card: false,
            fmad: true,
            warnings: true,
            defines: Vec::new(),
            folders: Vec::new(),
        };
        let mut rest =
            written.iter().map(|option| option.as_ref().trim()).filter(|one| !one.is_empty());
        while let Some(option) = rest.next() {
            let (name, given) = split(option);
            let mut value = || match given {
                Some(value) => Ok(value.to_owned()),
                None => rest.next().map(str::to_owned).ok_or(format!("{name} has no value")),
            };
            match name {
                "--gpu-architecture" | "-arch" => {
                    let value = value()?;
                    options.arch = architecture(&value)?;
                    options.for_card = value.starts_with("sm_");
                }
                "--fmad" | "-fmad" => options.fmad = boolean(name, &value()?)?,
                "--include-path" | "-I" => options.folders.push(value()?.into()),
                "--define-macro" | "-D" => {
                    let value = value()?;
                    let (name, value) = value.split_once('=').unwrap_or((&value, "1"));
                    options.defines.push((name.to_owned(), value.to_owned()));
                }
                "--undefine-macro" | "-U" => {
                    let name = value()?;
                    options.defines.retain(|(other, _)| *other != name);
                }
                "--disable-warnings" | "-w" => options.warnings = false,
                "--relocatable-device-code" | "-rdc" => {
                    if boolean(name, &value()?)? {
                        return Err(format!(
                            "{name}=true isn't built: one program is all there is"
                        ));
                    }
                }
                "--device-c"
                | "-dc"
                | "--dlink-time-opt"
                | "-dlto"
                | "--optix-ir"
                | "-optix-ir"
                | "--device-as-default-execution-space"
                | "-default-device"
                | "--pre-include"
                | "-include" => return Err(format!("{name} isn't built")),
                _ if IDLE_VALUES.contains(&name) => drop(value()?),
                _ if IDLE.contains(&name) && given.is_none() => {}
                _ => return Err(format!("unrecognized option {option} found")),
            }
        }
        Ok(options)
    }
}

/// Name and value of `--name=value`, `-Ivalue`, `-Dvalue` and `-Uvalue`.
fn split(option: &str) -> (&str, Option<&str>) {
    for short in ["-I", "-D", "-U"] {
        if let Some(value) = option.strip_prefix(short) {
            return (short, (!value.is_empty()).then_some(value));
        }
    }
    option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)))
}

fn boolean(name: &str, value: &str) -> Result<bool, String> {
    value
        .parse()
        .map_err(|_| format!("invalid value for {name}: {value} is neither true nor false"))
}

/// `compute_80`, `sm_80`, or `compute_90a`, whose features no other architecture has.
fn architecture(value: &str) -> Result<u32, String> {
    let name = value.strip_prefix("compute_").or_else(|| value.strip_prefix("sm_"));
    let name = name.map(|name| if name == "90a" { "90" } else { name });
    let known = ARCHITECTURES.into_iter().find(|number| name == Some(&number.to_string()));
    known.ok_or_else(|| format!("invalid value for --gpu-architecture (-arch): {value}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(options: &[&str]) -> Result<Options, String> {
        Options::read(options)
    }

    #[test]
    fn options_in_all_their_forms() {
        let options = read(&[
            "--gpu-architecture=compute_80",
            "-DA",
            "-D",
            "B=x=y",
            "--define-macro=C=3",
            "-UA",
            "-I/some/folder",
            "--include-path",
            "other",
            "--fmad=false",
            "-w",
            "--std=c++17",
            "--use_fast_math",
            "-G",
            " --ftz=true ",
            "",
        ]);
        let defines = [("B", "x=y"), ("C", "3")];
        let expected = Options {
            arch: 80,
            for_card: false,
            fmad: false,
            warnings: false,
            defines: defines.map(|(name, value)| (name.into(), value.into())).into(),
            folders: vec!["/some/folder".into(), "other".into()],
        };
        assert_eq!(options, Ok(expected));
        let card = read(&["-arch=sm_90a"]).unwrap();
        assert_eq!((card.arch, card.for_card), (90, true));
        assert_eq!(read(&[]).unwrap().arch, 52);
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (option, words) in [
            ("--nonsense", "unrecognized option --nonsense found"),
            ("-G=3", "unrecognized option -G=3 found"),
            (
                "--gpu-architecture=compute_20",
                "invalid value for --gpu-architecture (-arch): compute_20",
            ),
            ("-arch=", "invalid value for --gpu-architecture"),
            ("-arch=80", "invalid value for --gpu-architecture"),
            ("-arch=sm_79", "invalid value for --gpu-architecture (-arch): sm_79"),
            ("-arch=sm_+80", "invalid value for --gpu-architecture (-arch): sm_+80"),
            ("-arch=sm_080", "invalid value for --gpu-architecture (-arch): sm_080"),
            ("-arch=sm_80a", "invalid value for --gpu-architecture (-arch): sm_80a"),
            ("-arch=sm_90aa", "invalid value for --gpu-architecture (-arch): sm_90aa"),
            ("-arch=sm_42949672960", "invalid value for --gpu-architecture"),
            ("--fmad=perhaps", "perhaps is neither true nor false"),
            ("-I", "-I has no value"),
            ("-rdc=true", "-rdc=true isn't built"),
            ("-dlto", "-dlto isn't built"),
        ] {
            let said = read(&[option]).unwrap_err();
            assert!(said.contains(words), "{option}: {said}");
        }
    }
}
