//! Tests of links whose results are loaded and run, and of links that fail.

use cudarc::driver::CudaContext;
use cudarc::nvrtc::Ptx;

use crate::support::*;

#[test]
fn inputs_of_any_form_in_any_order_are_linked_loaded_and_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for (number, names) in
        [(1, PLAIN_NAMES), (2, ("__", "_12_0")), (3, ("__", "_12_9")), (4, VERSION_13_NAMES)]
    {
        let open = || Link::with_names(names, &["-arch=sm_80", "-lineinfo", "-O3"]).0;
        let link = open();
        assert_eq!(link.add(PTX, kernel(), "kernel"), SUCCESS);
        assert_eq!(link.add(ANY, next(number) + "\0", "next"), SUCCESS);
        let image = link.image();
        assert_eq!(run(Ptx::from_binary(image.clone())), 5 + number);

        // The result of a link is a fatbin, and can be linked again as a fatbin or a cubin.
        for kind in [FATBIN, CUBIN, ANY] {
            let again = open();
            assert_eq!(again.add(kind, &image, "image"), SUCCESS, "{}", again.log("Error"));
            assert_eq!(run(Ptx::from_binary(again.image())), 5 + number);
        }

        std::fs::write(path("kernel"), kernel()).unwrap();
        std::fs::write(path("next.ptx"), next(number + 10)).unwrap();
        let link = open();
        assert_eq!(link.add_file(ANY, &path("next.ptx")), SUCCESS);
        assert_eq!(link.add_file(PTX, &path("kernel")), SUCCESS);
        std::fs::write(path("image"), link.image()).unwrap();
        assert_eq!(run(Ptx::from_file(path("image"))), 15 + number);
    }
}

#[test]
fn a_relocatable_image_can_be_linked_again() {
    let first = Link::new(&["-arch=sm_80", "-r"]);
    assert_eq!(first.add(PTX, kernel(), "kernel"), SUCCESS);
    let first = first.image();
    let second = Link::new(&["-arch=sm_80"]);
    assert_eq!(second.add(CUBIN, first, "first"), SUCCESS);
    assert_eq!(second.add(PTX, next(3), "next"), SUCCESS);
    assert_eq!(run(Ptx::from_binary(second.image())), 8);
}

#[test]
fn with_lto_fatbins_passed_as_lto_ir_become_ptx() {
    let part = |text: String| {
        let link = Link::new(&["-arch=sm_80", "-r"]);
        assert_eq!(link.add(PTX, text, "part"), SUCCESS);
        link.image()
    };
    let (kernel, next) = (part(kernel()), part(next(7)));
    let link = Link::new(&["-arch=compute_80", "-lto", "-ptx"]);
    assert_eq!(link.add(LTOIR, &kernel, "kernel"), SUCCESS);
    assert_eq!(link.add(LTOIR, &next, "next"), SUCCESS);
    assert_eq!(link.complete(), SUCCESS, "{}", link.log("Error"));
    assert_eq!(link.get("LinkedCubin"), Err(INTERNAL));
    let text = String::from_utf8(link.get("LinkedPtx").unwrap()).unwrap();
    assert_eq!(run(Ptx::from_src(text.trim_end_matches('\0'))), 12);
    assert_eq!(link.get("LinkedLTOIR"), Err(INVALID_INPUT));

    let link = Link::new(&["-arch=sm_80", "-lto"]);
    assert_eq!(link.add(LTOIR, kernel, "kernel"), SUCCESS);
    assert_eq!(link.add(PTX, super::support::next(1), "next"), SUCCESS);
    assert_eq!(link.get("LinkedPtx"), Err(INVALID_INPUT));
    assert_eq!(run(Ptx::from_binary(link.image())), 6);
    // As in NVIDIA's library, `-lto` is an error if there is no input of LTO-IR.
    let link = Link::new(&["-arch=sm_80", "-lto"]);
    assert_eq!(link.add(PTX, super::support::next(1), "next"), SUCCESS);
    assert_eq!(link.complete(), NVVM_COMPILE);
    let link = Link::new(&["-arch=sm_80", "-lto", "-ptx"]);
    assert_eq!(link.add(LTOIR, next, "next"), SUCCESS);
    assert_eq!(link.add(PTX, super::support::kernel(), "kernel"), SUCCESS);
    assert_eq!(link.complete(), INCORRECT_INPUT_TYPE);
    assert_eq!(link.get("LinkedPtx"), Err(INTERNAL));
}

#[test]
fn a_link_without_inputs_makes_an_image_without_kernels() {
    let link = Link::new(&["-arch=sm_90"]);
    let image = link.image();
    let context = CudaContext::new(0).unwrap();
    let module = context.load_module(Ptx::from_binary(image)).unwrap();
    assert!(module.load_function("put").is_err());
    assert_eq!((link.log("Error"), link.log("Info")), (String::new(), String::new()));
}

#[test]
fn missing_and_duplicate_symbols_are_reported() {
    let link = Link::new(&["-arch=sm_80"]);
    assert_eq!(link.add(PTX, kernel(), "kernel"), SUCCESS);
    assert_eq!(link.complete(), INTERNAL);
    assert!(link.log("Error").contains("`next`"), "{}", link.log("Error"));
    assert_eq!(link.get("LinkedCubin"), Err(INTERNAL));

    let link = Link::new(&["-arch=sm_80"]);
    for (number, name) in ["kernel", "one", "other"].into_iter().enumerate() {
        let text = if number == 0 { kernel() } else { next(number as u32) };
        assert_eq!(link.add(PTX, text, name), SUCCESS);
    }
    assert_eq!(link.complete(), INTERNAL);
    let log = link.log("Error");
    assert!(log.contains("`next` is defined in one, too") && log.contains("other"), "{log}");
    // A failed link accepts no more calls.
    assert_eq!(link.add(PTX, next(1), "late"), INTERNAL);
    assert_eq!(link.complete(), INTERNAL);
}

#[test]
fn variables_are_linked() {
    let reads = format!(
        "{HEADER}.extern .global .u32 shared;
.visible .entry put(.param .u64 p) {{
    .reg .b64 %rd<3>; .reg .b32 %r<3>;
    ld.param.u64 %rd1, [p]; ld.global.u32 %r1, [shared]; st.global.u32 [%rd1], %r1; ret;
}}"
    );
    let link = Link::new(&["-arch=sm_80"]);
    assert_eq!(link.add(PTX, &reads, "reads"), SUCCESS);
    assert_eq!(link.complete(), INTERNAL);
    assert!(link.log("Error").contains("Undefined reference to 'shared'"), "{}", link.log("Error"));
    let link = Link::new(&["-arch=sm_80"]);
    assert_eq!(link.add(PTX, &reads, "reads"), SUCCESS);
    let defines = format!("{HEADER}.visible .global .u32 shared = 7;");
    assert_eq!(link.add(PTX, defines, "defines"), SUCCESS);
    assert_eq!(run(Ptx::from_binary(link.image())), 7);
}

#[test]
fn rejected_inputs_are_logged_and_left_out_of_the_link() {
    let link = Link::new(&["-arch=sm_75"]);
    assert_eq!(link.add(PTX, next(1), "newer"), PTX_COMPILE);
    let older = next(1).replace("sm_80", "sm_75");
    assert_eq!(link.add(PTX, older.replace("add.s32", "nonsense.s32"), "wrong"), PTX_COMPILE);
    assert_eq!(link.add(PTX, "", "nothing"), INVALID_INPUT);
    assert_eq!(link.add(PTX, "nonsense", "nonsense"), INCORRECT_INPUT_TYPE);
    assert_eq!(link.add(FATBIN, &older, "other"), INCORRECT_INPUT_TYPE);
    assert_eq!(link.add(99, &older, "kind"), INCORRECT_INPUT_TYPE);
    assert_eq!(link.add_file(ANY, "/there/is no/file"), INVALID_INPUT);
    assert_eq!(link.add_file(ANY, "/"), INVALID_INPUT);
    let log = link.log("Error");
    for words in [
        "newer: SM version",
        "nonsense.s32",
        "nothing: ",
        "nonsense: it is not PTX",
        "NVJITLINK_INPUT_FATBIN",
        "input type 99",
        "/there/is no/file",
    ] {
        assert!(log.contains(words), "{words}: {log}");
    }
    assert_eq!(link.add(PTX, older, "right"), SUCCESS);
    assert_eq!(link.add(PTX, kernel().replace("sm_80", "sm_75"), "kernel"), SUCCESS);
    assert_eq!(run(Ptx::from_binary(link.image())), 6);
}

#[test]
fn options_are_accepted_or_reported() {
    for (options, expected, words) in [
        (
            &["-arch=sm_80", "-fictitious"][..],
            UNRECOGNIZED_OPTION,
            "unrecognized option: -fictitious",
        ),
        (&["-arch=sm_XX"], UNRECOGNIZED_OPTION, "-arch=sm_XX"),
        (&[], MISSING_ARCH, "-arch"),
    ] {
        let (link, status) = Link::with_names(PLAIN_NAMES, options);
        assert_eq!(status, expected, "{options:?}");
        assert!(link.log("Error").contains(words), "{}", link.log("Error"));
        assert_eq!(link.add(PTX, next(1), "next"), INTERNAL);
        assert_eq!(link.complete(), INTERNAL);
    }
    let link = Link::new(&["-arch=sm_80", "-time", "-verbose"]);
    assert_eq!(link.add(PTX, next(1), "next"), SUCCESS);
    assert_eq!(link.add(PTX, kernel(), "kernel"), SUCCESS);
    link.image();
    let log = link.log("Info");
    for words in
        ["next: PTX 7.0 for sm_80, ", " bytes, 0 kernels", " bytes, 1 kernels", "time to finish: "]
    {
        assert!(log.contains(words), "{words}: {log}");
    }
}

#[test]
fn the_register_limit_is_stored_in_the_image() {
    use cudarc::driver::sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_NUM_REGS;
    // The kernel needs many registers, as it reads 100 numbers before it adds them.
    let many = |line: &dyn Fn(u32) -> String| (0..100).map(line).collect::<String>();
    let text = format!(
        "{HEADER}.visible .entry put(.param .u64 p) {{ .reg .b64 %rd<3>; .reg .b32 %r<200>;
ld.param.u64 %rd1, [p]; mov.u32 %r150, 0;\n{}{}st.global.u32 [%rd1], %r150; ret; }}",
        many(&|at| format!("ld.global.u32 %r{at}, [%rd1+{}];\n", 4 * at)),
        many(&|at| format!("add.u32 %r150, %r150, %r{at};\n")),
    );
    let registers = |option: Option<&'static str>| {
        let options: Vec<_> = ["-arch=sm_80"].into_iter().chain(option).collect();
        let link = Link::new(&options);
        assert_eq!(link.add(PTX, &text, "text"), SUCCESS);
        let context = CudaContext::new(0).unwrap();
        let module = context.load_module(Ptx::from_binary(link.image())).unwrap();
        let put = module.load_function("put").unwrap();
        put.get_attribute(CU_FUNC_ATTRIBUTE_NUM_REGS).unwrap()
    };
    assert!(registers(None) > 32);
    assert_eq!(registers(Some("-maxrregcount=32")), 32);
}

#[test]
fn several_threads_can_link_at_the_same_time() {
    std::thread::scope(|scope| {
        for number in 0..4 {
            scope.spawn(move || {
                for _ in 0..20 {
                    let link = Link::new(&["-arch=sm_80"]);
                    assert_eq!(link.add(PTX, kernel(), "kernel"), SUCCESS);
                    assert_eq!(link.add(PTX, next(number), "next"), SUCCESS);
                    assert_eq!(run(Ptx::from_binary(link.image())), 5 + number);
                }
            });
        }
    });
}
