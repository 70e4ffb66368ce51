//! Where NVIDIA's libraries and tools are: on the loader's path, in a toolkit, in Python wheels.
//!
//! The environment variables that are read are listed in the crate's documentation.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// The files that a library such as `nvrtc` or `cublas` may be, the likeliest first: what
/// `FOUR_LEVELS_<NAME>` names alone, where it is set; else what a toolkit or a wheel holds,
/// whatever the version in its suffix, and before them the plain names, which the loader looks for.
#[must_use]
pub fn candidates(library: &str) -> Vec<PathBuf> {
    if let Some(path) = variable(format!("FOUR_LEVELS_{}", library.to_uppercase())) {
        return vec![path];
    }
    let stem = format!("lib{library}.so");
    let mut found = vec![PathBuf::from(&stem)];
    found.extend((11..=14).rev().map(|major| PathBuf::from(format!("{stem}.{major}"))));
    for folder in toolkits() {
        for below in ["lib64", "lib", "targets/x86_64-linux/lib"] {
            found.extend(versions(&folder.join(below), &stem));
        }
    }
    for folder in wheels() {
        found.extend(versions(&folder.join("lib"), &stem));
    }
    found
}

/// The files that a tool such as `ptxas` or `nvcc` may be: on the `PATH`, in a toolkit, in a wheel.
#[must_use]
pub fn tools(tool: &str) -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).collect::<Vec<_>>().into_iter();
    let installed = toolkits().into_iter().chain(wheels()).map(|folder| folder.join("bin"));
    folders.chain(installed).map(|folder| folder.join(tool)).filter(|path| path.is_file()).collect()
}

/// What the loader says; libloading keeps it behind words of its own.
pub(crate) fn reason(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

/// Folders of CUDA toolkits.
fn toolkits() -> Vec<PathBuf> {
    let variables =
        ["CUDA_PATH", "CUDA_HOME", "CUDA_ROOT", "CUDA_TOOLKIT_ROOT_DIR", "CONDA_PREFIX"];
    let mut folders: Vec<PathBuf> = variables.into_iter().filter_map(variable).collect();
    folders.extend(["/usr/local/cuda", "/opt/cuda"].map(PathBuf::from));
    folders.extend(entries(Path::new("/usr/local"), |name| name.starts_with("cuda-")));
    folders
}

/// Folders of NVIDIA's Python wheels: `site-packages/nvidia/*`, each with a `lib` or a `bin`.
fn wheels() -> Vec<PathBuf> {
    let mut environments: Vec<PathBuf> =
        ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(variable).collect();
    let here = env::current_dir().unwrap_or_default();
    environments.extend(here.ancestors().map(|folder| folder.join(".venv")));
    environments.extend(variable("HOME").map(|home| home.join(".local")));
    environments.extend(["/usr/local", "/usr"].map(PathBuf::from));
    let mut folders = Vec::new();
    for environment in environments {
        for python in entries(&environment.join("lib"), |name| name.starts_with("python3")) {
            for packages in ["site-packages", "dist-packages"] {
                folders.extend(entries(&python.join(packages).join("nvidia"), |_| true));
            }
        }
    }
    folders
}

/// `libname.so` and `libname.so.12` in a folder, the highest version first; not `libname.alt.so`.
fn versions(folder: &Path, stem: &str) -> Vec<PathBuf> {
    let number = |name: &str| -> Option<Vec<u32>> {
        match name.strip_prefix(stem)? {
            "" => Some(vec![u32::MAX]),
            suffix => suffix.strip_prefix('.')?.split('.').map(|part| part.parse().ok()).collect(),
        }
    };
    let mut found: Vec<(Vec<u32>, PathBuf)> = entries(folder, |name| number(name).is_some())
        .into_iter()
        .filter_map(|path| Some((number(path.file_name()?.to_str()?)?, path)))
        .collect();
    found.sort_by(|a, b| b.0.cmp(&a.0));
    found.into_iter().map(|(_, path)| path).collect()
}

/// What lies in a folder under a name that fits, in reverse order of names: later versions first.
fn entries(folder: &Path, fits: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let Ok(listing) = fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<PathBuf> = listing
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(&fits))
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found.reverse();
    found
}

/// A path in an environment variable; an empty one counts as none.
pub(crate) fn variable(name: impl Into<OsString>) -> Option<PathBuf> {
    env::var_os(name.into()).filter(|value| !value.is_empty()).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_version_of_a_library_comes_first() {
        let folder = tempfile::tempdir().unwrap();
        let names = [
            "libnvrtc.so.12",
            "libnvrtc.so.9.2",
            "libnvrtc.so.13",
            "libnvrtc.alt.so.14",
            "libnvrtc.so.old",
            "libnvrtc-builtins.so.12.9",
        ];
        for name in names {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let found = versions(folder.path(), "libnvrtc.so");
        let names: Vec<_> = found.iter().map(|path| path.file_name().unwrap()).collect();
        assert_eq!(names, ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.9.2"]);
    }

    #[test]
    fn the_loader_is_asked_first() {
        let found = candidates("nosuchlibrary");
        assert_eq!(found[0], Path::new("libnosuchlibrary.so"));
        assert!(found.contains(&PathBuf::from("libnosuchlibrary.so.12")));
    }
}
