//! The end of a process, whatever stands in its streams then, and what is written at its end.

use crate::resources::again;
use crate::support::{allocate, context, cu, function, is_child, launch, made, module, ok, stream};

#[test]
fn a_process_ends_whatever_stands_in_its_streams() {
    let test = "a_process_ends_whatever_stands_in_its_streams";
    let case = std::env::var("CASE").unwrap_or_default();
    if !is_child() {
        let folder = std::env::temp_dir().join(format!("emulated-gpu-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("counts.json");
        for case in ["waits", "runs"] {
            let said = again(
                module_path!(),
                test,
                &[
                    ("CASE", case),
                    ("EMULATED_GPU_LEAKS", "1"),
                    ("EMULATED_GPU_STATISTICS", file.to_str().unwrap()),
                ],
            );
            assert!(said.contains("1 pieces of work still stand in streams"), "{case}: {said}");
            assert!(said.contains("64 bytes in 1 allocation were never freed"), "{case}: {said}");
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
        ok!(cuStreamWaitValue32_v2(stream => usize, block => u64, 5 => u32, 1 => u32));
    } else {
        let text = ".version 8.0\n.target sm_80\n.address_size 64\n\
                    .visible .entry k() { L: bra L; }";
        assert_eq!(launch(function(module(text), "k"), (1, 1), stream, &[]), 0);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn counts_that_can_not_be_written_leave_the_old_file() {
    let test = "counts_that_can_not_be_written_leave_the_old_file";
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
        let said = again(module_path!(), test, &variables);
        assert!(said.contains("EMULATED_GPU_STATISTICS: "), "{said}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "old");
        // Nothing else is left there either: the graph was written whole, or not.
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
        std::fs::remove_dir_all(&folder).unwrap();
        return;
    }
    context();
    // As on a full disk: no file may grow. The signal that tells of it is not to end the process.
    // SAFETY: both calls are allowed at any time.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        let limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit);
    }
    let graph = made!(cuGraphCreate(-> usize, 0 => u32));
    let path = format!("{}/graph.dot\0", std::env::var("CASE").unwrap());
    let printed = cu!(cuGraphDebugDotPrint(graph => usize, path.as_ptr() => *const u8, 0 => u32));
    assert_eq!(printed, 304, "CUDA_ERROR_OPERATING_SYSTEM");
}
