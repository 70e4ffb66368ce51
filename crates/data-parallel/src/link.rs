//! The TCP connections between ranks that are processes. They stay open during the run; they report that another rank
//! has failed, with the reason, or that its process has ended.

use std::collections::{HashMap, HashSet};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::communicator::{Communicator, Id, new_id};
use crate::error::{Error, Result};
use crate::rank::Rank;
use crate::rendezvous::list;

/// Message of rank 0: all ranks are connected.
pub(crate) const WELCOME: u8 = 1;
/// Message: the rank has made its level, and is about to join the communicator.
const READY: u8 = 2;
/// Message of rank 0 with the communicator's id, sent once all ranks are ready.
const ID: u8 = 3;
/// Message: a rank has failed. The text is the reason.
pub(crate) const FAILED: u8 = 4;
/// Message: the rank has finished its work.
const DONE: u8 = 5;

/// The maximum length of a message's text in bytes.
const MAX_TEXT: usize = 1 << 16;
/// The minimum time that a rank waits for the others to get ready, because on a busy machine some are slower.
const MIN_READY: Duration = Duration::from_secs(30);
/// The time that a rank has to end by itself after another rank is lost.
const GRACE_PERIOD: Duration = Duration::from_secs(5);

/// Writes a message: the kind, the length of the text, and the text.
pub(crate) fn write(stream: &mut impl Write, kind: u8, text: &[u8]) -> io::Result<()> {
    let text = &text[..text.len().min(MAX_TEXT)];
    let mut message = vec![kind];
    message.extend_from_slice(&(text.len() as u32).to_le_bytes());
    message.extend_from_slice(text);
    stream.write_all(&message)
}

/// Reads a message.
pub(crate) fn read(stream: &mut impl Read) -> io::Result<(u8, Vec<u8>)> {
    let mut head = [0; 5];
    stream.read_exact(&mut head)?;
    let [kind, length @ ..] = head;
    let length = u32::from_le_bytes(length) as usize;
    if length > MAX_TEXT {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a message that is too long"));
    }
    let mut text = vec![0; length];
    stream.read_exact(&mut text)?;
    Ok((kind, text))
}

/// One rank's connections: rank 0's to all others, the others' to rank 0.
#[derive(Debug)]
pub(crate) struct Link {
    place: Rank,
    /// The time that the other ranks have to get ready.
    timeout: Duration,
    peers: Mutex<HashMap<usize, TcpStream>>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The ranks that are ready; only kept on rank 0.
    ready: HashSet<usize>,
    id: Option<Id>,
    /// The reason, if another rank is lost.
    lost: Option<String>,
    /// The communicator to abort if another rank is lost.
    communicator: Option<Arc<Communicator>>,
    /// Set once this rank has finished: failures of peers are ignored from here on.
    done: bool,
}

impl Link {
    /// Starts a thread for each connection that reads its messages.
    pub(crate) fn new(
        place: Rank,
        wait: Duration,
        peers: HashMap<usize, TcpStream>,
    ) -> Result<Arc<Self>> {
        let failed = |error: io::Error| Error::Rendezvous(format!("a connection failed: {error}"));
        let mut streams = Vec::new();
        for (&peer, stream) in &peers {
            streams.push((peer, stream.try_clone().map_err(failed)?));
        }
        let (state, changed, timeout) = (Mutex::default(), Condvar::new(), wait.max(MIN_READY));
        let link = Arc::new(Self { place, timeout, peers: Mutex::new(peers), state, changed });
        for (peer, stream) in streams {
            let link = Arc::clone(&link);
            let name = format!("from rank {peer}");
            let thread = std::thread::Builder::new().name(name);
            thread.spawn(move || link.listen(peer, stream)).map_err(failed)?;
        }
        Ok(link)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a message to all peers except one.
    fn send(&self, except: Option<usize>, kind: u8, text: &[u8]) {
        let mut peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        for (_, stream) in peers.iter_mut().filter(|(peer, _)| Some(**peer) != except) {
            // A failure is ignored: if the peer's process has ended, the thread that reads from the peer handles that.
            let _ = write(stream, kind, text);
        }
    }

    /// Reads a peer's messages until it has finished, failed, or disconnected.
    fn listen(&self, peer: usize, mut stream: TcpStream) {
        loop {
            match read(&mut stream) {
                Ok((READY, _)) => {
                    self.state().ready.insert(peer);
                }
                Ok((ID, text)) => {
                    let id: Option<Id> =
                        <[u8; 128]>::try_from(text).ok().map(|bytes| bytes.map(|byte| byte as _));
                    self.state().id = id;
                }
                Ok((DONE, _)) => return,
                Ok((FAILED, text)) => {
                    return self.report_lost(peer, String::from_utf8_lossy(&text).into_owned());
                }
                Ok(_) => {
                    return self.report_lost(peer, format!("rank {peer} sent an unknown message"));
                }
                Err(_) => {
                    return self
                        .report_lost(peer, format!("rank {peer} is gone: its process has ended"));
                }
            }
            self.changed.notify_all();
        }
    }

    /// Handles the loss of a peer: sends the reason to all others, aborts the collectives that wait for the
    /// peer, and ends this process if it does not end by itself within [`GRACE_PERIOD`].
    fn report_lost(&self, peer: usize, reason: String) {
        let communicator = {
            let mut state = self.state();
            if state.done || state.lost.is_some() {
                return;
            }
            state.lost = Some(reason.clone());
            state.communicator.take()
        };
        self.changed.notify_all();
        self.send(Some(peer), FAILED, reason.as_bytes());
        if let Some(communicator) = communicator {
            communicator.abort();
        }
        std::thread::sleep(GRACE_PERIOD);
        if !self.state().done {
            host::complain(format_args!("error: {reason}; rank {} ends too", self.place.rank));
            host::signals::end(1);
        }
    }

    /// Waits until all ranks have made their levels. Returns the id of the communicator to join.
    ///
    /// # Errors
    /// [`Error::Lost`] if another rank is lost; [`Error::Rendezvous`] if one does not get ready in time.
    pub(crate) fn all_ready(&self) -> Result<Id> {
        if self.place.is_first() {
            let others = || 1..self.place.world_size;
            let all = |state: &State| others().all(|rank| state.ready.contains(&rank));
            let state = self.wait(self.timeout, all);
            if !all(&state) {
                let missing = list(others().filter(|rank| !state.ready.contains(rank)));
                return Err(self.not_ready(&state, &missing));
            }
            drop(state);
            let id = new_id()?;
            self.send(None, ID, &id.map(|byte| byte as u8));
            return Ok(id);
        }
        self.send(None, READY, &[]);
        let state = self.wait(self.timeout, |state| state.id.is_some());
        state.id.ok_or_else(|| self.not_ready(&state, "0"))
    }

    /// The error if ranks did not get ready: another rank is lost, or the ranks `missing` take too long.
    fn not_ready(&self, state: &State, missing: &str) -> Error {
        if state.lost.is_some() {
            return Error::Lost;
        }
        Error::Rendezvous(format!(
            "of {} ranks, {missing} connected, but did not get ready within {} s (--wait SECONDS waits \
             longer)",
            self.place.world_size,
            self.timeout.as_secs()
        ))
    }

    /// Waits until a condition holds, another rank is lost, or the timeout is over.
    fn wait(&self, timeout: Duration, condition: impl Fn(&State) -> bool) -> MutexGuard<'_, State> {
        let waits = |state: &mut State| state.lost.is_none() && !condition(state);
        let waited = self.changed.wait_timeout_while(self.state(), timeout, waits);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Registers a communicator to be aborted if another rank is lost.
    pub(crate) fn guard(&self, communicator: &Arc<Communicator>) {
        let lost = {
            let mut state = self.state();
            state.communicator = Some(Arc::clone(communicator));
            state.lost.is_some()
        };
        if lost {
            communicator.abort();
        }
    }

    /// Waits for the reason why another rank is lost. `None` if no reason arrives within the timeout.
    pub(crate) fn why_lost(&self, timeout: Duration) -> Option<String> {
        self.wait(timeout, |_| false).lost.clone()
    }

    /// Reports to all peers that this rank has finished, or the reason why it failed.
    pub(crate) fn end(&self, failure: Option<&str>) {
        self.state().communicator = None;
        self.state().done = true;
        match failure {
            Some(reason) => self.send(None, FAILED, reason.as_bytes()),
            None => self.send(None, DONE, &[]),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn ranks_that_do_not_get_ready_are_named() {
        let link = |rank, world_size| Link {
            place: Rank { rank, world_size },
            timeout: Duration::from_millis(200),
            peers: Mutex::default(),
            state: Mutex::default(),
            changed: Condvar::new(),
        };
        let said = link(1, 2).all_ready().unwrap_err().to_string();
        let words = "of 2 ranks, 0 connected, but did not get ready within 0 s";
        assert!(said.contains(words), "{said}");
        // Rank 1 sends READY twice, but is counted once.
        let first = Arc::new(link(0, 3));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut rank = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, _) = listener.accept().unwrap();
        for _ in 0..2 {
            write(&mut rank, READY, &[]).unwrap();
        }
        write(&mut rank, DONE, &[]).unwrap();
        first.listen(1, stream);
        let said = first.all_ready().unwrap_err().to_string();
        assert!(said.contains("of 3 ranks, 2 connected, but did not get ready"), "{said}");
    }
}
