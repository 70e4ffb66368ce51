//! The options of `nvrtcCompileProgram`.

use std::path::PathBuf;

use cuda_c::ARCHITECTURES;

/// The default architecture.
const DEFAULT_ARCH: u32 = 52;

/// The options of a compilation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CompileOptions {
    /// The architecture, 80 for `compute_80`.
    pub(crate) arch: u32,
    /// Whether `arch` is a real architecture (`sm_80`), for which an image is requested.
    pub(crate) for_card: bool,
    /// Whether multiplications and additions are contracted to `fma`.
    pub(crate) fmad: bool,
    /// Whether warnings go into the log.
    pub(crate) warnings: bool,
    /// Macros and their values.
    pub(crate) defines: Vec<(String, String)>,
    /// Folders for `#include`.
    pub(crate) folders: Vec<PathBuf>,
}

/// Options with a value, and their short forms, that are ignored: they concern registers, less
/// exact arithmetic, or messages.
const IGNORED_WITH_VALUE: &str = "\
    --ftz -ftz --prec-div -prec-div --prec-sqrt -prec-sqrt --maxrregcount -maxrregcount --std \
    -std --dopt -dopt --ptxas-options -Xptxas --diag-error -diag-error --diag-suppress \
    -diag-suppress --diag-warn -diag-warn --version-ident -version-ident --builtin-move-forward \
    -builtin-move-forward --builtin-initializer-list -builtin-initializer-list --split-compile \
    -split-compile";

/// Options without a value that are ignored. Line numbers are always emitted.
const IGNORED: &str = "\
    --use_fast_math -use_fast_math --extra-device-vectorization -extra-device-vectorization \
    --restrict -restrict --generate-line-info -lineinfo --device-debug -G \
    --extensible-whole-program -ewp --display-error-number -err-no --no-display-error-number \
    -no-err-no --no-source-include -no-source-include --device-int128 -device-int128";

fn contains(options: &str, option: &str) -> bool {
    options.split(' ').any(|known| known == option)
}

impl CompileOptions {
    /// Reads the options in any of the forms that NVRTC accepts.
    ///
    /// # Errors
    /// If an option is unknown or has an invalid value. The error is a sentence for the log.
    pub(crate) fn read(written: &[impl AsRef<str>]) -> Result<Self, String> {
        let mut options = Self {
            arch: DEFAULT_ARCH,
            for_card: false,
            fmad: true,
            warnings: true,
            defines: Vec::new(),
            folders: Vec::new(),
        };
        let mut rest =
            written.iter().map(|option| option.as_ref().trim()).filter(|one| !one.is_empty());
        while let Some(option) = rest.next() {
            let (name, given) = name_and_value(option);
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
                            "{name}=true isn't supported: a program can't be linked with others"
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
                | "-include" => return Err(format!("{name} isn't supported")),
                _ if contains(IGNORED_WITH_VALUE, name) => drop(value()?),
                _ if contains(IGNORED, name) && given.is_none() => {}
                _ => return Err(format!("unrecognized option {option} found")),
            }
        }
        Ok(options)
    }
}

/// Name and value of `--name=value`, `-Ivalue`, `-Dvalue` and `-Uvalue`.
fn name_and_value(option: &str) -> (&str, Option<&str>) {
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

/// Parses `compute_80`, `sm_80`, or `compute_90a`, which adds features that only that architecture
/// has.
fn architecture(value: &str) -> Result<u32, String> {
    let name = value.strip_prefix("compute_").or_else(|| value.strip_prefix("sm_"));
    let name = name.map(|name| if name == "90a" { "90" } else { name });
    let supported = ARCHITECTURES.into_iter().find(|number| name == Some(&number.to_string()));
    supported.ok_or_else(|| format!("invalid value for --gpu-architecture (-arch): {value}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(options: &[&str]) -> Result<CompileOptions, String> {
        CompileOptions::read(options)
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
        let expected = CompileOptions {
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
    fn wrong_options_are_reported() {
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
            ("-rdc=true", "-rdc=true isn't supported"),
            ("-dlto", "-dlto isn't supported"),
        ] {
            let reason = read(&[option]).unwrap_err();
            assert!(reason.contains(words), "{option}: {reason}");
        }
    }
}
