//! The options `--gpus`, `--distributed`, `--bucket` and `--wait` of a program whose level can be several
//! ranks.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use clap::Args;
use gpu::{DeviceArgs, Gpu};
use training::{Error, Result, Runner, Single, whole_number};

use crate::adapter::Reduction;
use crate::environment::Environment;
use crate::level::DeviceLevel;
use crate::process::{Process, on_process};
use crate::rank::Rank;
use crate::threads::on_gpus;

/// How many ranks there are, and how they find each other.
#[derive(Args, Clone, Debug)]
pub struct ParallelArgs {
    /// Train on N GPUs of this machine. Each is a rank, which computes its share of every batch.
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "distributed",
          value_parser = gpus)]
    gpus: u8,
    /// Run as one of several ranks, one process per GPU. Reads RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and
    /// MASTER_PORT as set by torchrun, or Slurm's variables. Ranks of several machines or users need the
    /// same FOUR_LEVELS_SECRET, a random text; without it, a rank only accepts processes of the same user
    /// on the same machine.
    #[arg(long)]
    distributed: bool,
    /// With several ranks, send gradients in buckets of at least KIB KiB.
    #[arg(long, value_name = "KIB", default_value_t = 1, value_parser = whole_number::<u32>)]
    bucket: u32,
    /// With --distributed, wait this long for the other ranks to connect, and then as long again, but at
    /// least 30 seconds, for all to be ready.
    #[arg(long, value_name = "SECONDS", default_value_t = 8, value_parser = whole_number::<u32>)]
    wait: u32,
    /// This process as a rank, once the process has found the other ranks.
    #[arg(skip)]
    process: OnceLock<Process>,
}

/// Parses the number of GPUs.
fn gpus(text: &str) -> Result<u8, String> {
    let gpus = whole_number::<i64>(text)?;
    let gpus = u8::try_from(gpus).ok().filter(|gpus| (1..=64).contains(gpus));
    gpus.ok_or_else(|| "it has to be from 1 to 64".into())
}

impl ParallelArgs {
    /// With `--distributed`, finds the other processes. Returns whether rank 0 is in this process.
    ///
    /// # Errors
    /// If the environment describes no rank, or a rank does not connect in time.
    pub fn is_leader(&self) -> Result<bool> {
        if self.distributed && self.process.get().is_none() {
            let environment = Environment::read(|name| std::env::var(name).ok())
                .map_err(|error| Error::Usage(error.to_string()))?;
            let process = Process::start(&environment, Duration::from_secs(self.wait.into()))?;
            self.process.get_or_init(|| process);
        }
        Ok(self.ranks().any(Rank::is_first))
    }

    /// The ranks that this process runs.
    fn ranks(&self) -> impl Iterator<Item = Rank> + use<> {
        let world_size = usize::from(self.gpus);
        let threads = (0..world_size).map(move |rank| Rank { rank, world_size });
        let process = self.process.get().map(|process| process.place);
        let threads = threads.filter(move |_| process.is_none());
        process.into_iter().chain(threads)
    }

    /// The files that the ranks of this process write for an option that names `path`.
    #[must_use]
    pub fn files(&self, path: &Path) -> Vec<PathBuf> {
        self.ranks().map(|rank| rank.file(path)).collect()
    }

    /// Fails if there are several ranks, for a command that only runs on a single rank.
    ///
    /// # Errors
    /// [`Error::Usage`] if there are several ranks; as [`is_leader`](Self::is_leader).
    pub fn require_one(&self) -> Result<()> {
        self.is_leader()?;
        if self.ranks().all(Rank::is_alone) {
            return Ok(());
        }
        Err(Error::Usage("predict takes one GPU: it has no work for several ranks".into()))
    }

    /// The GPU of the first rank of this process.
    ///
    /// # Errors
    /// As [`DeviceArgs::open_one`].
    pub fn open_first(&self, device: DeviceArgs) -> Result<Gpu> {
        self.open_gpu(device, Rank { rank: 0, world_size: self.gpus.into() })
    }

    /// Opens the GPU of a rank.
    fn open_gpu(&self, device: DeviceArgs, place: Rank) -> Result<Gpu> {
        let Some(process) = self.process.get() else {
            return device.open_one(place.rank, place.world_size).map_err(Error::level);
        };
        let opened = match process.place.is_first() {
            true => device.open(),
            // `Gpu::open` prints no notes about the device, because rank 0 has already printed them.
            false => Gpu::open(device.device),
        };
        // If the driver shows only one GPU to this process, that GPU is used. An emulated GPU is never shared with
        // other processes. Otherwise the local rank is the index of the GPU.
        let gpu = opened.and_then(|gpu| match gpu.count()? {
            1 => Ok(gpu),
            _ if gpu.is_emulated() => Ok(gpu),
            _ => Gpu::open_one(device.device, process.local_rank, process.local_rank + 1),
        });
        gpu.map_err(Error::level)
    }

    /// Makes the level of each rank of this process on its GPU, and runs `work` on all of them at the same time.
    ///
    /// # Errors
    /// If a level can't be made or the work fails. The error is the first failure.
    pub fn on_each<L: DeviceLevel>(
        &self,
        device: DeviceArgs,
        make: &(dyn Fn(Gpu, Rank) -> Result<L> + Sync),
        work: &(dyn Fn(&mut dyn Runner) -> Result<()> + Sync),
    ) -> Result<()> {
        let bucket = (self.bucket as usize).saturating_mul(1024);
        let reduction = Reduction { bucket, ..Reduction::default() };
        let make = |place| make(self.open_gpu(device, place)?, place);
        match (self.process.get(), usize::from(self.gpus)) {
            (Some(process), _) => on_process(process, reduction, || make(process.place), work),
            (None, 1) => work(&mut Single(&mut make(Rank::ALONE)?)),
            (None, gpus) => {
                let gpu = self.open_first(device)?;
                on_gpus(&gpu, gpus, reduction, &make, &|level| work(level))
            }
        }
    }
}
