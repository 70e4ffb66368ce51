//! The connections between ranks that are processes, which stay open beside NCCL: by them a rank
//! hears that another has failed, and why, or is gone.

use std::collections::{HashMap, HashSet};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::communicator::{Communicator, Id, new_id};
use crate::error::{Error, Result};
use crate::rank::Rank;
use crate::rendezvous::list;

/// All ranks have come.
pub(crate) const WELCOME: u8 = 1;
/// A rank has its level, and is about to join the communicator.
const READY: u8 = 2;
/// The communicator's id, once all are ready.
const ID: u8 = 3;
/// A rank has failed; with the reason.
pub(crate) const FAILED: u8 = 4;
/// A rank has done its work.
const DONE: u8 = 5;

/// The most bytes of a message.
const MOST: usize = 1 << 16;
/// How long ranks may take at least to get ready, after the first is: on a busy machine some are
/// slower than others.
const MIN_READY: Duration = Duration::from_secs(30);
/// How long a rank may go on with what it does when another is lost.
const GRACE: Duration = Duration::from_secs(5);

/// Writes a message: what it is, how long, what it says.
pub(crate) fn write(stream: &mut impl Write, kind: u8, text: &[u8]) -> io::Result<()> {
    let text = &text[..text.len().min(MOST)];
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
    if length > MOST {
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
    /// How long the others may take to get ready.
    most: Duration,
    peers: Mutex<HashMap<usize, TcpStream>>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The ranks that are ready, on rank 0.
    ready: HashSet<usize>,
    id: Option<Id>,
    /// Why another rank is lost.
    lost: Option<String>,
    /// What is ended then.
    communicator: Option<Arc<Communicator>>,
    /// Nothing that happens to others matters any more.
    done: bool,
}

impl Link {
    /// Listens to the other ranks from now on.
    pub(crate) fn new(
        place: Rank,
        wait: Duration,
        peers: HashMap<usize, TcpStream>,
    ) -> Result<Arc<Self>> {
        let failed = |error: io::Error| Error::Rendezvous(format!("a connection: {error}"));
        let mut streams = Vec::new();
        for (&peer, stream) in &peers {
            streams.push((peer, stream.try_clone().map_err(failed)?));
        }
        let (state, changed, most) = (Mutex::default(), Condvar::new(), wait.max(MIN_READY));
        let link = Arc::new(Self { place, most, peers: Mutex::new(peers), state, changed });
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

    /// Tells all others something, but for one.
    fn tell(&self, but: Option<usize>, kind: u8, text: &[u8]) {
        let mut peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        for (_, stream) in peers.iter_mut().filter(|(peer, _)| Some(**peer) != but) {
            // Who is gone is found out by those that listen.
            let _ = write(stream, kind, text);
        }
    }

    /// Hears what another rank says, until it is done or gone.
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
                    return self.lose(peer, String::from_utf8_lossy(&text).into_owned());
                }
                Ok(_) => return self.lose(peer, format!("rank {peer} says something unknown")),
                Err(_) => {
                    return self.lose(peer, format!("rank {peer} is gone: its process has ended"));
                }
            }
            self.changed.notify_all();
        }
    }

    /// Another rank is lost: all are told, what waits for it is ended, and so is this process if it
    /// does not end by itself.
    fn lose(&self, peer: usize, reason: String) {
        let communicator = {
            let mut state = self.state();
            if state.done || state.lost.is_some() {
                return;
            }
            state.lost = Some(reason.clone());
            state.communicator.take()
        };
        self.changed.notify_all();
        self.tell(Some(peer), FAILED, reason.as_bytes());
        if let Some(communicator) = communicator {
            communicator.abort();
        }
        std::thread::sleep(GRACE);
        if !self.state().done {
            host::complain(format_args!("error: {reason}; rank {} ends too", self.place.rank));
            host::signals::end(1);
        }
    }

    /// Waits until all ranks have their levels, and gets the id by which they join.
    ///
    /// # Errors
    /// [`Error::Lost`] if another rank is lost; [`Error::Rendezvous`] if one does not get ready in time.
    pub(crate) fn all_ready(&self) -> Result<Id> {
        if self.place.is_first() {
            let others = || 1..self.place.world_size;
            self.wait(self.most, |state| {
                others().all(|rank| state.ready.contains(&rank)).then_some(())
            })
            .ok_or_else(|| {
                let state = self.state();
                let missing = list(others().filter(|rank| !state.ready.contains(rank)));
                self.late(state.lost.is_some(), &missing)
            })?;
            let id = new_id()?;
            self.tell(None, ID, &id.map(|byte| byte as u8));
            return Ok(id);
        }
        self.tell(None, READY, &[]);
        self.wait(self.most, |state| state.id)
            .ok_or_else(|| self.late(self.state().lost.is_some(), "0"))
    }

    /// Why ranks did not get ready: another is lost, or they take too long.
    fn late(&self, is_lost: bool, missing: &str) -> Error {
        if is_lost {
            return Error::Lost;
        }
        Error::Rendezvous(format!(
            "of {} ranks, {missing} came, and did not get ready within {} s (--wait SECONDS waits longer)",
            self.place.world_size,
            self.most.as_secs()
        ))
    }

    /// Waits until there is something, or another rank is lost, or for so long.
    fn wait<T>(&self, most: Duration, there: impl Fn(&State) -> Option<T>) -> Option<T> {
        let begun = Instant::now();
        let mut state = self.state();
        loop {
            if let Some(found) = there(&state) {
                return Some(found);
            }
            if state.lost.is_some() || begun.elapsed() > most {
                return None;
            }
            let look = Duration::from_millis(100);
            let woken = self.changed.wait_timeout(state, look);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// What is to be ended when another rank is lost.
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

    /// Why another rank is lost, waiting for so long to hear of it.
    pub(crate) fn why_lost(&self, most: Duration) -> Option<String> {
        // A reason ends the wait too.
        let _: Option<()> = self.wait(most, |_| None);
        self.state().lost.clone()
    }

    /// This rank has done its work, or fails, with the reason.
    pub(crate) fn end(&self, failure: Option<&str>) {
        self.state().communicator = None;
        self.state().done = true;
        match failure {
            Some(reason) => self.tell(None, FAILED, reason.as_bytes()),
            None => self.tell(None, DONE, &[]),
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
            most: Duration::from_millis(200),
            peers: Mutex::default(),
            state: Mutex::default(),
            changed: Condvar::new(),
        };
        let said = link(1, 2).all_ready().unwrap_err().to_string();
        assert!(said.contains("of 2 ranks, 0 came, and did not get ready within 0 s"), "{said}");
        // One that says it twice is one.
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
        assert!(said.contains("of 3 ranks, 2 came, and did not get ready"), "{said}");
    }
}
