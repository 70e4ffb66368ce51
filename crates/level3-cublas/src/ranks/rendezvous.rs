//! How ranks that are processes find each other: at an address and a port that all were told, as
//! `torchrun` and Slurm tell them, where rank 0 listens.
//!
//! `torchrun` may listen at that port itself (then `TORCHELASTIC_USE_AGENT_STORE` is `True`), so rank
//! 0 takes the first of a few ports that is free, and the others try one after the other: each asks
//! whether it has found rank 0 of its own run.

use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use training::Rank;

use super::link::{self, FAILED, WELCOME};
use crate::error::{Error, Result};

#[cfg(test)]
mod tests;

/// How many ports are tried, from the first on.
const PORTS: u16 = 8;
/// How a rank introduces itself.
const MAGIC: &[u8; 16] = b"four levels rank";
/// How rank 0 answers. Not with the same: a rank that asks at a port where nothing listens may be
/// given that very port for its own side, and TCP then connects it to itself.
const REPLY: &[u8; 16] = b"four levels, yes";
/// The magic, the run, the rank, how many there are.
const HELLO: usize = 16 + 8 + 4 + 4;
/// How often is looked whether somebody has come.
const LOOK: Duration = Duration::from_millis(20);
/// How long rank 0 may take to answer.
const ANSWER: Duration = Duration::from_secs(1);

/// What the environment says of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Environment {
    pub(crate) place: Rank,
    /// Which of the ranks of this machine.
    pub(crate) local_rank: usize,
    address: String,
    /// The first port that is tried.
    port: u16,
    /// What tells this run from others.
    run: u64,
}

impl Environment {
    /// Reads the variables that `torchrun` sets; of rank, number and local rank, else those of
    /// Slurm.
    ///
    /// # Errors
    /// When one is missing, or makes no sense.
    pub(crate) fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let text = |names: &[&str]| {
            let mut set =
                names.iter().filter_map(|name| Some(((*name).to_owned(), variable(name)?)));
            set.find(|(_, value)| !value.trim().is_empty()).ok_or_else(|| {
                Error::Rendezvous(format!(
                    "--distributed needs {} in the environment, as torchrun sets it",
                    names.join(" or ")
                ))
            })
        };
        let number = |names: &[&str]| {
            let (name, value) = text(names)?;
            value.trim().parse::<usize>().map_err(|error| {
                Error::Rendezvous(format!("{name} is {value:?}, which is no number: {error}"))
            })
        };
        let rank = number(&["RANK", "SLURM_PROCID"])?;
        let world_size = number(&["WORLD_SIZE", "SLURM_NTASKS"])?;
        let local_rank = number(&["LOCAL_RANK", "SLURM_LOCALID"])?;
        if rank >= world_size {
            return Err(Error::Rendezvous(format!(
                "RANK is {rank} and WORLD_SIZE {world_size}: ranks count from 0"
            )));
        }
        let (_, address) = text(&["MASTER_ADDR"])?;
        let port = number(&["MASTER_PORT"])?;
        let taken = variable("TORCHELASTIC_USE_AGENT_STORE").is_some_and(|is| is == "True");
        let first = u16::try_from(port).ok().and_then(|port| port.checked_add(u16::from(taken)));
        let first = first.filter(|first| *first > 0 && first.checked_add(PORTS).is_some());
        let first = first.ok_or_else(|| {
            Error::Rendezvous(format!(
                "MASTER_PORT is {port}: it and the {PORTS} behind it have to be ports"
            ))
        })?;
        let names = ["TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "SLURM_JOB_ID"];
        let parts = names.map(|name| variable(name).unwrap_or_default());
        let run = format!("{address} {port} {}", parts.join(" "));
        // FNV-1a: nothing secret, only another number for another run.
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        let run = run.bytes().fold(0xcbf2_9ce4_8422_2325, step);
        let place = Rank { rank, world_size };
        Ok(Self { place, local_rank, address, port: first, run })
    }

    fn hello(&self) -> [u8; HELLO] {
        let mut hello = [0; HELLO];
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX).to_le_bytes();
        hello[..16].copy_from_slice(MAGIC);
        hello[16..24].copy_from_slice(&self.run.to_le_bytes());
        hello[24..28].copy_from_slice(&number(self.place.rank));
        hello[28..].copy_from_slice(&number(self.place.world_size));
        hello
    }

    fn ports(&self) -> std::ops::Range<u16> {
        self.port..self.port + PORTS
    }

    /// Finds the other ranks: connections to all of them on rank 0, and to rank 0 on the others.
    ///
    /// # Errors
    /// Which ranks did not come, or which one says that they are another number.
    pub(crate) fn meet(&self, wait: Duration) -> Result<HashMap<usize, TcpStream>> {
        let found = match self.place.rank {
            0 => self.listen(wait)?,
            _ => HashMap::from([(0, self.find(wait)?)]),
        };
        for stream in found.values() {
            let ready = stream.set_nonblocking(false).and_then(|()| stream.set_read_timeout(None));
            ready.and_then(|()| stream.set_nodelay(true)).map_err(failed("a connection"))?;
        }
        Ok(found)
    }

    /// Rank 0: waits for the others.
    fn listen(&self, wait: Duration) -> Result<HashMap<usize, TcpStream>> {
        let listener = self.bind()?;
        let begun = Instant::now();
        let mut guests: Vec<Guest> = Vec::new();
        let mut ranks: HashMap<usize, TcpStream> = HashMap::new();
        let others = self.place.world_size - 1;
        let verdict = loop {
            if ranks.len() == others {
                break Ok(());
            }
            if begun.elapsed() > wait {
                let missing = (1..=others).filter(|rank| !ranks.contains_key(rank));
                let missing: Vec<String> = missing.map(|rank| rank.to_string()).collect();
                break Err(format!(
                    "of {} ranks, {} did not come within {} s (--wait SECONDS waits longer)",
                    self.place.world_size,
                    missing.join(", "),
                    wait.as_secs()
                ));
            }
            // Whoever else comes here is sent away, and too many of them are not listened to.
            while guests.len() < 2 * self.place.world_size
                && let Ok((stream, _)) = listener.accept()
            {
                if stream.set_nonblocking(true).is_ok() {
                    guests.push(Guest { stream, said: Vec::new(), since: Instant::now() });
                }
            }
            let mut refused = None;
            guests.retain_mut(|guest| match guest.hello() {
                Said::Nothing => true,
                Said::Nonsense => false,
                Said::Hello(hello) => {
                    if let Err(reason) = self.seat(&hello, guest, &mut ranks) {
                        refused.get_or_insert(reason);
                    }
                    false
                }
            });
            if let Some(reason) = refused {
                break Err(reason);
            }
            std::thread::sleep(LOOK);
        };
        for stream in ranks.values_mut() {
            let _ = stream.set_nonblocking(false);
            // Who has gone meanwhile is found out later.
            let _ = match &verdict {
                Ok(()) => link::write(stream, WELCOME, &[]),
                Err(reason) => link::write(stream, FAILED, reason.as_bytes()),
            };
        }
        verdict.map(|()| ranks).map_err(Error::Rendezvous)
    }

    /// Gives a rank its seat.
    fn seat(
        &self,
        hello: &[u8; HELLO],
        guest: &Guest,
        ranks: &mut HashMap<usize, TcpStream>,
    ) -> std::result::Result<(), String> {
        if hello[..24] != self.hello()[..24] {
            return Ok(());
        }
        let number = |at: usize| {
            let bytes = [hello[at], hello[at + 1], hello[at + 2], hello[at + 3]];
            u32::from_le_bytes(bytes) as usize
        };
        let (rank, world_size) = (number(24), number(28));
        let Ok(mut stream) = guest.stream.try_clone() else { return Ok(()) };
        if stream.write_all(REPLY).is_err() {
            return Ok(());
        }
        if ranks.get(&rank).is_some_and(|other| !is_gone(other)) {
            return Err(format!("two processes say that they are rank {rank}"));
        }
        ranks.insert(rank, stream);
        if world_size != self.place.world_size || rank == 0 || rank >= world_size {
            return Err(format!(
                "rank {rank} says that there are {world_size} ranks, and rank 0 that there are {}",
                self.place.world_size
            ));
        }
        Ok(())
    }

    /// Listens at the first port that is free.
    fn bind(&self) -> Result<TcpListener> {
        let mut last = None;
        for port in self.ports() {
            for address in self.own_addresses(port) {
                match TcpListener::bind(address) {
                    Ok(listener) => {
                        listener.set_nonblocking(true).map_err(failed("a port"))?;
                        return Ok(listener);
                    }
                    Err(error) => last = Some(error),
                }
            }
        }
        Err(Error::Rendezvous(format!(
            "rank 0 can listen at none of the ports {} to {} (MASTER_PORT){}",
            self.port,
            self.port + PORTS - 1,
            last.map_or_else(String::new, |error| format!(": {error}"))
        )))
    }

    /// Where rank 0 listens: on the loopback alone where the others look for it there.
    fn own_addresses(&self, port: u16) -> Vec<SocketAddr> {
        let own: Vec<IpAddr> = match self.address.parse::<IpAddr>() {
            Ok(ip) if ip.is_loopback() => vec![ip],
            _ if self.address == "localhost" => {
                vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]
            }
            _ => vec![Ipv6Addr::UNSPECIFIED.into(), Ipv4Addr::UNSPECIFIED.into()],
        };
        own.into_iter().map(|ip| SocketAddr::new(ip, port)).collect()
    }

    /// Another rank: looks for rank 0.
    fn find(&self, wait: Duration) -> Result<TcpStream> {
        let (begun, address) = (Instant::now(), &self.address);
        let mut last = String::from("nobody answers");
        while begun.elapsed() < wait {
            for port in self.ports() {
                let hosts = match (address.as_str(), port).to_socket_addrs() {
                    Ok(hosts) => hosts,
                    Err(error) => {
                        last = error.to_string();
                        break;
                    }
                };
                for host in hosts {
                    let left = wait.saturating_sub(begun.elapsed()).clamp(LOOK, ANSWER);
                    match TcpStream::connect_timeout(&host, left) {
                        Ok(stream) if self.is_rank_0(&stream) => {
                            return welcomed(stream, wait.saturating_sub(begun.elapsed()));
                        }
                        Ok(_) => {}
                        Err(error) => last = error.to_string(),
                    }
                }
            }
            std::thread::sleep(LOOK);
        }
        Err(Error::Rendezvous(format!(
            "rank 0 is not found within {} s at {address}, ports {} to {} (MASTER_ADDR, \
             MASTER_PORT): {last}",
            wait.as_secs(),
            self.port,
            self.port + PORTS - 1
        )))
    }

    /// Introduces this rank, and hears whether the other side is rank 0 of this run.
    fn is_rank_0(&self, mut stream: &TcpStream) -> bool {
        let mut answer = [0; 16];
        let asked = stream
            .set_read_timeout(Some(ANSWER))
            .and_then(|()| stream.write_all(&self.hello()))
            .and_then(|()| stream.read_exact(&mut answer));
        asked.is_ok() && answer == *REPLY
    }
}

/// Waits until rank 0 says that all are there.
fn welcomed(mut stream: TcpStream, left: Duration) -> Result<TcpStream> {
    stream
        .set_read_timeout(Some(left + Duration::from_millis(1500)))
        .map_err(failed("a connection"))?;
    match link::read(&mut stream) {
        Ok((WELCOME, _)) => Ok(stream),
        Ok((FAILED, reason)) => {
            Err(Error::Rendezvous(String::from_utf8_lossy(&reason).into_owned()))
        }
        Ok(_) => Err(Error::Rendezvous("rank 0 says something that is not known".into())),
        Err(error) => Err(Error::Rendezvous(format!("rank 0 is gone: {error}"))),
    }
}

/// Whether the other side has hung up, as far as that can be told without waiting.
fn is_gone(stream: &TcpStream) -> bool {
    let mut byte = [0];
    match stream.peek(&mut byte) {
        Ok(0) => true,
        Ok(_) => false,
        Err(error) => error.kind() != ErrorKind::WouldBlock,
    }
}

fn failed(what: &'static str) -> impl Fn(std::io::Error) -> Error {
    move |error| Error::Rendezvous(format!("{what} can't be used: {error}"))
}

/// Somebody who has come.
struct Guest {
    stream: TcpStream,
    said: Vec<u8>,
    since: Instant,
}

enum Said {
    Nothing,
    Nonsense,
    Hello([u8; HELLO]),
}

impl Guest {
    /// What it has said so far.
    fn hello(&mut self) -> Said {
        let mut bytes = [0; HELLO];
        match self.stream.read(&mut bytes[self.said.len()..]) {
            Ok(0) => return Said::Nonsense,
            Ok(n) => {
                let end = self.said.len() + n;
                self.said.extend_from_slice(&bytes[self.said.len()..end]);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => return Said::Nonsense,
        }
        match <[u8; HELLO]>::try_from(&self.said[..]) {
            Ok(hello) => Said::Hello(hello),
            Err(_) if self.since.elapsed() > 2 * ANSWER => Said::Nonsense,
            Err(_) => Said::Nothing,
        }
    }
}
