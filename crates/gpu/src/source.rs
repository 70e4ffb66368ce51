//! Kernel sources, and the check that a kernel's PTX is up to date with its source.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use sha2::{Digest, Sha256};

use crate::kernels::Kernel;
use crate::library::variable;
use crate::{Compiler, GpuError, Result, compiler};

/// The text before the digest in the first lines of the PTX.
const DIGEST: &str = "// source sha256: ";

/// The SHA-256 of a source in hexadecimal digits, with Linux line ends, so that a checkout on Windows does not
/// look edited.
#[must_use]
pub fn digest(source: &str) -> String {
    let digest = Sha256::digest(source.replace("\r\n", "\n"));
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The line of PTX with the digest of its source.
pub(crate) fn digest_line(source: &str) -> String {
    format!("{DIGEST}{}", digest(source))
}

/// Whether PTX was compiled from this source, according to the digest in the PTX.
#[must_use]
pub fn is_fresh(source: &str, ptx: &str) -> bool {
    ptx.lines().find_map(|line| line.strip_prefix(DIGEST)) == Some(&digest(source))
}

/// The folder of the kernels' files: `FOUR_LEVELS_KERNELS`, or the folder `kernels` next to the program, or the folder
/// `kernels` of the repository in which the program was built. `None` if none of them exists.
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

/// Every source in a folder and its subfolders, in order of their names.
///
/// # Errors
/// If a folder can't be read.
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

/// A source's name for messages, from the folder `kernels` on: `kernels/relu.cu`.
#[must_use]
pub fn shown(path: &Path) -> String {
    let names: Vec<_> = path.iter().map(|name| name.to_string_lossy()).collect();
    let start = names.iter().rposition(|name| name == "kernels").unwrap_or(names.len() - 1);
    names[start..].join("/")
}

/// The PTX of a kernel. Its files are in the folder `given`, otherwise in [`folder`]; if neither exists, the copy that
/// was built into the program is used. Existing PTX is used if it is up to date and the built-in compiler wasn't
/// chosen; otherwise the source is compiled.
///
/// # Errors
/// [`GpuError::Read`] if a file can't be read; an error of the compiler.
pub(crate) fn ptx(
    kernel: &Kernel,
    choice: Option<Compiler>,
    given: Option<&Path>,
) -> Result<String> {
    let compile = |file: &str, source: &str| compiler::compile_edited(choice, file, source);
    let always = choice == Some(Compiler::BuiltIn);
    match given.map(Path::to_owned).or_else(folder) {
        Some(folder) => ptx_in(&folder, kernel, always, compile),
        None if always => compile(&file(kernel), kernel.source),
        None => Ok(kernel.ptx.to_owned()),
    }
}

/// The name of a kernel's source for messages.
fn file(kernel: &Kernel) -> String {
    format!("kernels/{}.cu", kernel.name)
}

/// The PTX of a kernel in a folder. `compile` takes the file's name and its source; with `always`, it is called
/// even if the existing PTX is up to date.
fn ptx_in(
    folder: &Path,
    kernel: &Kernel,
    always: bool,
    compile: impl FnOnce(&str, &str) -> Result<String>,
) -> Result<String> {
    let read = |extension: &str| {
        let path = folder.join(format!("{}.{extension}", kernel.name));
        host::input::text(&path).map_err(|error| GpuError::Read { path, reason: error.to_string() })
    };
    let source = read("cu")?;
    if always {
        return compile(&file(kernel), &source);
    }
    if source == kernel.source && is_fresh(&source, kernel.ptx) {
        return Ok(kernel.ptx.to_owned());
    }
    // If the folder has no PTX for the kernel, its source has to be compiled too.
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
    fn current_ptx_needs_no_compiler() {
        let kernel = relu();
        // The PTX is current also if the source has the line ends that git writes on Windows.
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
    fn with_always_current_ptx_is_compiled_again() {
        let kernel = relu();
        let folder = folder_with(kernel.source, Some(kernel.ptx));
        let compile = |name: &str, _: &str| Ok(name.to_owned());
        assert_eq!(ptx_in(folder.path(), &kernel, true, compile).unwrap(), "kernels/relu.cu");
    }

    #[test]
    fn the_error_for_a_missing_compiler_has_the_remedy() {
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
    fn the_error_for_a_missing_kernel_names_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let said = ptx_in(folder.path(), &relu(), false, no_compiler).unwrap_err().to_string();
        assert!(said.starts_with("can't read ") && said.contains("relu.cu"), "{said}");
    }

    #[test]
    fn the_name_of_a_source_begins_with_the_folder_kernels() {
        assert_eq!(shown(Path::new("/x/kernels/../kernels/more/relu.cu")), "kernels/more/relu.cu");
        assert_eq!(shown(Path::new("elsewhere/relu.cu")), "relu.cu");
    }

    #[test]
    fn the_digest_is_sha256() {
        // The example of a one-block message in FIPS 180-4.
        assert_eq!(
            digest("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
