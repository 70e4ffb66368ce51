//! The search for NVIDIA's libraries and tools: on the loader's path, in a toolkit, in Python wheels.
//!
//! A library runs its code in this process as soon as it is loaded, so a library is only loaded if the user named it or
//! its folder (an environment variable, `PATH`, an active Python environment), or if it is in a folder of the system. A
//! library in another place, such as in the `.venv` of a parent folder, is reported and not loaded, because any user
//! who can write there could have put it there.
//!
//! The environment variables that are read are listed in the crate's documentation.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// Candidates for the file of a library such as `nvrtc` or `cublas`, the likeliest first. If `FOUR_LEVELS_<NAME>` is
/// set, the only candidate is that file. Otherwise these are the plain names, which the loader searches for, then the
/// files in toolkits and in wheels, with any version suffix.
#[must_use]
pub fn candidates(library: &str) -> Vec<PathBuf> {
    if let Some(path) = variable(variable_name(library)) {
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
    found.extend(in_wheels(&active_environments(), &stem));
    found
}

/// An addition to the message that a library was not found: it names a file that was found but not loaded, and how to
/// get it loaded. Empty if there is no such file, or if the user named another file.
pub(crate) fn unloaded_file_hint(library: &str) -> String {
    if variable(variable_name(library)).is_some() {
        return String::new();
    }
    let here = env::current_dir().unwrap_or_default();
    unloaded_file_hint_from(library, &here, variable("HOME"))
}

fn unloaded_file_hint_from(library: &str, here: &Path, home: Option<PathBuf>) -> String {
    let mut near: Vec<PathBuf> = here.ancestors().map(|folder| folder.join(".venv")).collect();
    near.extend(home.map(|home| home.join(".local")));
    let found = in_wheels(&near, &format!("lib{library}.so")).into_iter().next();
    found.map_or_else(String::new, |path| {
        format!(
            "; {} is not loaded, because nothing names it: activate its Python environment, or set \
             {} to this file",
            host::shown(&path),
            variable_name(library)
        )
    })
}

/// The name of the environment variable that contains the path of a library.
fn variable_name(library: &str) -> String {
    format!("FOUR_LEVELS_{}", library.to_uppercase())
}

/// The paths at which a tool such as `ptxas` or `nvcc` may be: on the `PATH`, in a toolkit, in a wheel.
#[must_use]
pub fn tools(tool: &str) -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    // Relative paths are skipped, because they depend on the working directory. An empty path is relative, too.
    let folders = env::split_paths(&path).filter(|folder| folder.is_absolute());
    let installed = toolkits()
        .into_iter()
        .chain(wheels(&active_environments()))
        .map(|folder| folder.join("bin"));
    folders.chain(installed).map(|folder| folder.join(tool)).filter(|path| path.is_file()).collect()
}

/// The loader's message, without libloading's prefix.
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

/// The active Python environments, and the system's.
fn active_environments() -> Vec<PathBuf> {
    let named = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(variable);
    named.chain(["/usr/local", "/usr"].map(PathBuf::from)).collect()
}

/// The files of a library in the wheels of these environments.
fn in_wheels(environments: &[PathBuf], stem: &str) -> Vec<PathBuf> {
    wheels(environments).iter().flat_map(|folder| versions(&folder.join("lib"), stem)).collect()
}

/// Folders of NVIDIA's Python wheels: `site-packages/nvidia/*`, each with a `lib` or a `bin`.
fn wheels(environments: &[PathBuf]) -> Vec<PathBuf> {
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

/// The files `libname.so` and `libname.so.12` (with any version) in a folder, the highest version first, but not
/// `libname.alt.so`.
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

/// The entries of a folder whose names fit, in reverse order of names: later versions first.
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

/// A path in an environment variable; `None` if it is empty or not set.
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
    fn a_library_in_a_venv_nearby_is_reported_and_not_a_candidate() {
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().join("project/deep");
        fs::create_dir_all(&below).unwrap();
        let library = |environment: &str| {
            let wheel = "lib/python3.11/site-packages/nvidia/nosuchlibrary/lib";
            let lib = folder.path().join(environment).join(wheel);
            fs::create_dir_all(&lib).unwrap();
            fs::write(lib.join("libnosuchlibrary.so.12"), "").unwrap();
            lib.join("libnosuchlibrary.so.12")
        };
        assert_eq!(unloaded_file_hint_from("nosuchlibrary", &below, None), "");
        let home = folder.path().join("home");
        let in_home = library("home/.local");
        let said = unloaded_file_hint_from("nosuchlibrary", &below, Some(home.clone()));
        assert!(said.contains(&in_home.display().to_string()), "{said}");
        let above = library(".venv");
        let said = unloaded_file_hint_from("nosuchlibrary", &below, Some(home));
        for words in [&above.display().to_string(), "is not loaded", "FOUR_LEVELS_NOSUCHLIBRARY"] {
            assert!(said.contains(words), "{said}");
        }
        let named = wheels(&[folder.path().join(".venv")]);
        assert_eq!(named.len(), 1, "the same folder, named by VIRTUAL_ENV");
    }

    #[test]
    fn the_plain_names_come_first() {
        let found = candidates("nosuchlibrary");
        assert_eq!(found[0], Path::new("libnosuchlibrary.so"));
        assert!(found.contains(&PathBuf::from("libnosuchlibrary.so.12")));
    }
}
