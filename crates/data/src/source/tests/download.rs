//! Tests of downloads, from servers on 127.0.0.1 instead of the mirrors.

use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use super::server::{self, Reply, Server};
use super::*;
use crate::idx;

/// Whether there is `curl`. Otherwise the test is skipped.
#[track_caller]
fn has_curl() -> bool {
    let found = Command::new("curl").arg("--version").output();
    found.inspect_err(|error| skipped::skip(format!("there is no curl ({error})"))).is_ok()
}

/// Starts a server with the collection's gzipped files. `reply` makes its replies from them.
fn mirror(collection: &Arc<Collection>, reply: fn(Vec<u8>) -> Reply) -> Server {
    let collection = collection.clone();
    Server::new(move |path| reply(collection.served(path)))
}

#[test]
fn a_download_is_kept_in_the_cache() {
    if !has_curl() {
        return;
    }
    let collection = Arc::new(Collection::new());
    let server = mirror(&collection, Reply::Body);
    let home = tempdir().unwrap();
    let cache = home.path().join("a").join("b");

    let (digits, notices) = collection.load(Source::Auto, &cache, &[&server]);
    let digits = digits.unwrap();
    assert_eq!((digits.train, digits.test), digits::built_in(FEW));
    assert_eq!(digits.origin, Origin::Mnist(cache.clone()));
    assert_eq!(notices, [format!("downloaded MNIST into {}", cache.display())]);
    let mut expected: Vec<_> = collection.files.map(|file| format!("{}.gz", file.name)).into();
    expected.sort();
    assert_eq!(names_in(&cache), expected);
    assert_eq!(server.requests(), 4);

    let (again, notices) = collection.load(Source::Mnist, &cache, &[&server]);
    assert_eq!(again.unwrap().train.len(), 5);
    assert!(notices.is_empty());
    assert_eq!(server.requests(), 4, "the cache was not used");

    // If one file is damaged later, only that file is downloaded again.
    let damaged = cache.join(format!("{}.gz", collection.files[2].name));
    fs::write(&damaged, b"damaged").unwrap();
    let (repaired, notices) = collection.load(Source::Mnist, &cache, &[&server]);
    assert_eq!(repaired.unwrap().train.len(), 5);
    assert_eq!(notices.len(), 1);
    let said = "to replace damaged files: ";
    assert!(notices[0].contains(said) && notices[0].contains("SHA-256"), "{notices:?}");
    assert_eq!(server.requests(), 5);
    assert_eq!(fs::read(&damaged).unwrap(), gzipped(&collection.contents[2]));
}

#[test]
fn a_mirror_that_fails_is_not_used_again() {
    if !has_curl() {
        return;
    }
    let collection = Arc::new(Collection::new());
    let good = mirror(&collection, Reply::Body);
    let bad = [
        Server::new(|_| Reply::NotFound),
        mirror(&collection, Reply::Cut),
        // Replies with a well-formed gzip file with the wrong content.
        mirror(&collection, |file| Reply::Body(gzipped(&file))),
        Server::new(|_| Reply::Body(b"<html>Please log in to this network</html>".to_vec())),
    ];
    for server in bad {
        let cache = tempdir().unwrap();
        let (digits, _) = collection.load(Source::Mnist, cache.path(), &[&server, &good]);
        assert_eq!(digits.unwrap().train.len(), 5);
        assert_eq!(server.requests(), 1);
    }
}

#[test]
fn a_failed_download_leaves_no_file_in_the_cache() {
    if !has_curl() {
        return;
    }
    let collection = Arc::new(Collection::new());
    let replies: [fn(Vec<u8>) -> Reply; 2] = [Reply::Cut, |file| Reply::Body(gzipped(&file))];
    for reply in replies {
        let server = mirror(&collection, reply);
        let cache = tempdir().unwrap();
        let (digits, _) = collection.load(Source::Mnist, cache.path(), &[&server]);
        let error = digits.unwrap_err().to_string();
        assert!(error.starts_with("MNIST is not on this machine and can't be downloaded"));
        let host = server.address.trim_start_matches("http://").trim_end_matches('/');
        assert!(error.contains(host), "{error}");
        assert!(names_in(cache.path()).is_empty());

        let (digits, notices) = collection.load(Source::Auto, cache.path(), &[&server]);
        assert_eq!(digits.unwrap().origin, Origin::Synthetic);
        assert_eq!(notices.len(), 1);
        assert!(notices[0].starts_with("using the built-in digits, because"), "{notices:?}");
        assert!(!notices[0].contains('\n'));
    }
}

#[test]
fn a_network_that_does_not_answer_causes_a_timeout() {
    if !has_curl() {
        return;
    }
    let collection = Arc::new(Collection::new());
    let silent = [Server::new(|_| Reply::Silence), Server::new(|_| Reply::Silence)];
    let stuck = [mirror(&collection, Reply::Half), mirror(&collection, Reply::Half)];
    for (servers, said) in [(silent, "curl: (28) "), (stuck, "it broke off after")] {
        let cache = tempdir().unwrap();
        let mirrors = [&servers[0].address[..], &servers[1].address[..]];
        let max_wait = Duration::from_secs(2);
        let places = MnistPlaces { max_wait, ..collection.places(cache.path(), &mirrors) };
        let started = Instant::now();
        let (digits, notices) = load_quietly(Source::Auto, &places);
        // Each of the two mirrors may take 1 s, half of `max_wait`. This limit is much longer, because the machine may
        // be busy. Without timeouts, the download would take ten minutes, the delay of the test's server.
        assert!(started.elapsed() < server::LONG / 2, "{:?}", started.elapsed());
        assert_eq!(digits.unwrap().origin, Origin::Synthetic);
        assert_eq!(notices.len(), 1);
        assert!(notices[0].contains(said), "{notices:?}");
        assert_eq!(servers.map(|server| server.requests()), [1, 1]);
        assert!(names_in(cache.path()).is_empty());
    }
}

#[test]
fn a_file_that_the_server_decompressed_is_kept_without_gz() {
    if !has_curl() {
        return;
    }
    let collection = Arc::new(Collection::new());
    let server = mirror(&collection, |file| Reply::Body(idx::unpacked(&file[..]).unwrap()));
    let cache = tempdir().unwrap();
    for _ in 0..2 {
        collection.load(Source::Mnist, cache.path(), &[&server]).0.unwrap();
    }
    assert_eq!(server.requests(), 4);
    assert!(names_in(cache.path()).iter().all(|name| !name.ends_with(".gz")));
}

/// A damaged file that can't be downloaded again is not reported as missing.
#[test]
fn a_damaged_cache_is_reported_if_the_network_fails() {
    let collection = Collection::new();
    let damages: [fn(&Path, &[u8]); 4] = [
        |path, _| fs::write(path, b"").unwrap(),
        |path, good| fs::write(path, &good[..good.len() - 1]).unwrap(),
        |path, good| fs::write(path, gzipped(&good[..good.len() - 1])).unwrap(),
        |path, _| {
            fs::remove_file(path).unwrap();
            fs::create_dir(path).unwrap();
        },
    ];
    for damage in damages {
        let folder = collection.folder(|file| file.name.into());
        let path = folder.path().join(collection.files[1].name);
        damage(&path, &collection.contents[1]);
        let places = collection.places(folder.path(), &["http://127.0.0.1:1/"]);
        let error = load_quietly(Source::Mnist, &places).0.unwrap_err().to_string();
        assert!(error.starts_with("MNIST's files on this machine are damaged ("), "{error}");
        assert!(error.contains(&path.display().to_string()), "{error}");
        assert!(error.contains("can't be downloaded again (127.0.0.1:1: "), "{error}");
        let (digits, notices) = load_quietly(Source::Auto, &places);
        assert_eq!(digits.unwrap().origin, Origin::Synthetic);
        assert!(notices[0].contains("are damaged"), "{notices:?}");
        // If the cache also has an undamaged file under the other spelling, it is used.
        let packed = folder.path().join(format!("{}.gz", collection.files[1].dotted));
        fs::write(packed, gzipped(&collection.contents[1])).unwrap();
        assert!(load_quietly(Source::Mnist, &places).0.is_ok());
    }
}

#[test]
fn a_proxy_that_fails_is_reported_and_not_bypassed() {
    if !has_curl() {
        return;
    }
    let collection = Arc::new(Collection::new());
    let server = mirror(&collection, Reply::Body);
    let cache = tempdir().unwrap();
    let mirrors = [&server.address[..]];
    for (proxy, reason) in [
        ("http://127.0.0.1:1", "curl: (7) "),
        ("socks5://127.0.0.1:1", "curl: "),
        ("http://user:secret@", "correct or unset it"),
        ("secret secret", "correct or unset it"),
        ("ftp://user:secret@proxy.example:21", "correct or unset it"),
    ] {
        let places =
            MnistPlaces { proxy: Some(proxy), ..collection.places(cache.path(), &mirrors) };
        let (digits, notices) = load_quietly(Source::Auto, &places);
        assert_eq!(digits.unwrap().origin, Origin::Synthetic);
        assert!(notices[0].contains(reason), "{proxy}: {notices:?}");
        assert!(!notices[0].contains("secret"), "{notices:?}");
    }
    assert_eq!(server.requests(), 0);
}

#[test]
fn without_a_cache_the_digits_are_drawn() {
    let collection = Collection::new();
    let places = MnistPlaces { cache: None, ..collection.places(Path::new(""), &[]) };
    let (digits, notices) = load_quietly(Source::Auto, &places);
    assert_eq!(digits.unwrap().origin, Origin::Synthetic);
    assert!(notices[0].contains("no cache folder"), "{notices:?}");
    // A folder that can't be created is reported before anything is downloaded.
    let file = tempfile::NamedTempFile::new().unwrap();
    let places = collection.places(&file.path().join("mnist"), &[]);
    let error = load_quietly(Source::Mnist, &places).0.unwrap_err().to_string();
    assert!(error.contains("can't create"), "{error}");
}
