//! Tests of loading from folders with small files.

mod download;
mod server;

use std::io::Write;

use flate2::{Compression, write::GzEncoder};
use tempfile::{TempDir, tempdir};

use super::*;

/// A timeout that only a failing test reaches.
const LONG: Duration = Duration::from_secs(120);

const FEW: Counts = Counts { train: 5, test: 3 };

/// Four small files with the names and formats of MNIST's.
struct Collection {
    files: [File; 4],
    contents: [Vec<u8>; 4],
}

impl Collection {
    fn new() -> Self {
        let (train, test) = digits::built_in(FEW);
        let file = |words: &[u32], bytes: &[u8]| {
            let header = words.iter().flat_map(|word| word.to_be_bytes());
            header.chain(bytes.iter().copied()).collect::<Vec<u8>>()
        };
        let contents = [
            file(&[0x803, 5, 28, 28], train.pixels()),
            file(&[0x801, 5], train.labels()),
            file(&[0x803, 3, 28, 28], test.pixels()),
            file(&[0x801, 3], test.labels()),
        ];
        let mut files = mnist::FILES;
        for (file, content) in files.iter_mut().zip(&contents) {
            file.digest = FileContent::new(PathBuf::new(), content.clone()).digest.leak();
        }
        Self { files, contents }
    }

    fn folder(&self, name: impl Fn(&File) -> String) -> TempDir {
        let folder = tempdir().unwrap();
        for (file, content) in self.files.iter().zip(&self.contents) {
            let name = name(file);
            let gzip = name.ends_with(".gz");
            let bytes = if gzip { gzipped(content) } else { content.clone() };
            fs::write(folder.path().join(name), bytes).unwrap();
        }
        folder
    }

    fn places<'a>(&'a self, cache: &Path, mirrors: &'a [&'a str]) -> MnistPlaces<'a> {
        MnistPlaces {
            folder: None,
            cache: Some(cache.to_owned()),
            mirrors,
            max_wait: LONG,
            proxy: Some(""),
            files: &self.files,
        }
    }

    /// Loads from a cache, with these servers as mirrors.
    fn load(
        &self,
        source: Source,
        cache: &Path,
        servers: &[&server::Server],
    ) -> (Result<Digits, DataError>, Vec<String>) {
        let mirrors: Vec<&str> = servers.iter().map(|server| &*server.address).collect();
        load_quietly(source, &self.places(cache, &mirrors))
    }

    /// The gzipped file that the server serves at an address.
    fn served(&self, address: &str) -> Vec<u8> {
        let name = address.strip_prefix('/').unwrap().strip_suffix(".gz").unwrap();
        let i = self.files.iter().position(|file| file.name == name).unwrap();
        gzipped(&self.contents[i])
    }
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn load_quietly(
    source: Source,
    places: &MnistPlaces<'_>,
) -> (Result<Digits, DataError>, Vec<String>) {
    let mut notices = Vec::new();
    let digits = load_from(source, places, FEW, &mut |notice| notices.push(notice.to_owned()));
    (digits, notices)
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Cuts off every file, gzipped and plain, at every byte. The error names the file.
#[test]
fn a_file_that_is_cut_off_at_any_byte_is_refused() {
    let mut collection = Collection::new();
    // Keeps only two images, so that the test is fast.
    collection.contents[0] = collection.contents[0][..16 + 2 * 784].to_vec();
    collection.contents[0][7] = 2;
    collection.contents[1] = collection.contents[1][..10].to_vec();
    collection.contents[1][7] = 2;
    for (file, content) in collection.files.iter_mut().zip(&collection.contents) {
        file.digest = FileContent::new(PathBuf::new(), content.clone()).digest.leak();
    }
    for packed in [false, true] {
        let suffix = if packed { ".gz" } else { "" };
        let folder = collection.folder(|file| format!("{}{suffix}", file.name));
        let read = || mnist::read_folder(folder.path(), &collection.files, FEW);
        assert_eq!(read().unwrap().train.len(), 2);
        for file in &collection.files[..2] {
            let path = folder.path().join(format!("{}{suffix}", file.name));
            let whole = fs::read(&path).unwrap();
            for length in 0..whole.len() {
                fs::write(&path, &whole[..length]).unwrap();
                let said = read().expect_err("it is cut off").to_string();
                assert!(said.contains(&path.display().to_string()), "{length}: {said}");
            }
            fs::write(&path, &whole).unwrap();
        }
    }
}

#[test]
fn wrong_kinds_of_paths_are_reported() {
    let collection = Collection::new();
    let folder = collection.folder(|file| file.name.into());
    let said =
        |folder: &Path| mnist::read_folder(folder, &collection.files, FEW).unwrap_err().to_string();
    let file = folder.path().join(collection.files[0].name);
    assert!(said(&file).contains("is not a folder: name the folder"), "{}", said(&file));
    let within = said(&file.join("within"));
    assert!(within.contains("can't read") && within.contains("Not a directory"), "{within}");
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert!(said(folder.path()).contains("it is a folder, not a file"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        use std::process::Command;
        fs::remove_dir(&file).unwrap();
        assert!(Command::new("mkfifo").arg(&file).status().unwrap().success());
        assert!(said(folder.path()).contains("it is a pipe or a device, not a file"));
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o000)).unwrap();
        let unreadable = said(folder.path());
        if unreadable.contains("a pipe") {
            eprintln!("skipped because root may read everything: a folder without permission");
        } else {
            assert!(unreadable.contains("Permission denied"), "{unreadable}");
        }
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
    }
}

#[test]
fn every_spelling_of_the_files_is_found() {
    let collection = Collection::new();
    let spellings: [fn(&File) -> String; 4] = [
        |file| file.name.into(),
        |file| format!("{}.gz", file.name),
        |file| file.dotted.into(),
        |file| format!("{}.gz", file.dotted),
    ];
    for spelling in spellings {
        let folder = collection.folder(spelling);
        let digits =
            mnist::read_folder(folder.path(), &collection.files, Counts { train: 2, test: 9 });
        let digits = digits.unwrap();
        assert_eq!((digits.train.len(), digits.test.len()), (2, 3));
        assert_eq!(digits.origin.to_string(), format!("MNIST from {}", folder.path().display()));
    }
}

#[test]
fn errors_in_the_users_folder_are_reported_without_a_fallback() {
    let collection = Collection::new();
    let folder = collection.folder(|file| file.name.into());
    let path = |i: usize| folder.path().join(collection.files[i].name);
    let error = |source| {
        let places = MnistPlaces {
            folder: Some(folder.path()),
            // Although a cache and a mirror are configured, neither is used as a fallback.
            ..collection.places(Path::new("unused"), &["http://127.0.0.1:1/"])
        };
        let (digits, notices) = load_quietly(source, &places);
        assert!(notices.is_empty());
        digits.unwrap_err().to_string()
    };
    let with = |i: usize, bytes: &[u8]| {
        fs::write(path(i), bytes).unwrap();
        let errors = [error(Source::Auto), error(Source::Mnist)];
        fs::write(path(i), &collection.contents[i]).unwrap();
        assert_eq!(errors[0], errors[1]);
        assert!(errors[0].contains(&path(i).display().to_string()), "{}", errors[0]);
        errors[0].clone()
    };
    let images = &collection.contents[0];
    let labels = &collection.contents[1];
    assert!(with(0, &images[..images.len() - 1]).contains("it is cut off: its header promises"));
    assert!(with(0, &gzipped(images)[..300]).contains("its gzip is bad"));
    assert!(with(0, labels).contains("an IDX file of images begins with 0x00000803"));
    assert!(with(1, &[&labels[..], &[0]].concat()).contains("it has too many bytes"));
    let mut eleven = labels.clone();
    eleven[10] = 11;
    assert!(with(1, &eleven).contains("label 2 is 11"));
    assert!(with(1, &collection.contents[3]).contains("has 5 images"));
    assert!(with(3, labels).contains("has 3 images"));
    let mut other = images.clone();
    other[100] ^= 1;
    let digest = with(0, &other);
    assert!(digest.contains("is not the file of MNIST"), "{digest}");
    assert!(digest.contains(collection.files[0].digest), "{digest}");

    fs::remove_file(path(2)).unwrap();
    let missing = error(Source::Auto);
    assert!(missing.contains("has no t10k-images-idx3-ubyte (nor t10k-images"), "{missing}");
    assert!(missing.contains("https://"), "{missing}");
    let absent = folder.path().join("absent");
    let places = MnistPlaces { folder: Some(&absent), ..collection.places(&absent, &[]) };
    let error = load_quietly(Source::Auto, &places).0.unwrap_err().to_string();
    assert!(error.contains("absent does not exist"), "{error}");
}

#[test]
fn the_built_in_digits_need_no_folder() {
    let collection = Collection::new();
    let absent = Path::new("absent");
    let places = MnistPlaces { folder: Some(absent), ..collection.places(absent, &[]) };
    let (digits, notices) = load_quietly(Source::Digits, &places);
    assert_eq!(digits.unwrap().origin.to_string(), "built-in digits");
    assert!(notices.is_empty());
}

/// Runs only if MNIST_DIR is set in the environment.
#[test]
fn the_published_files_are_accepted() {
    let Some(folder) = std::env::var_os("MNIST_DIR").filter(|name| !name.is_empty()) else {
        skipped::skip("MNIST_DIR is not set");
        return;
    };
    // MNIST_DIR may be relative to the workspace's root, but tests run in their crate's folder.
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let digits = load(Source::Mnist, Some(&folder), Counts::ALL, &mut |_| {}).unwrap();
    assert_eq!((digits.train.len(), digits.test.len()), (60_000, 10_000));
    assert_eq!(digits.train.labels()[..5], [5, 0, 4, 1, 9]);
    assert_eq!(digits.test.labels()[..5], [7, 2, 1, 0, 4]);
}

#[test]
fn written_names_are_read_back() {
    for source in Source::ALL {
        assert_eq!(source.to_string().parse(), Ok(source));
    }
    assert_eq!(
        "MNIST".parse::<Source>().unwrap_err().to_string(),
        "\"MNIST\" is not a source of images: choose one of auto, mnist, digits"
    );
}
