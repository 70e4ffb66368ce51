//! The memory that is available to this process: the minimum of the machine's free memory, the unused part of its
//! control groups' limits, and the unused part of its address space if that is limited (`ulimit -v`).

use std::fs::read_to_string;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The device's share of the available memory. The remaining memory is for the program, and for the records of the
/// checks.
const DEVICE_SHARE: (u64, u64) = (3, 4);
/// The fallback if the system doesn't report its memory.
const FALLBACK: u64 = if cfg!(target_pointer_width = "32") { 1 << 30 } else { 8 << 30 };
/// The granularity and the minimum of the device's memory size, in bytes.
const GRANULARITY: u64 = 1 << 20;

/// The memory of a device in bytes: three quarters of the memory that was available to this process at the
/// first call.
#[must_use]
pub fn memory() -> u64 {
    static MEMORY: OnceLock<u64> = OnceLock::new();
    *MEMORY.get_or_init(|| {
        let available =
            read_to_string("/proc/meminfo").ok().and_then(|text| available_memory(&text));
        let limits = [available, control_group(), address_space()];
        device_memory(limits.into_iter().flatten().min().unwrap_or(FALLBACK))
    })
}

fn device_memory(left: u64) -> u64 {
    (left / DEVICE_SHARE.1 * DEVICE_SHARE.0 / GRANULARITY * GRANULARITY).max(GRANULARITY)
}

/// The memory that is available without swapping, from `/proc/meminfo`.
fn available_memory(meminfo: &str) -> Option<u64> {
    let field = |name: &str| {
        let line = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1 << 10)
    };
    field("MemAvailable:").or_else(|| field("MemTotal:"))
}

/// The unused part of the limits of the process's control groups, of version 1 or 2.
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
    folders.filter_map(|(mount, path)| group_headroom(&mount, &path)).min()
}

/// The unused part of the limits of a group and its parents. In a container, the mount may be the group itself.
fn group_headroom(mount: &Path, path: &str) -> Option<u64> {
    let group = mount.join(path);
    let above: Vec<PathBuf> =
        group.ancestors().take_while(|one| one.starts_with(mount)).map(Path::to_owned).collect();
    above.iter().filter_map(|folder| headroom(|name| read_to_string(folder.join(name)).ok())).min()
}

/// The unused part of one group's limit, from its files.
fn headroom(file: impl Fn(&str) -> Option<String>) -> Option<u64> {
    let number = |names: [&str; 2]| {
        let text = names.into_iter().find_map(&file)?;
        text.trim().parse::<u64>().ok()
    };
    // The names in control groups of version 2 and of version 1. Without a limit, the value is "max"
    // or close to 2^63.
    let limit = number(["memory.max", "memory.limit_in_bytes"]).filter(|&limit| limit < 1 << 60)?;
    let used = number(["memory.current", "memory.usage_in_bytes"]).unwrap_or(0);
    // The file cache is released on demand, so it doesn't count as used.
    let stat = file("memory.stat").unwrap_or_default();
    let cache = stat.lines().filter_map(|line| {
        let (name, bytes) = line.split_once(' ')?;
        matches!(name, "active_file" | "inactive_file").then(|| bytes.trim().parse::<u64>().ok())?
    });
    Some(limit.saturating_sub(used.saturating_sub(cache.sum())))
}

/// The unused part of the address space, if it is limited.
fn address_space() -> Option<u64> {
    let limits = read_to_string("/proc/self/limits").ok()?;
    let status = read_to_string("/proc/self/status").unwrap_or_default();
    address_space_headroom(&limits, &status)
}

fn address_space_headroom(limits: &str, status: &str) -> Option<u64> {
    // The first number is the soft limit, or "unlimited".
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
    fn the_share_is_three_quarters_in_whole_mebibytes() {
        assert_eq!(device_memory(4 << 30), 3 << 30);
        assert_eq!(device_memory((4 << 30) + 12345), 3 << 30);
        assert_eq!(device_memory(0), 1 << 20);
    }

    #[test]
    fn available_memory_is_preferred_to_total_memory() {
        let text = "MemTotal:  16000 kB\nMemFree:  100 kB\nMemAvailable:    8000 kB\n";
        assert_eq!(available_memory(text), Some(8000 << 10));
        assert_eq!(available_memory("MemTotal:  16000 kB\n"), Some(16000 << 10));
        assert_eq!(available_memory("MemTotal:  none\n"), None);
    }

    #[test]
    fn the_file_cache_of_a_group_counts_as_free() {
        let headroom_of_files = |pairs: &[(&str, &str)]| {
            headroom(|name| {
                let entry = pairs.iter().find(|(own, _)| *own == name);
                entry.map(|(_, text)| (*text).to_owned())
            })
        };
        let stat = "anon 700\nactive_file 100\ninactive_file 50\nfile 400\n";
        let two = [("memory.max", "1000\n"), ("memory.current", "800\n"), ("memory.stat", stat)];
        assert_eq!(headroom_of_files(&two), Some(350));
        let one = [("memory.limit_in_bytes", "1000\n"), ("memory.usage_in_bytes", "800\n")];
        assert_eq!(headroom_of_files(&one), Some(200));
        let actual = headroom_of_files(&[("memory.max", "max\n"), ("memory.current", "800\n")]);
        assert_eq!(actual, None);
        assert_eq!(headroom_of_files(&[("memory.limit_in_bytes", "9223372036854771712\n")]), None);
        assert_eq!(headroom_of_files(&[]), None);
    }

    #[test]
    fn the_rest_of_a_limited_address_space_is_found() {
        let limits =
            "Limit  Soft Limit  Hard Limit  Units\nMax address space    300000  unlimited  bytes\n";
        let expected = Some(300_000 - 102_400);
        assert_eq!(address_space_headroom(limits, "VmSize:\t     100 kB\n"), expected);
        assert_eq!(address_space_headroom(limits, "VmSize:\t  999999 kB\n"), Some(0));
        let unlimited =
            "Max address space         unlimited            unlimited            bytes\n";
        assert_eq!(address_space_headroom(unlimited, ""), None);
    }
}
