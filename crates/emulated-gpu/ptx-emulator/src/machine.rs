//! The memory that this process can have: the least of what the machine has free, of what its control
//! groups have left, and of its address space if that is limited (`ulimit -v`).

use std::fs::read_to_string;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// What the device is given of it: the rest is for the program, and for what remembers what the
/// checks have seen.
const SHARE: (u64, u64) = (3, 4);
/// Where the system does not say.
const UNKNOWN: u64 = if cfg!(target_pointer_width = "32") { 1 << 30 } else { 8 << 30 };
/// The device's memory is a multiple of this, and not less.
const UNIT: u64 = 1 << 20;

/// Bytes of memory that a device can promise, as found out when this is asked first: three quarters of
/// what this process can have.
#[must_use]
pub fn memory() -> u64 {
    static MEMORY: OnceLock<u64> = OnceLock::new();
    *MEMORY.get_or_init(|| {
        let available = read_to_string("/proc/meminfo").ok().and_then(|text| available(&text));
        let limits = [available, control_group(), address_space()];
        promised(limits.into_iter().flatten().min().unwrap_or(UNKNOWN))
    })
}

fn promised(left: u64) -> u64 {
    (left / SHARE.1 * SHARE.0 / UNIT * UNIT).max(UNIT)
}

/// What `/proc/meminfo` says can be had without swapping.
fn available(meminfo: &str) -> Option<u64> {
    let field = |name: &str| {
        let line = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1 << 10)
    };
    field("MemAvailable:").or_else(|| field("MemTotal:"))
}

/// What the groups that the process is in may still take, of either version.
fn control_group() -> Option<u64> {
    let groups = read_to_string("/proc/self/cgroup").ok()?;
    let root = Path::new("/sys/fs/cgroup");
    let folders = groups.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        let mount = match controllers {
            "" => root.to_owned(),
            _ if controllers.split(',').any(|name| name == "memory") => root.join("memory"),
            _ => return None,
        };
        Some((mount, path.trim_start_matches('/').to_owned()))
    });
    folders.filter_map(|(mount, path)| left_in(&mount, &path)).min()
}

/// What a group and those above it may still take. In a container, the mount may be the group itself.
fn left_in(mount: &Path, path: &str) -> Option<u64> {
    let group = mount.join(path);
    let above: Vec<PathBuf> =
        group.ancestors().take_while(|one| one.starts_with(mount)).map(Path::to_owned).collect();
    above.iter().filter_map(|folder| left(|name| read_to_string(folder.join(name)).ok())).min()
}

/// What one group may still take, by its files.
fn left(file: impl Fn(&str) -> Option<String>) -> Option<u64> {
    let number = |names: [&str; 2]| {
        let text = names.into_iter().find_map(&file)?;
        text.trim().parse::<u64>().ok()
    };
    // Version 2, version 1. Without a limit there is "max", or a number close to 2^63.
    let limit = number(["memory.max", "memory.limit_in_bytes"]).filter(|&limit| limit < 1 << 60)?;
    let used = number(["memory.current", "memory.usage_in_bytes"]).unwrap_or(0);
    // What is only kept of files goes when it is needed.
    let stat = file("memory.stat").unwrap_or_default();
    let cache = stat.lines().filter_map(|line| {
        let (name, bytes) = line.split_once(' ')?;
        matches!(name, "active_file" | "inactive_file").then(|| bytes.trim().parse::<u64>().ok())?
    });
    Some(limit.saturating_sub(used.saturating_sub(cache.sum())))
}

/// What is left of the address space, where it is limited.
fn address_space() -> Option<u64> {
    let limits = read_to_string("/proc/self/limits").ok()?;
    let status = read_to_string("/proc/self/status").unwrap_or_default();
    left_to_map(&limits, &status)
}

fn left_to_map(limits: &str, status: &str) -> Option<u64> {
    // The first number is the limit that holds; without one there is "unlimited".
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    let limit: u64 = line.split_whitespace().next()?.parse().ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmSize:"));
    let used = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    Some(limit.saturating_sub(used.unwrap_or(0) << 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_quarters_are_promised_in_whole_mebibytes() {
        assert_eq!(promised(4 << 30), 3 << 30);
        assert_eq!(promised((4 << 30) + 12345), 3 << 30);
        assert_eq!(promised(0), 1 << 20);
    }

    #[test]
    fn what_can_be_had_is_less_than_what_there_is() {
        let text = "MemTotal:  16000 kB\nMemFree:  100 kB\nMemAvailable:    8000 kB\n";
        assert_eq!(available(text), Some(8000 << 10));
        assert_eq!(available("MemTotal:  16000 kB\n"), Some(16000 << 10));
        assert_eq!(available("MemTotal:  none\n"), None);
    }

    #[test]
    fn a_group_may_take_what_it_does_not_use_or_only_keeps_of_files() {
        let left_by = |pairs: &[(&str, &str)]| {
            left(|name| {
                let found = pairs.iter().find(|(own, _)| *own == name);
                found.map(|(_, text)| (*text).to_owned())
            })
        };
        let stat = "anon 700\nactive_file 100\ninactive_file 50\nfile 400\n";
        let two = [("memory.max", "1000\n"), ("memory.current", "800\n"), ("memory.stat", stat)];
        assert_eq!(left_by(&two), Some(350));
        let one = [("memory.limit_in_bytes", "1000\n"), ("memory.usage_in_bytes", "800\n")];
        assert_eq!(left_by(&one), Some(200));
        assert_eq!(left_by(&[("memory.max", "max\n"), ("memory.current", "800\n")]), None);
        assert_eq!(left_by(&[("memory.limit_in_bytes", "9223372036854771712\n")]), None);
        assert_eq!(left_by(&[]), None);
    }

    #[test]
    fn a_limited_address_space_is_used_in_part() {
        let limits =
            "Limit  Soft Limit  Hard Limit  Units\nMax address space    300000  unlimited  bytes\n";
        assert_eq!(left_to_map(limits, "VmSize:\t     100 kB\n"), Some(300_000 - 102_400));
        assert_eq!(left_to_map(limits, "VmSize:\t  999999 kB\n"), Some(0));
        let unlimited =
            "Max address space         unlimited            unlimited            bytes\n";
        assert_eq!(left_to_map(unlimited, ""), None);
    }
}
