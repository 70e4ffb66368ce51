//! Where the images come from: MNIST in a folder, in the user's cache or on the network, or the
//! built-in digits.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use ureq::Proxy;

use crate::download::{self, Downloader, MIRRORS};
use crate::mnist::{self, Content, File};
use crate::{Counts, DataError, Digits, Origin, PIXELS, UnknownName, digits};

/// A network that does not answer is given up on after this time, over all mirrors and files.
const PATIENCE: Duration = Duration::from_secs(5);

/// Which images are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// MNIST where it can be had, else the built-in digits.
    Auto,
    /// MNIST, or an error.
    Mnist,
    /// The digits that this program draws.
    Digits,
}

impl Source {
    /// Every source there is.
    pub const ALL: [Self; 3] = [Self::Auto, Self::Mnist, Self::Digits];

    /// The name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Mnist => "mnist",
            Self::Digits => "digits",
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

// Not clap's `ValueEnum`: this crate knows of no command line, and a page in the browser uses it too.
impl FromStr for Source {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|source| source.name() == text).ok_or_else(|| UnknownName {
            what: "source of images",
            given: text.into(),
            known: "auto, mnist, digits",
        })
    }
}

/// Finds the images: in `folder` when one is given, else in the user's cache, else on the
/// network (into that cache), else, with [`Source::Auto`], draws them. What a person should know
/// of that is told through `notice`, in one line, at most once.
///
/// There are 60,000 images to train on and 10,000 to test with, the first of which are taken.
///
/// # Errors
/// When a folder is given and is not MNIST, for either of the sources that would use it; with
/// [`Source::Mnist`] also when MNIST is neither in the cache nor can be downloaded.
pub fn load(
    source: Source,
    folder: Option<&Path>,
    counts: Counts,
    notice: &mut dyn FnMut(&str),
) -> Result<Digits, DataError> {
    let places = Places {
        folder,
        cache: dirs::cache_dir().map(|cache| cache.join("four-levels-down").join("mnist")),
        mirrors: &MIRRORS,
        patience: PATIENCE,
        proxy: download::proxy(|name| std::env::var_os(name)),
        files: &mnist::FILES,
    };
    load_from(source, &places, counts, notice)
}

/// Where MNIST is looked for, and what it is.
pub(crate) struct Places<'a> {
    /// The folder that a person named.
    pub(crate) folder: Option<&'a Path>,
    /// The user's cache, where the system knows one.
    pub(crate) cache: Option<PathBuf>,
    /// Addresses to which a file's name is appended.
    pub(crate) mirrors: &'a [&'a str],
    /// How long mirrors that do not answer are waited for.
    pub(crate) patience: Duration,
    /// The proxy of the network, or what is wrong with it.
    pub(crate) proxy: Result<Option<Proxy>, String>,
    /// Names and digests of the four files.
    pub(crate) files: &'a [File; 4],
}

/// [`load`] from any places.
pub(crate) fn load_from(
    source: Source,
    places: &Places<'_>,
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
        Err(why) if source == Source::Mnist => Err(DataError::Unavailable { why }),
        Err(why) => {
            notice(&format!(
                "using the built-in digits, because {why}; to use MNIST, put its four files into a \
                 folder and name it with --data-dir or MNIST_DIR"
            ));
            Ok(built_in(counts))
        }
    }
}

/// Says whether this many images can be held, as bytes and as the numbers that are made of them.
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

/// MNIST from the user's cache; files that are missing there, or damaged, are downloaded.
///
/// # Errors
/// In the words of a clause: what is the matter with MNIST, and why that can't be changed.
fn cached_or_downloaded(
    places: &Places<'_>,
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
                format!(" in place of what was there: {damage}")
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

/// The cache, the content of the four files, and whether one had to be downloaded. What was found
/// to be damaged is added to the list.
fn fetch_missing(
    places: &Places<'_>,
    damaged: &mut Vec<String>,
) -> Result<(PathBuf, Vec<Content>, bool), String> {
    let cache = places.cache.clone().ok_or("this user has no cache folder")?;
    let found: Vec<_> = places.files.iter().map(|file| cached(file, &cache, damaged)).collect();
    let mut downloader = None;
    let mut contents = Vec::new();
    for (file, content) in places.files.iter().zip(found) {
        if let Some(content) = content {
            contents.push(content);
            continue;
        }
        // Before the download, so that a folder that can't be written costs no traffic.
        fs::create_dir_all(&cache)
            .map_err(|error| format!("can't create {}: {error}", host::shown(&cache)))?;
        let downloader = match &mut downloader {
            Some(downloader) => downloader,
            none => {
                let proxy = places.proxy.clone()?;
                none.insert(Downloader::new(places.mirrors, places.patience, proxy))
            }
        };
        contents.push(downloader.fetch(file, &cache)?);
    }
    Ok((cache, contents, downloader.is_some()))
}

/// A file in the cache, if it is there and is what was published. What is there and isn't is told.
fn cached(file: &File, cache: &Path, damaged: &mut Vec<String>) -> Option<Content> {
    let mut damages = Vec::new();
    for path in file.paths(cache) {
        match mnist::exists(&path)
            .and_then(|exists| exists.then(|| Content::read(path.clone())).transpose())
        {
            Ok(None) => {}
            Ok(Some(content)) if content.digest == file.digest => return Some(content),
            Ok(Some(content)) => damages.push(format!(
                "{} has the SHA-256 {}, unpacked, and not {}",
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
