//! The source of the images: MNIST in a folder, in the user's cache or from the network, or the
//! built-in digits.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::download::{Downloader, MIRRORS};
use crate::mnist::{self, File, FileContent};
use crate::written_by_name;
use crate::{Counts, DataError, Digits, Origin, PIXELS, digits};

/// How long to wait in total for mirrors that do not answer.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// The images to load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// MNIST if it is available, otherwise the built-in digits.
    Auto,
    /// MNIST, or an error.
    Mnist,
    /// The digits that this program draws.
    Digits,
}

written_by_name!(Source, "source of images", Auto: "auto", Mnist: "mnist", Digits: "digits");

/// Loads the images from `folder` if it is given, otherwise from the user's cache, otherwise from the network (storing
/// them in the cache). If all of these fail, [`Source::Auto`] falls back to drawing the digits. A download or a
/// fallback is reported through `notice`, in one line, at most once.
///
/// `counts` limits the numbers of images that are loaded, of the 60,000 training images and 10,000 test images.
///
/// # Errors
/// If the folder is given but is not MNIST, for both sources that use it; with [`Source::Mnist`] also if MNIST is not
/// in the cache and can't be downloaded.
pub fn load(
    source: Source,
    folder: Option<&Path>,
    counts: Counts,
    notice: &mut dyn FnMut(&str),
) -> Result<Digits, DataError> {
    let places = MnistPlaces {
        folder,
        cache: dirs::cache_dir().map(|cache| cache.join("four-levels-down").join("mnist")),
        mirrors: &MIRRORS,
        max_wait: MAX_WAIT,
        proxy: None,
        files: &mnist::FILES,
    };
    load_from(source, &places, counts, notice)
}

/// The places where MNIST is searched for, and its files.
pub(crate) struct MnistPlaces<'a> {
    /// The folder that the user named.
    pub(crate) folder: Option<&'a Path>,
    /// The cache folder, if the user has one.
    pub(crate) cache: Option<PathBuf>,
    /// Base URLs, to which a file's name is appended.
    pub(crate) mirrors: &'a [&'a str],
    /// How long to wait in total for mirrors that do not answer.
    pub(crate) max_wait: Duration,
    /// The proxy for downloads; `None`: the one in the environment; empty: no proxy.
    pub(crate) proxy: Option<&'a str>,
    /// Names and digests of the four files.
    pub(crate) files: &'a [File; 4],
}

/// Like [`load`], but with explicit places, so that tests can replace them.
pub(crate) fn load_from(
    source: Source,
    places: &MnistPlaces<'_>,
    counts: Counts,
    notice: &mut dyn FnMut(&str),
) -> Result<Digits, DataError> {
    check_memory(counts)?;
    if source == Source::Digits {
        return Ok(built_in(counts));
    }
    if let Some(folder) = places.folder {
        return mnist::read_folder(folder, places.files, counts);
    }
    match cached_or_downloaded(places, counts, notice) {
        Ok(digits) => Ok(digits),
        Err(why) if source == Source::Mnist => Err(DataError::Unusable(format!(
            "{why}: put its four files into a folder and name it with --data-dir or MNIST_DIR, or use \
             --data digits"
        ))),
        Err(why) => {
            notice(&format!(
                "using the built-in digits, because {why}; to use MNIST, put its four files into a \
                 folder and name it with --data-dir or MNIST_DIR"
            ));
            Ok(built_in(counts))
        }
    }
}

/// Checks that the images fit into memory, both as bytes and as `f32`.
fn check_memory(counts: Counts) -> Result<(), DataError> {
    let Counts { train, test } = Counts::ALL;
    let images = (counts.train.min(train) + counts.test.min(test)) as u64;
    let each = PIXELS * (size_of::<u8>() + size_of::<f32>());
    host::memory::check(images * each as u64)
        .map_err(|shortage| DataError::Memory { images, shortage })
}

fn built_in(counts: Counts) -> Digits {
    let (train, test) = digits::built_in(counts);
    Digits { train, test, origin: Origin::Synthetic }
}

/// Loads MNIST from the user's cache. Files that are missing there, or damaged, are downloaded.
///
/// # Errors
/// If MNIST is not in the cache and can't be downloaded. The error is a clause with both reasons.
fn cached_or_downloaded(
    places: &MnistPlaces<'_>,
    counts: Counts,
    notice: &mut dyn FnMut(&str),
) -> Result<Digits, String> {
    let mut damaged = Vec::new();
    let outcome = fetch_missing(places, &mut damaged).and_then(|(cache, contents, downloaded)| {
        let digits = mnist::digits(&cache, places.files, contents, counts);
        Ok((digits.map_err(|error| error.to_string())?, cache, downloaded))
    });
    let damage = damaged.join("; ");
    match outcome {
        Ok((digits, cache, true)) => {
            let repaired = if damaged.is_empty() {
                String::new()
            } else {
                format!(" to replace damaged files: {damage}")
            };
            notice(&format!("downloaded MNIST into {}{repaired}", host::shown(&cache)));
            Ok(digits)
        }
        Ok((digits, ..)) => Ok(digits),
        Err(reason) if damaged.is_empty() => {
            Err(format!("MNIST is not on this machine and can't be downloaded ({reason})"))
        }
        Err(reason) => Err(format!(
            "MNIST's files on this machine are damaged ({damage}) and can't be downloaded again \
             ({reason})"
        )),
    }
}

/// Downloads the files that the cache lacks. Returns the cache's path, the contents of the four files, and whether a
/// file was downloaded. Adds damaged files in the cache to `damaged`.
fn fetch_missing(
    places: &MnistPlaces<'_>,
    damaged: &mut Vec<String>,
) -> Result<(PathBuf, Vec<FileContent>, bool), String> {
    let cache = places.cache.clone().ok_or("this user has no cache folder")?;
    let found: Vec<_> = places.files.iter().map(|file| cached(file, &cache, damaged)).collect();
    let mut downloader = None;
    let mut contents = Vec::new();
    for (file, content) in places.files.iter().zip(found) {
        if let Some(content) = content {
            contents.push(content);
            continue;
        }
        // The folder is created before the download, so that nothing is downloaded if creating it fails.
        fs::create_dir_all(&cache)
            .map_err(|error| format!("can't create {}: {error}", host::shown(&cache)))?;
        let downloader = downloader
            .get_or_insert_with(|| Downloader::new(places.mirrors, places.max_wait, places.proxy));
        contents.push(downloader.fetch(file, &cache)?);
    }
    Ok((cache, contents, downloader.is_some()))
}

/// Reads a file from the cache, if it has the published digest. A file with another digest is added to `damaged`.
fn cached(file: &File, cache: &Path, damaged: &mut Vec<String>) -> Option<FileContent> {
    let mut damages = Vec::new();
    for path in file.paths(cache) {
        match mnist::exists(&path)
            .and_then(|exists| exists.then(|| FileContent::read(path.clone())).transpose())
        {
            Ok(None) => {}
            Ok(Some(content)) if content.digest == file.digest => return Some(content),
            Ok(Some(content)) => damages.push(format!(
                "the decompressed {} has the SHA-256 {}, not {}",
                host::shown(&path),
                content.digest,
                file.digest
            )),
            Err(error) => damages.push(error.to_string()),
        }
    }
    damaged.extend(damages);
    None
}

#[cfg(test)]
mod tests;
