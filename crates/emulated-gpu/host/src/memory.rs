//! Whether there is memory for something whose size somebody else chose.
//!
//! Rust ends a program whose allocation fails, and Linux promises more memory than it has and ends
//! whoever uses it. So what may be large is asked for here first.

use std::fmt;
use std::fs;
use std::path::Path;

/// What a program needs beside what it asks for here: threads, and the many small things whose
/// allocation nobody watches.
const REST: usize = 64 << 20;

/// There is not enough memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// What is needed, in bytes.
    pub needed: u64,
    /// What can be had, in bytes, where that is known.
    pub available: Option<u64>,
}

impl fmt::Display for Shortage {
    /// `needs 72.0 GB of memory, and 3.1 GB can be had`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "needs {} of memory, and ", Bytes(self.needed))?;
        match self.available {
            Some(available) if available < self.needed => {
                write!(f, "{} can be had", Bytes(available))
            }
            // A limit of this process, such as `ulimit -v`.
            _ => f.write_str("this process is not given that much more"),
        }
    }
}

impl std::error::Error for Shortage {}

/// Says whether this many bytes could be had now.
///
/// # Errors
/// When they can't.
pub fn check(needed: u64) -> Result<(), Shortage> {
    let available = available();
    let shortage = Shortage { needed, available };
    if available.is_some_and(|available| available < needed) {
        return Err(shortage);
    }
    // The limits of this process: address space is reserved, and nothing is touched.
    let bytes = usize::try_from(needed).map_err(|_| shortage.clone())?;
    let with_rest = bytes.checked_add(REST).ok_or_else(|| shortage.clone())?;
    Vec::<u8>::new().try_reserve_exact(with_rest).map_err(|_| shortage)
}

/// The bytes that can be had without swapping, where the system tells: what is free or can be
/// freed, within the limits of this process's control groups.
fn available() -> Option<u64> {
    let file = |path: &Path| fs::read_to_string(path).ok();
    let machine = file(Path::new("/proc/meminfo")).and_then(|text| free(&text));
    let groups = file(Path::new("/proc/self/cgroup")).unwrap_or_default();
    machine.into_iter().chain(left_in_groups(&groups, file)).min()
}

/// What the control groups of `/proc/self/cgroup`, of either version, may still take. A group's limit also
/// holds for those inside it, so the least of all the groups above counts. In a container the mount may be
/// the group itself: its path leads nowhere then, and the mount has the limit.
fn left_in_groups(groups: &str, file: impl Fn(&Path) -> Option<String>) -> Option<u64> {
    let root = Path::new("/sys/fs/cgroup");
    let left = |line: &str| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        let mount = match controllers {
            "" => root.to_owned(),
            _ if controllers.split(',').any(|name| name == "memory") => root.join("memory"),
            _ => return None,
        };
        let group = mount.join(path.trim_start_matches('/'));
        let above = group.ancestors().take_while(|one| one.starts_with(&mount));
        above.filter_map(|group| left_in_group(|name| file(&group.join(name)))).min()
    };
    groups.lines().filter_map(left).min()
}

/// What one control group may still take, by its files.
fn left_in_group(file: impl Fn(&str) -> Option<String>) -> Option<u64> {
    let number = |names: [&str; 2]| names.into_iter().find_map(&file)?.trim().parse::<u64>().ok();
    // Version 2, then version 1. A group without a limit says "max", or a number near 2^63.
    let limit = number(["memory.max", "memory.limit_in_bytes"]).filter(|limit| *limit < 1 << 60)?;
    let used = number(["memory.current", "memory.usage_in_bytes"]).unwrap_or(0);
    Some(limit.saturating_sub(used))
}

/// `MemAvailable` and what can be swapped out for it, in bytes.
fn free(text: &str) -> Option<u64> {
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
    };
    Some(field("MemAvailable:")?.saturating_add(field("SwapFree:").unwrap_or(0)))
}

/// Has all threads take their memory from one place, where this process may have only this many
/// addresses (`ulimit -v`). glibc reserves 64 MiB of them for each thread otherwise, and what is
/// left then is soon not enough for a few bytes, at whose lack Rust ends a program.
pub(crate) fn spare_addresses() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    if has_limited_addresses() {
        // SAFETY: the call takes two numbers, and no other thread is there yet. Where it is refused,
        // everything is as it was.
        #[expect(unsafe_code, reason = "only the C library can be told")]
        let _ = unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
    }
}

/// Whether there is a limit of this process's addresses, as far as the system tells.
pub(crate) fn has_limited_addresses() -> bool {
    fs::read_to_string("/proc/self/limits").is_ok_and(|text| are_addresses_limited(&text))
}

/// Whether `/proc/self/limits` names a limit of addresses that holds now.
fn are_addresses_limited(text: &str) -> bool {
    let line = text.lines().find_map(|line| line.strip_prefix("Max address space"));
    line.and_then(|line| line.split_whitespace().next()).is_some_and(|soft| soft != "unlimited")
}

struct Bytes(u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            bytes if bytes >= 1_000_000_000 => write!(f, "{:.1} GB", bytes as f64 / 1e9),
            bytes => write!(f, "{:.1} MB", bytes as f64 / 1e6),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_any_machine_has_is_refused_with_both_numbers() {
        let shortage = check(1 << 60).unwrap_err();
        assert!(shortage.to_string().starts_with("needs 1152921504.6 GB of memory, and "));
        check(1 << 20).unwrap();
        let shortage = Shortage { needed: 72_000_000_000, available: Some(3_100_000_000) };
        assert_eq!(shortage.to_string(), "needs 72.0 GB of memory, and 3.1 GB can be had");
    }

    #[test]
    fn free_memory_is_read_as_the_kernel_writes_it() {
        let text = "MemTotal:  100 kB\nMemAvailable:      60 kB\nSwapFree:    4 kB\n";
        assert_eq!(free(text), Some(64 * 1024));
        assert_eq!(free("MemTotal: 100 kB\n"), None);
        assert_eq!(free("MemAvailable: many kB\n"), None);
    }

    /// What is left in the groups of a process, where these files are in `/sys/fs/cgroup`.
    fn left(groups: &str, files: &[(&str, &str)]) -> Option<u64> {
        left_in_groups(groups, |path| {
            let name = path.strip_prefix("/sys/fs/cgroup").unwrap().to_str().unwrap();
            let found = files.iter().find(|(own, _)| *own == name);
            found.map(|(_, text)| (*text).to_owned())
        })
    }

    #[test]
    fn the_least_of_all_groups_above_is_what_can_be_had() {
        let files = [
            ("memory.max", "max\n"),
            ("outer/memory.max", "1000\n"),
            ("outer/memory.current", "900\n"),
            ("outer/inner/memory.max", "800\n"),
            ("outer/inner/memory.current", "300\n"),
        ];
        assert_eq!(left("0::/outer/inner\n", &files), Some(100));
        assert_eq!(left("0::/outer/inner\n", &files[3..]), Some(500));
        assert_eq!(left("0::/outer/inner/innermost\n", &files), Some(100));
        assert_eq!(left("0::/other\n", &files), None);
        assert_eq!(left("0::/\n", &[("memory.max", "70\n")]), Some(70));
        let files = [
            ("memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("memory/outer/memory.limit_in_bytes", "50\n"),
            ("memory/outer/memory.usage_in_bytes", "60\n"),
            ("memory/outer/inner/memory.limit_in_bytes", "9000\n"),
            ("cpu/outer/memory.limit_in_bytes", "1\n"),
        ];
        let groups = "5:cpu:/outer/inner\n4:hugetlb,memory:/outer/inner\n0::/\n";
        assert_eq!(left(groups, &files), Some(0));
        assert_eq!(left("4:memory:/\nno line\n", &files), None);
        // The mount is the container's group, whose path is the host's.
        let files = [("memory/memory.limit_in_bytes", "40\n")];
        assert_eq!(left("4:memory:/docker/3d5c\n", &files), Some(40));
    }

    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[test]
    fn a_limit_of_addresses_is_read_as_the_kernel_writes_it() {
        let limits = |soft| {
            format!(
                "Limit                     Soft Limit           Hard Limit           Units     \n\
                 Max address space         {soft:<20} unlimited            bytes     \n"
            )
        };
        assert!(are_addresses_limited(&limits("102400000")));
        assert!(!are_addresses_limited(&limits("unlimited")));
        assert!(!are_addresses_limited("Max file locks            unlimited            locks\n"));
    }
}
