//! An HTTP server on 127.0.0.1 that acts as a working or failing mirror.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// A delay that is longer than any test waits.
pub(super) const LONG: Duration = Duration::from_secs(600);

/// A server's reply to a request.
pub(super) enum Reply {
    Body(Vec<u8>),
    /// Sends the first half of the body, then nothing more, and leaves the connection open.
    Half(Vec<u8>),
    /// Sends the first half of the body, and closes the connection.
    Cut(Vec<u8>),
    NotFound,
    Silence,
}

/// A server that counts its requests. Its threads end with the tests.
pub(super) struct Server {
    pub(super) address: String,
    requests: Arc<AtomicUsize>,
}

impl Server {
    pub(super) fn new(reply: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/", listener.local_addr().unwrap());
        let requests = Arc::new(AtomicUsize::new(0));
        let (counter, reply) = (requests.clone(), Arc::new(reply));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (counter, reply) = (counter.clone(), reply.clone());
                // A client may disconnect early.
                thread::spawn(move || answer(stream?, &counter, &*reply));
            }
        });
        Self { address, requests }
    }

    pub(super) fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

fn answer(
    mut stream: TcpStream,
    requests: &AtomicUsize,
    reply: &dyn Fn(&str) -> Reply,
) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let first = lines.next().unwrap()?;
    while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
    requests.fetch_add(1, Ordering::SeqCst);
    let head = |length: usize| {
        format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n")
    };
    match reply(first.split(' ').nth(1).unwrap()) {
        Reply::Body(body) => {
            stream.write_all(head(body.len()).as_bytes())?;
            stream.write_all(&body)
        }
        Reply::Cut(body) => {
            stream.write_all(head(body.len()).as_bytes())?;
            stream.write_all(&body[..body.len() / 2])
        }
        Reply::Half(body) => {
            stream.write_all(head(body.len()).as_bytes())?;
            stream.write_all(&body[..body.len() / 2])?;
            thread::sleep(LONG);
            Ok(())
        }
        Reply::NotFound => stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"),
        Reply::Silence => {
            thread::sleep(LONG);
            Ok(())
        }
    }
}
