//! Whether a kernel's PTX was compiled from its source as it now is.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use sha2::{Digest, Sha256};

use crate::kernels::Kernel;
use crate::library::variable;
use crate::{Compiler, GpuError, Result, compiler};

/// What stands before the digest in the header of the PTX.
const DIGEST: &str = "// source sha256: ";

/// The SHA-256 of a source in hexadecimal digits; ends of lines count as they do on Linux, so that
/// a checkout on another system does not look edited.
#[must_use]
pub fn digest(source: &str) -> String {
    let mut text = String::new();
    for byte in Sha256::digest(source.replace("\r\n", "\n")) {
        // Writing to a string can't fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The line of a PTX header that says which source it was compiled from.
pub(crate) fn digest_line(source: &str) -> String {
    format!("{DIGEST}{}", digest(source))
}

/// Whether PTX says that it was compiled from this source.
#[must_use]
pub fn is_fresh(source: &str, ptx: &str) -> bool {
    ptx.lines().find_map(|line| line.strip_prefix(DIGEST)) == Some(&digest(source))
}

/// The folder of the kernels' files, where there is one: what `FOUR_LEVELS_KERNELS` names, the
/// folder `kernels` beside the program, or that of the repository it was built in.
#[must_use]
pub fn folder() -> Option<PathBuf> {
    if let Some(folder) = variable("FOUR_LEVELS_KERNELS") {
        return Some(folder);
    }
    let program = env::current_exe().ok();
    let beside = program.as_deref().and_then(Path::parent).map(|folder| folder.join("kernels"));
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels");
    beside.into_iter().chain([repository]).find(|folder| folder.is_dir())
}

/// Every source in a folder and in those below it, in order of their names.
///
/// # Errors
/// When a folder can't be read.
pub fn all(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut sources = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            sources.extend(all(&path)?);
        } else if path.extension().is_some_and(|end| end == "cu") {
            sources.push(path);
        }
    }
    sources.sort();
    Ok(sources)
}

/// A source's name as people should read it: from the folder `kernels` on, `kernels/relu.cu`.
#[must_use]
pub fn shown(path: &Path) -> String {
    let names: Vec<_> = path.iter().map(|name| name.to_string_lossy()).collect();
    let start = names.iter().rposition(|name| name == "kernels").unwrap_or(names.len() - 1);
    names[start..].join("/")
}

/// The PTX of a kernel: from the folder that was given, else from [`folder`], or as it was built into
/// the program where there is none.
/// What NVIDIA's compiler made is taken where it is of the source as it is now; the rest is compiled,
/// and by the built-in compiler, where that was chosen, everything.
///
/// # Errors
/// When a file can't be read, or the source can't be compiled.
pub(crate) fn ptx(
    kernel: &Kernel,
    choice: Option<Compiler>,
    given: Option<&Path>,
) -> Result<String> {
    let compile = |file: &str, source: &str| compiler::edited(choice, file, source);
    let anew = choice == Some(Compiler::BuiltIn);
    match given.map(Path::to_owned).or_else(folder) {
        Some(folder) => ptx_in(&folder, kernel, anew, compile),
        None if anew => compile(&file(kernel), kernel.source),
        None => Ok(kernel.ptx.to_owned()),
    }
}

/// A kernel's source as people should read it.
fn file(kernel: &Kernel) -> String {
    format!("kernels/{}.cu", kernel.name)
}

/// The same, from a given folder and by a given compiler of a file's name and a source, which
/// compiles `anew` what was compiled before, too.
fn ptx_in(
    folder: &Path,
    kernel: &Kernel,
    anew: bool,
    compile: impl FnOnce(&str, &str) -> Result<String>,
) -> Result<String> {
    let read = |extension: &str| {
        let path = folder.join(format!("{}.{extension}", kernel.name));
        host::input::text(&path).map_err(|error| GpuError::Read { path, reason: error.to_string() })
    };
    let source = read("cu")?;
    if anew {
        return compile(&file(kernel), &source);
    }
    if source == kernel.source && is_fresh(&source, kernel.ptx) {
        return Ok(kernel.ptx.to_owned());
    }
    // The PTX may be missing where the source is all there is; then it has to be compiled, too.
    if let Ok(ptx) = read("ptx")
        && is_fresh(&source, &ptx)
    {
        return Ok(ptx);
    }
    compile(&file(kernel), &source).map_err(|error| match error {
        GpuError::NoCompiler(reason) => {
            GpuError::Stale { path: folder.join(format!("{}.cu", kernel.name)), reason }
        }
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relu() -> Kernel {
        Kernel::find("relu").expect("a kernel")
    }

    fn folder_with(source: &str, ptx: Option<&str>) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("relu.cu"), source).unwrap();
        if let Some(ptx) = ptx {
            fs::write(folder.path().join("relu.ptx"), ptx).unwrap();
        }
        folder
    }

    fn no_compiler(_: &str, _: &str) -> Result<String> {
        Err(GpuError::NoCompiler("NVRTC is not found".into()))
    }

    #[test]
    fn ptx_of_the_source_as_it_is_needs_no_compiler() {
        let kernel = relu();
        // The same with the ends of lines that git writes on Windows.
        for source in [kernel.source.to_owned(), kernel.source.replace('\n', "\r\n")] {
            let folder = folder_with(&source, Some(kernel.ptx));
            assert_eq!(ptx_in(folder.path(), &kernel, false, no_compiler).unwrap(), kernel.ptx);
        }
        let edited = kernel.source.replace("0.0f", "1.0f");
        let compiled = format!("{}\n.version 8.0\n", digest_line(&edited));
        let folder = folder_with(&edited, Some(&compiled));
        assert_eq!(ptx_in(folder.path(), &kernel, false, no_compiler).unwrap(), compiled);
    }

    #[test]
    fn an_edited_source_is_compiled() {
        let kernel = relu();
        let edited = kernel.source.replace("0.0f", "1.0f");
        for ptx in [Some(kernel.ptx), None] {
            let folder = folder_with(&edited, ptx);
            let compile = |name: &str, source: &str| Ok(format!("{name}: {}", digest(source)));
            let found = ptx_in(folder.path(), &kernel, false, compile).unwrap();
            assert_eq!(found, format!("kernels/relu.cu: {}", digest(&edited)));
        }
    }

    #[test]
    fn everything_is_compiled_anew_where_that_is_asked_for() {
        let kernel = relu();
        let folder = folder_with(kernel.source, Some(kernel.ptx));
        let compile = |name: &str, _: &str| Ok(name.to_owned());
        assert_eq!(ptx_in(folder.path(), &kernel, true, compile).unwrap(), "kernels/relu.cu");
    }

    #[test]
    fn an_edited_source_without_a_compiler_says_how_to_get_one() {
        let kernel = relu();
        let folder = folder_with(&format!("{}// edited\n", kernel.source), Some(kernel.ptx));
        let said = ptx_in(folder.path(), &kernel, false, no_compiler).unwrap_err().to_string();
        for words in [
            "relu.cu was edited",
            "NVRTC is not found",
            "--compiler built-in",
            "pip install nvidia-cuda-nvrtc-cu12",
        ] {
            assert!(said.contains(words), "{said}");
        }
    }

    #[test]
    fn a_folder_without_the_kernel_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let said = ptx_in(folder.path(), &relu(), false, no_compiler).unwrap_err().to_string();
        assert!(said.starts_with("can't read ") && said.contains("relu.cu"), "{said}");
    }

    #[test]
    fn a_source_is_shown_from_the_folder_kernels_on() {
        assert_eq!(shown(Path::new("/x/kernels/../kernels/more/relu.cu")), "kernels/more/relu.cu");
        assert_eq!(shown(Path::new("elsewhere/relu.cu")), "relu.cu");
    }

    #[test]
    fn the_digest_is_sha256() {
        // FIPS 180-4, the example of the one-block message.
        assert_eq!(
            digest("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
