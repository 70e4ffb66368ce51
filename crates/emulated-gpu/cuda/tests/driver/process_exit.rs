//! Process exit with pending work, and the reports that are written then.

use crate::support::*;

#[test]
fn a_process_exits_despite_pending_work() {
    let case = std::env::var("CASE").unwrap_or_default();
    if !is_child() {
        let folder = std::env::temp_dir().join(format!("emulated-gpu-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("counts.json");
        for case in ["waits", "runs"] {
            let printed = run_child!(&[
                ("CASE", case),
                ("EMULATED_GPU_LEAKS", "1"),
                ("EMULATED_GPU_STATISTICS", file.to_str().unwrap()),
            ]);
            assert!(printed.contains("1 pieces of work pending in streams"), "{case}: {printed}");
            assert!(
                printed.contains("64 bytes in 1 allocation were never freed"),
                "{case}: {printed}"
            );
            assert!(std::fs::read_to_string(&file).unwrap().contains("kernels"), "{case}");
            std::fs::remove_file(&file).unwrap();
        }
        std::fs::remove_dir_all(&folder).unwrap();
        return;
    }
    context();
    let block = allocate(64);
    let stream = stream(1);
    if case == "waits" {
        ok!(cuStreamWaitValue32_v2(stream, block, 5u32, 1u32));
    } else {
        let text = ".version 8.0\n.target sm_80\n.address_size 64\n\
                    .visible .entry k() { L: bra L; }";
        assert_eq!(launch(function(module(text), "k"), (1, 1), stream, &[]), 0);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn counts_that_can_not_be_written_leave_the_old_file() {
    if !is_child() {
        let folder =
            std::env::temp_dir().join(format!("emulated-gpu-counts-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("counts.json");
        std::fs::write(&file, "old").unwrap();
        let variables = [
            ("EMULATED_GPU_STATISTICS", file.to_str().unwrap()),
            ("CASE", folder.to_str().unwrap()),
        ];
        let printed = run_child!(&variables);
        assert!(printed.contains("EMULATED_GPU_STATISTICS: "), "{printed}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "old");
        // The folder has no other file, because the DOT file is written completely or not at all.
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
        std::fs::remove_dir_all(&folder).unwrap();
        return;
    }
    context();
    // Simulate a full disk: no file may grow. The signal that this sends must not end the process.
    // SAFETY: both calls have no preconditions.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        let limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit);
    }
    let graph = output!(cuGraphCreate(-> usize, 0u32));
    let path = format!("{}/graph.dot\0", std::env::var("CASE").unwrap());
    let printed = cu!(cuGraphDebugDotPrint(graph, path.as_ptr(), 0u32));
    assert_eq!(printed, 304, "CUDA_ERROR_OPERATING_SYSTEM");
}
