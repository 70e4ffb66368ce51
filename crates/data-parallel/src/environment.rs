//! A rank's environment variables, as `torchrun` and Slurm set them.

use std::net::TcpStream;

use crate::error::{Error, Result};
use crate::peer::{self, Peer, Secret};
use crate::rank::Rank;

/// The number of consecutive ports that are tried.
pub(crate) const PORTS: u16 = 8;
/// The maximum number of ranks in a run: rank 0 has a connection and a thread for each.
pub(crate) const MAX_RANKS: usize = 1024;

/// A rank's place and the rendezvous, from environment variables.
#[derive(Clone, Debug)]
pub(crate) struct Environment {
    pub(crate) place: Rank,
    /// The rank's number among the ranks of this machine.
    pub(crate) local_rank: usize,
    /// The host name or IP address of rank 0.
    pub(crate) address: String,
    /// The first port that is tried.
    pub(crate) port: u16,
    /// An identifier of the run, which differs between runs.
    pub(crate) run: u64,
    pub(crate) secret: Secret,
    /// The function that finds the owner of a connection's other end. Tests replace it.
    pub(crate) peer_of: fn(&TcpStream) -> Peer,
}

impl Environment {
    /// Reads the variables that `torchrun` sets. For rank, number of ranks and local rank, Slurm's variables
    /// are the fallback.
    ///
    /// # Errors
    /// If a variable is missing or invalid.
    pub(crate) fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let text = |names: &[&str]| {
            let mut set =
                names.iter().filter_map(|name| Some(((*name).to_owned(), variable(name)?)));
            set.find(|(_, value)| !value.trim().is_empty()).ok_or_else(|| {
                let remedy = match names {
                    [name] => format!("start it with torchrun, or set {name}"),
                    _ => "start it with torchrun or srun".to_owned(),
                };
                let names = names.join(" or ");
                Error::Rendezvous(format!(
                    "--distributed needs {names} in the environment: {remedy}"
                ))
            })
        };
        let number = |names: &[&str]| {
            let (name, value) = text(names)?;
            value.trim().parse::<usize>().map_err(|error| {
                Error::Rendezvous(format!("{name} is {value:?}, which is not a number: {error}"))
            })
        };
        let rank = number(&["RANK", "SLURM_PROCID"])?;
        let world_size = number(&["WORLD_SIZE", "SLURM_NTASKS"])?;
        let local_rank = number(&["LOCAL_RANK", "SLURM_LOCALID"])?;
        if world_size > MAX_RANKS {
            return Err(Error::Rendezvous(format!(
                "WORLD_SIZE is {world_size}: the limit is {MAX_RANKS} ranks"
            )));
        }
        for (name, number) in [("RANK", rank), ("LOCAL_RANK", local_rank)] {
            if number >= world_size {
                return Err(Error::Rendezvous(format!(
                    "{name} is {number}, but WORLD_SIZE is {world_size}: ranks count from 0"
                )));
            }
        }
        let (_, address) = text(&["MASTER_ADDR"])?;
        let port = number(&["MASTER_PORT"])?;
        // torchrun itself may listen at the first port, which is then skipped.
        let taken = variable("TORCHELASTIC_USE_AGENT_STORE").is_some_and(|is| is == "True");
        let first = u16::try_from(port).ok().and_then(|port| port.checked_add(u16::from(taken)));
        let first = first.filter(|first| *first > 0 && first.checked_add(PORTS).is_some());
        let first = first.ok_or_else(|| {
            Error::Rendezvous(format!(
                "MASTER_PORT is {port}: it and the {PORTS} numbers after it have to be ports"
            ))
        })?;
        let names = ["TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "SLURM_JOB_ID"];
        let parts = names.map(|name| variable(name).unwrap_or_default());
        let run = format!("{address} {port} {}", parts.join(" "));
        // The FNV-1a hash of the run's name. It need not be secret, because it only distinguishes runs.
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        let run = run.bytes().fold(0xcbf2_9ce4_8422_2325, step);
        let secret =
            Secret::new(variable(peer::SECRET_VARIABLE).as_deref()).map_err(Error::Rendezvous)?;
        let (place, peer_of) = (Rank { rank, world_size }, peer::peer_of as fn(&TcpStream) -> Peer);
        Ok(Self { place, local_rank, address, port: first, run, secret, peer_of })
    }

    /// The ports that are tried.
    pub(crate) fn ports(&self) -> std::ops::Range<u16> {
        self.port..self.port + PORTS
    }

    /// The reason to refuse a connection because of its owner. `None` if a secret is set, because then the peer
    /// has to prove that it has the same one.
    pub(crate) fn refusal(&self, stream: &TcpStream) -> Option<String> {
        if self.secret.is_set() {
            return None;
        }
        match (self.peer_of)(stream) {
            Peer::SameUser => None,
            peer => Some(format!("{peer}, and {} is not set", peer::SECRET_VARIABLE)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads an environment with these variables.
    fn read(set: &[(&str, &str)]) -> Result<Environment> {
        Environment::read(|name| {
            set.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned())
        })
    }

    fn error_for(set: &[(&str, &str)]) -> String {
        read(set).map(|_| ()).unwrap_err().to_string()
    }

    #[test]
    fn missing_and_invalid_variables_are_named() {
        assert_eq!(
            error_for(&[]),
            "--distributed needs RANK or SLURM_PROCID in the environment: start it with torchrun or srun"
        );
        assert!(error_for(&[("RANK", "0")]).contains("WORLD_SIZE or SLURM_NTASKS"));
        assert!(error_for(&[("RANK", "x")]).contains("RANK is \"x\""));
        let ranks = [("RANK", "4"), ("WORLD_SIZE", "4"), ("LOCAL_RANK", "0")];
        assert!(error_for(&ranks).contains("count from 0"));
        let slurm = [("SLURM_PROCID", "1"), ("SLURM_NTASKS", "2"), ("SLURM_LOCALID", "1")];
        assert!(error_for(&slurm).ends_with("start it with torchrun, or set MASTER_ADDR"));
        let all = [&slurm[..], &[("MASTER_ADDR", "localhost"), ("MASTER_PORT", "65533")]].concat();
        assert!(error_for(&all).contains("MASTER_PORT is 65533"));
        let port = ("MASTER_PORT", "29500");
        let all =
            [&slurm[..], &[("MASTER_ADDR", "localhost"), port, (peer::SECRET_VARIABLE, "1234")]];
        assert!(error_for(&all.concat()).contains("FOUR_LEVELS_SECRET has 4 characters"));
    }

    #[test]
    fn too_large_numbers_are_refused() {
        for (world_size, words) in [
            ("9223372036854775808", "WORLD_SIZE is 9223372036854775808: the limit is 1024 ranks"),
            ("100000000", "WORLD_SIZE is 100000000: the limit is 1024 ranks"),
            ("1025", "the limit is 1024 ranks"),
            ("18446744073709551616", "which is not a number"),
            ("0", "RANK is 0, but WORLD_SIZE is 0"),
        ] {
            let set = [("RANK", "0"), ("LOCAL_RANK", "0"), ("WORLD_SIZE", world_size)];
            assert!(error_for(&set).contains(words), "{}", error_for(&set));
        }
        let local = ("LOCAL_RANK", "18446744073709551615");
        assert!(
            error_for(&[("RANK", "0"), ("WORLD_SIZE", "2"), local]).contains("LOCAL_RANK is 1844")
        );
    }

    #[test]
    fn torchruns_own_port_is_skipped() {
        let port = |taken| {
            let rank = [("RANK", "0"), ("LOCAL_RANK", "0"), ("WORLD_SIZE", "2")];
            let rank_0 = [("MASTER_ADDR", "localhost"), ("MASTER_PORT", "29500")];
            let taken = [("TORCHELASTIC_USE_AGENT_STORE", taken)];
            read(&[&rank[..], &rank_0, &taken].concat()).unwrap().port
        };
        assert_eq!((port("False"), port("True")), (29500, 29501));
    }
}
