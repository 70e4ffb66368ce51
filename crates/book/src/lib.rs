//! A web server for the files of a folder, for one reader on the same machine.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;
use std::{fs, thread};

/// Threads, and so the most connections that are answered at the same time. A browser opens about six to one server.
const THREADS: usize = 16;
/// Time after which a connection that sends or takes nothing is closed.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum size of a request's first line and headers together, in bytes.
const MAX_REQUEST: u64 = 1 << 14;
/// Content types by extension. Browsers run WebAssembly and scripts only if they have the right content type.
const CONTENT_TYPES: [(&str, &str); 8] = [
    ("html", "text/html; charset=utf-8"),
    ("css", "text/css"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("wasm", "application/wasm"),
    ("svg", "image/svg+xml"),
    ("png", "image/png"),
    ("woff2", "font/woff2"),
];

/// Answers requests for files of a folder until the listener fails. Further connections wait for one of the threads.
pub fn serve(listener: &TcpListener, folder: &Path) {
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for stream in listener.incoming().map_while(Result::ok) {
                    // A browser that goes away is no error of the server's.
                    answer(stream, folder).ok();
                }
            });
        }
    });
}

/// Answers one request.
fn answer(mut stream: TcpStream, folder: &Path) -> io::Result<()> {
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    let mut lines = BufReader::new(stream.try_clone()?.take(MAX_REQUEST)).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    // The headers are read although they are ignored: closing a connection with unread data would reset it.
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    let file = file_of(&request).map(|file| folder.join(file));
    let found = file.and_then(|file| Some((fs::read(&file).ok()?, content_type(&file))));
    let (status, (content, kind)) = match found {
        Some(found) => ("200 OK", found),
        None => ("404 Not Found", (b"There is no such page.\n".to_vec(), "text/plain")),
    };
    let length = content.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
         Cache-Control: no-cache\r\nConnection: close\r\n\r\n"
    )?;
    stream.write_all(&content)
}

/// The file that a request such as `GET /level1/fast.html?x HTTP/1.1` names, relative to the folder. `None` if the
/// request is not a GET, or the path leads out of the folder.
fn file_of(request: &str) -> Option<PathBuf> {
    let target = request.strip_prefix("GET /")?.split([' ', '?']).next()?;
    let name = if target.is_empty() || target.ends_with('/') {
        format!("{target}index.html")
    } else {
        target.to_owned()
    };
    let path = PathBuf::from(name);
    path.components().all(|part| matches!(part, Component::Normal(_))).then_some(path)
}

fn content_type(file: &Path) -> &'static str {
    let extension = file.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let found = CONTENT_TYPES.iter().find(|(end, _)| *end == extension);
    found.map_or("application/octet-stream", |(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_request_stays_in_the_folder() {
        let file = |request: &str| file_of(request).map(|path| path.display().to_string());
        assert_eq!(file("GET / HTTP/1.1"), Some("index.html".into()));
        assert_eq!(file("GET /a/b.js?v=1 HTTP/1.1"), Some("a/b.js".into()));
        for outside in ["GET /../x HTTP/1.1", "GET //etc/passwd HTTP/1.1", "POST / HTTP/1.1", ""] {
            assert_eq!(file(outside), None, "{outside}");
        }
    }

    /// Starts a server of this folder, whose threads end with the test's process.
    fn start(folder: &Path) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let folder = folder.to_owned();
        thread::spawn(move || serve(&listener, &folder));
        address
    }

    fn request(address: SocketAddr, path: &str) -> TcpStream {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        stream
    }

    #[test]
    fn one_connection_more_than_threads_waits() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("index.html"), "<p>").unwrap();
        let address = start(folder.path());
        let mut idle: Vec<TcpStream> =
            (0..THREADS).map(|_| TcpStream::connect(address).unwrap()).collect();
        let mut waiting = request(address, "/");
        waiting.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        waiting.read_exact(&mut [0]).expect_err("all threads wait for idle connections");
        idle.pop();
        waiting.set_read_timeout(None).unwrap();
        let mut answer = String::new();
        waiting.read_to_string(&mut answer).unwrap();
        assert!(answer.ends_with("<p>"), "{answer}");
    }

    #[test]
    fn files_are_served_with_their_types() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("index.html"), "<p>").unwrap();
        fs::write(folder.path().join("m.wasm"), [0_u8, 255]).unwrap();
        let address = start(folder.path());
        let get = |path: &str| -> Vec<u8> {
            let mut all = Vec::new();
            request(address, path).read_to_end(&mut all).unwrap();
            all
        };
        let page = String::from_utf8(get("/")).unwrap();
        assert!(page.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/html"), "{page}");
        assert!(page.ends_with("\r\n\r\n<p>"), "{page}");
        let module = get("/m.wasm");
        assert!(module.ends_with(&[0, 255]));
        assert!(String::from_utf8_lossy(&module).contains("application/wasm"));
        assert!(get("/gone.html").starts_with(b"HTTP/1.1 404"));
    }
}
