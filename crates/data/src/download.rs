//! The download of MNIST: each file is fetched once, checked, and kept in the user's cache.

use std::ffi::OsString;
use std::io::Read;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use host::file::write_atomically;
use indicatif::{ProgressBar, ProgressStyle};
use ureq::{Agent, Body, Proxy, ProxyProtocol, http::Response};

use crate::idx;
use crate::mnist::{File, FileContent};

/// The addresses of MNIST's gzipped files, without the file names.
pub(crate) const MIRRORS: [&str; 2] = [
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
];

/// The most bytes to download. The largest of the gzipped files has 10 MB.
const MAX_BYTES: u64 = 1 << 26;
/// How long one file may take after the server has answered.
const BODY_TIMEOUT: Duration = Duration::from_secs(600);

/// The environment variables that name the network's proxy, in the order of precedence.
const PROXY_VARIABLES: [&str; 6] =
    ["ALL_PROXY", "all_proxy", "HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"];

/// The proxy that the environment names, if any.
///
/// # Errors
/// If the name is not a proxy, or its kind is not supported. There is no fallback to a direct connection,
/// because a proxy must not be bypassed.
pub(crate) fn proxy(variable: impl Fn(&str) -> Option<OsString>) -> Result<Option<Proxy>, String> {
    let set = PROXY_VARIABLES.into_iter().find_map(|name| {
        variable(name).filter(|value| !value.is_empty()).map(|value| (name, value))
    });
    let Some((name, value)) = set else { return Ok(None) };
    // The value is not printed, because it may contain a password.
    let bad = |reason: &str| {
        Err(format!("the proxy that {name} names can't be used: {reason}; correct or unset it"))
    };
    match value.to_str().map(Proxy::new) {
        Some(Ok(proxy)) => match proxy.protocol() {
            // `try_from_env` finds the same proxy, and the exceptions in NO_PROXY.
            ProxyProtocol::Http | ProxyProtocol::Https => Ok(Proxy::try_from_env().or(Some(proxy))),
            _ => bad("it is a SOCKS proxy, but only HTTP proxies are supported"),
        },
        _ => bad("it is not an address such as http://proxy.example:3128"),
    }
}

/// Downloads files from the first mirror that works.
pub(crate) struct Downloader {
    /// The mirrors that have not failed yet. The first one is used.
    mirrors: Vec<String>,
    /// The remaining time to wait for mirrors that do not answer, for all of them together.
    patience: Duration,
    proxy: Option<Proxy>,
    /// The hosts that failed, and the reason. Consecutive mirrors with the same reason are one entry.
    failures: Vec<(String, String)>,
}

impl Downloader {
    /// A downloader that uses the mirrors in this order, and waits at most `patience` in total, over all
    /// files and mirrors, for answers that do not come.
    pub(crate) fn new(mirrors: &[&str], patience: Duration, proxy: Option<Proxy>) -> Self {
        let mirrors = mirrors.iter().map(|&mirror| mirror.to_owned()).collect();
        Self { mirrors, patience, proxy, failures: Vec::new() }
    }

    /// Downloads a file, checks its digest, and then writes it to the folder. A mirror that
    /// fails in any way is not used again.
    ///
    /// # Errors
    /// If all mirrors have failed, with the reason for each; if the file can't be written.
    pub(crate) fn fetch(&mut self, file: &File, folder: &Path) -> Result<FileContent, String> {
        while let Some(mirror) = self.mirrors.first() {
            // Each mirror gets an equal share of the time, so that one that hangs leaves time for the others.
            let share = self.patience / u32::try_from(self.mirrors.len()).unwrap_or(u32::MAX);
            let url = format!("{mirror}{}.gz", file.name);
            let started = Instant::now();
            match fetch_checked(&url, file, share, self.proxy.clone()) {
                Ok((packed, content)) => return store(file, folder, &packed, content),
                Err(reason) => {
                    self.patience = self.patience.saturating_sub(started.elapsed().min(share));
                    let host = mirror.split('/').nth(2).unwrap_or(mirror);
                    match self.failures.last_mut() {
                        Some((hosts, same)) if *same == reason => *hosts += &format!(", {host}"),
                        _ => self.failures.push((host.to_owned(), reason)),
                    }
                    self.mirrors.remove(0);
                }
            }
        }
        let failures = self.failures.iter().map(|(hosts, reason)| format!("{hosts}: {reason}"));
        Err(failures.collect::<Vec<_>>().join("; "))
    }
}

/// Writes a downloaded file to the folder.
fn store(
    file: &File,
    folder: &Path,
    packed: &[u8],
    content: FileContent,
) -> Result<FileContent, String> {
    // The server may have decompressed the file.
    let suffix = if idx::is_gzipped(packed) { ".gz" } else { "" };
    let path = folder.join(format!("{}{suffix}", file.name));
    write_atomically::<std::io::Error>(&path, |writer| writer.write_all(packed))
        .map_err(|error| format!("can't write {}: {error}", host::shown(&path)))?;
    Ok(FileContent { path, ..content })
}

/// The file as downloaded, and decompressed. The decompressed file has the published digest.
fn fetch_checked(
    url: &str,
    file: &File,
    patience: Duration,
    proxy: Option<Proxy>,
) -> Result<(Vec<u8>, FileContent), String> {
    let packed = body(request(url, patience, proxy)?, file.name)?;
    let bytes = idx::unpacked(&packed[..]).map_err(|error| error.to_string())?;
    let content = FileContent::new(url.into(), bytes);
    if content.digest == file.digest {
        Ok((packed, content))
    } else {
        let (name, expected, found) = (file.name, file.digest, content.digest);
        Err(format!("its decompressed {name} has the SHA-256 {found}, not {expected}"))
    }
}

/// Requests a file, and waits for the beginning of the answer.
fn request(url: &str, patience: Duration, proxy: Option<Proxy>) -> Result<Response<Body>, String> {
    let agent: Agent = Agent::config_builder()
        .proxy(proxy)
        .https_only(url.starts_with("https:"))
        .timeout_resolve(Some(patience))
        .timeout_connect(Some(patience))
        .timeout_recv_response(Some(patience))
        .timeout_per_read(Some(patience))
        .timeout_recv_body(Some(BODY_TIMEOUT))
        .build()
        .into();
    // Each stage above may take the whole time, so this thread limits the sum. After a timeout, the other
    // thread ends by the limits of its stages.
    let (sender, receiver) = mpsc::channel();
    let address = url.to_owned();
    // The receiver is closed if the answer comes too late.
    let request = move || drop(sender.send(agent.get(address).call()));
    thread::Builder::new()
        .spawn(request)
        .map_err(|error| format!("can't start a thread for the request: {error}"))?;
    match receiver.recv_timeout(patience) {
        Ok(answer) => answer.map_err(|error| error.to_string()),
        Err(mpsc::RecvTimeoutError::Timeout) => {
            Err(format!("no answer within {:.1} s", patience.as_secs_f64()))
        }
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            Err("the request failed: this machine may lack memory or threads".into())
        }
    }
}

/// Reads the body of an answer, with a progress bar on a terminal.
fn body(answer: Response<Body>, name: &str) -> Result<Vec<u8>, String> {
    let length = answer.body().content_length();
    let style = "{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec}";
    // A bar is only drawn on a terminal.
    let bar = length.map_or_else(ProgressBar::no_length, ProgressBar::new).with_style(
        ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    bar.set_message(format!("downloading {name}"));
    let body = answer.into_body().into_with_config().limit(MAX_BYTES).reader();
    let mut bytes = Vec::new();
    let read = bar.wrap_read(body).read_to_end(&mut bytes);
    bar.finish_and_clear();
    read.map_err(|error| format!("it broke off after {} bytes: {error}", bytes.len()))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_proxy_is_reported_and_not_bypassed() {
        let named =
            |value: &'static str| proxy(move |name| (name == "https_proxy").then(|| value.into()));
        assert!(proxy(|_| None).unwrap().is_none());
        assert!(named("").unwrap().is_none());
        for good in ["http://127.0.0.1:3128", "https://user:secret@proxy.example", "127.0.0.1:1"] {
            assert!(named(good).unwrap().is_some(), "{good}");
        }
        for (bad, reason) in [
            ("http://", "not an address"),
            ("secret secret", "not an address"),
            ("ftp://proxy.example:21", "not an address"),
            ("socks5://proxy.example:1080", "a SOCKS proxy"),
        ] {
            let said = named(bad).unwrap_err();
            assert!(said.contains("https_proxy") && said.contains(reason), "{bad}: {said}");
            assert!(!said.contains("secret"), "{said}");
        }
        // The first variable that is set takes precedence.
        let both = proxy(|name| match name {
            "ALL_PROXY" => Some("socks5://127.0.0.1:1".into()),
            "http_proxy" => Some("http://127.0.0.1:1".into()),
            _ => None,
        });
        assert!(both.unwrap_err().contains("ALL_PROXY"));
    }
}
