//! Checks for available memory before an allocation whose size depends on input.
//!
//! Rust aborts a program if an allocation fails, and Linux overcommits memory and kills a process that uses too much.
//! Large allocations are therefore checked here first.

use std::fmt;
use std::fs;
use std::path::Path;

/// Memory kept available for threads and for many small allocations, which are not checked here.
const RESERVED_BYTES: usize = 64 << 20;

/// The error for an allocation that exceeds the available memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// The memory needed, in bytes.
    pub needed: u64,
    /// The available memory in bytes, if known.
    pub available: Option<u64>,
}

impl fmt::Display for Shortage {
    /// Prints, for example, `needs 72.0 GB of memory, but only 3.1 GB are available`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "needs {} of memory, but ", Bytes(self.needed))?;
        match self.available {
            Some(available) if available < self.needed => {
                write!(f, "only {} are available", Bytes(available))
            }
            // The allocation exceeds a limit of this process, such as `ulimit -v`.
            _ => f.write_str("this process may not allocate that much"),
        }
    }
}

impl std::error::Error for Shortage {}

/// Checks whether `needed` bytes are available now.
///
/// # Errors
/// If they are not.
pub fn check(needed: u64) -> Result<(), Shortage> {
    let available = available();
    let shortage = Shortage { needed, available };
    if available.is_some_and(|available| available < needed) {
        return Err(shortage);
    }
    // Checks the limits of this process by reserving address space, without touching the memory.
    let bytes = usize::try_from(needed).map_err(|_| shortage.clone())?;
    let with_reserve = bytes.checked_add(RESERVED_BYTES).ok_or_else(|| shortage.clone())?;
    Vec::<u8>::new().try_reserve_exact(with_reserve).map_err(|_| shortage)
}

/// The available memory in bytes: free or reclaimable, including swap, within the limits of this process's control
/// groups. `None` if unknown.
fn available() -> Option<u64> {
    let file = |path: &Path| fs::read_to_string(path).ok();
    let machine = file(Path::new("/proc/meminfo")).and_then(|text| free(&text));
    let groups = file(Path::new("/proc/self/cgroup")).unwrap_or_default();
    machine.into_iter().chain(left_in_groups(&groups, file)).min()
}

/// The memory that the control groups in `/proc/self/cgroup` (version 1 or 2) may still allocate. A group's limit
/// also applies to its descendants, so this is the minimum over the group and its ancestors. In a container, the
/// mount may be the group itself. Then the group's path does not exist below it, and the limit is in the mount's
/// root.
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
        let groups = group.ancestors().take_while(|one| one.starts_with(&mount));
        groups.filter_map(|group| left_in_group(|name| file(&group.join(name)))).min()
    };
    groups.lines().filter_map(left).min()
}

/// The memory that one control group may still allocate, read from its files.
fn left_in_group(file: impl Fn(&str) -> Option<String>) -> Option<u64> {
    let number = |names: [&str; 2]| names.into_iter().find_map(&file)?.trim().parse::<u64>().ok();
    // The file names of version 2, then of version 1. If there is no limit, the file contains "max" or a number near
    // 2^63.
    let limit = number(["memory.max", "memory.limit_in_bytes"]).filter(|limit| *limit < 1 << 60)?;
    let used = number(["memory.current", "memory.usage_in_bytes"]).unwrap_or(0);
    Some(limit.saturating_sub(used))
}

/// The sum of `MemAvailable` and the free swap space in `/proc/meminfo`, in bytes.
fn free(text: &str) -> Option<u64> {
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
    };
    Some(field("MemAvailable:")?.saturating_add(field("SwapFree:").unwrap_or(0)))
}

/// Makes all threads share one allocation arena if this process's address space is limited (`ulimit -v`). glibc
/// otherwise reserves 64 MiB of address space for each thread. Soon even small allocations would fail, and Rust would
/// abort the program.
pub(crate) fn save_address_space() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    if is_address_space_limited() {
        // SAFETY: the call takes two numbers, and no other thread exists yet. If it fails, nothing changes.
        #[expect(unsafe_code, reason = "the C library's allocator has no safe interface")]
        let _ = unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
    }
}

/// Whether this process's address space is limited; `false` if unknown.
pub(crate) fn is_address_space_limited() -> bool {
    fs::read_to_string("/proc/self/limits").is_ok_and(|text| limits_address_space(&text))
}

/// Whether `/proc/self/limits` has a soft limit of the address space.
fn limits_address_space(text: &str) -> bool {
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
    fn a_shortage_names_needed_and_available_memory() {
        let shortage = check(1 << 60).unwrap_err();
        assert!(shortage.to_string().starts_with("needs 1152921504.6 GB of memory, but "));
        check(1 << 20).unwrap();
        let shortage = Shortage { needed: 72_000_000_000, available: Some(3_100_000_000) };
        assert_eq!(shortage.to_string(), "needs 72.0 GB of memory, but only 3.1 GB are available");
    }

    #[test]
    fn meminfo_is_parsed() {
        let text = "MemTotal:  100 kB\nMemAvailable:      60 kB\nSwapFree:    4 kB\n";
        assert_eq!(free(text), Some(64 * 1024));
        assert_eq!(free("MemTotal: 100 kB\n"), None);
        assert_eq!(free("MemAvailable: many kB\n"), None);
    }

    /// The remaining memory of a process in these control groups, if `/sys/fs/cgroup` has these files.
    fn remaining_memory(groups: &str, files: &[(&str, &str)]) -> Option<u64> {
        left_in_groups(groups, |path| {
            let name = path.strip_prefix("/sys/fs/cgroup").unwrap().to_str().unwrap();
            let found = files.iter().find(|(file, _)| *file == name);
            found.map(|(_, text)| (*text).to_owned())
        })
    }

    #[test]
    fn the_tightest_control_group_limits_memory() {
        let files = [
            ("memory.max", "max\n"),
            ("outer/memory.max", "1000\n"),
            ("outer/memory.current", "900\n"),
            ("outer/inner/memory.max", "800\n"),
            ("outer/inner/memory.current", "300\n"),
        ];
        assert_eq!(remaining_memory("0::/outer/inner\n", &files), Some(100));
        assert_eq!(remaining_memory("0::/outer/inner\n", &files[3..]), Some(500));
        assert_eq!(remaining_memory("0::/outer/inner/innermost\n", &files), Some(100));
        assert_eq!(remaining_memory("0::/other\n", &files), None);
        assert_eq!(remaining_memory("0::/\n", &[("memory.max", "70\n")]), Some(70));
        let files = [
            ("memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("memory/outer/memory.limit_in_bytes", "50\n"),
            ("memory/outer/memory.usage_in_bytes", "60\n"),
            ("memory/outer/inner/memory.limit_in_bytes", "9000\n"),
            ("cpu/outer/memory.limit_in_bytes", "1\n"),
        ];
        let groups = "5:cpu:/outer/inner\n4:hugetlb,memory:/outer/inner\n0::/\n";
        assert_eq!(remaining_memory(groups, &files), Some(0));
        assert_eq!(remaining_memory("4:memory:/\nno line\n", &files), None);
        // A container: the mount is the container's group, but the group's path is the host's.
        let files = [("memory/memory.limit_in_bytes", "40\n")];
        assert_eq!(remaining_memory("4:memory:/docker/3d5c\n", &files), Some(40));
    }

    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[test]
    fn address_space_limits_are_parsed() {
        let limits = |soft| {
            format!(
                "Limit                     Soft Limit           Hard Limit           Units     \n\
                 Max address space         {soft:<20} unlimited            bytes     \n"
            )
        };
        assert!(limits_address_space(&limits("102400000")));
        assert!(!limits_address_space(&limits("unlimited")));
        assert!(!limits_address_space("Max file locks            unlimited            locks\n"));
    }
}
