//! Invalid uses of textures and surfaces, and their errors.

use ptx_emulator::source::Source;
use ptx_emulator::texture::{Filter, Opaque, Resource, Sampling, Texels};
use ptx_emulator::{Checks, Emulator, Fault, FaultKind, RunOptions};

use crate::ptx::{HEADER, emulator, kernel, launch};
use crate::textures::{REGISTERS, floats, run};

/// The fault of a body in which `%p0` is a handle of `resource`, or 0.
fn fault(resource: Option<Resource>, body: &str) -> Fault {
    let emulator = emulator();
    let handle = resource.map_or(0, |resource| emulator.memory().bindings().create(resource));
    let text = kernel(1, &format!("{REGISTERS} {body} ret;"));
    run(&emulator, &text, &[handle]).unwrap_err()
}

#[test]
fn invalid_handles_are_reported() {
    let tex = "tex.1d.v4.f32.s32 {%f0, _, _, _}, [%p0, {0}];";
    let unknown = fault(None, tex);
    assert_eq!(unknown.kind, FaultKind::InvalidInstruction);
    assert!(unknown.message.contains("0x0 is not the handle of a texture"), "{unknown}");
    let base = emulator();
    let texels = floats(&base, [2, 2, 0], &[1.0; 4]);
    let surface = fault(Some(Resource::Surface(texels)), tex);
    assert!(surface.message.contains("is the handle of a surface, not of a texture"), "{surface}");
    let texture = Resource::Texture(texels, Sampling::default());
    let load = fault(Some(texture), "suld.b.1d.b32.trap %r0, [%p0, {0}];");
    assert!(load.message.contains("is the handle of a texture, not of a surface"), "{load}");
    let flat = fault(Some(texture), tex);
    assert!(flat.message.contains("2 × 2 × 1 texels"), "{flat}");
    let emulator = emulator();
    let bindings = emulator.memory().bindings();
    let handle = bindings.create(texture);
    assert_eq!(bindings.destroy(handle, Opaque::Surface).unwrap_err().handle, handle);
    assert_eq!(bindings.destroy(handle, Opaque::Texture), Ok(texture));
    assert!(bindings.destroy(handle, Opaque::Texture).is_err());
    let text = kernel(1, &format!("{REGISTERS} {tex} ret;"));
    let gone = run(&emulator, &text, &[handle]).unwrap_err();
    assert!(gone.message.contains("has been destroyed"), "{gone}");
}

#[test]
fn an_access_outside_a_surface_is_a_fault() {
    let base = emulator();
    let texels = floats(&base, [4, 2, 0], &[1.0; 8]);
    let surface = Some(Resource::Surface(texels));
    for at in ["{16, 0}", "{-4, 0}", "{0, 2}", "{0, -1}", "{14, 0}"] {
        for access in [
            format!("suld.b.2d.b32.trap %r0, [%p0, {at}];"),
            format!("sust.b.2d.b32.trap [%p0, {at}], 1;"),
            format!("sured.b.add.2d.u32.trap [%p0, {at}], 1;"),
        ] {
            let fault = fault(surface, &access);
            assert_eq!(fault.kind, FaultKind::Trap, "{access}: {fault}");
            assert!(fault.message.contains("rows of 16 bytes, 2 of them"), "{fault}");
        }
    }
    // An access that is longer than a row can't be clamped.
    let narrow = Resource::Surface(Texels { width: 1, ..texels });
    let long = fault(Some(narrow), "suld.b.2d.v2.b32.clamp {%r0, %r1}, [%p0, {0, 0}];");
    assert_eq!(long.kind, FaultKind::Trap);
    let between =
        run_with(&base, Resource::Surface(texels), "suld.b.2d.b32.trap %r0, [%p0, {2, 0}];");
    assert_eq!(between.unwrap_err().kind, FaultKind::Misaligned);
}

fn run_with(emulator: &Emulator, resource: Resource, body: &str) -> Result<(), Fault> {
    let handle = emulator.memory().bindings().create(resource);
    let text = kernel(1, &format!("{REGISTERS} {body} ret;"));
    launch(emulator, &text, ([1; 3], [64, 1, 1]), &[handle]).map(|_| ())
}

#[test]
fn racecheck_and_initcheck_cover_texels() {
    let checks = Checks { races: true, initialisation: true, ..Checks::default() };
    let emulator = Emulator::new(RunOptions {
        checks,
        instruction_limit: Some(1 << 20),
        ..RunOptions::default()
    });
    let texels = floats(&emulator, [64, 0, 0], &[1.0; 64]);
    let surface = Resource::Surface(texels);
    let own = "mov.u32 %r0, %tid.x; shl.b32 %r1, %r0, 2; add.s32 %r2, %r1, 4;";
    let store = "sust.b.1d.b32.zero [%p0, {%r1}], %r0;";
    let next = "suld.b.1d.b32.zero %r3, [%p0, {%r2}];";
    run_with(&emulator, surface, &format!("{own} {store}")).unwrap();
    run_with(&emulator, surface, &format!("{own} {store} bar.sync 0; {next}")).unwrap();
    let race = run_with(&emulator, surface, &format!("{own} {store} {next}")).unwrap_err();
    assert_eq!(race.kind, FaultKind::Race, "{race}");
    let add = "sured.b.add.1d.u32.trap [%p0, {0}], %r0;";
    run_with(&emulator, surface, &format!("{own} {add}")).unwrap();
    let mixed =
        run_with(&emulator, surface, &format!("{own} {add} sust.b.1d.b32.trap [%p0, {{0}}], %r0;"));
    assert_eq!(mixed.unwrap_err().kind, FaultKind::Race);
    // At the centre of the first texel, the right neighbour has no weight, so it may be uninitialised.
    let base = emulator.memory().allocate(8, 4).unwrap();
    emulator.memory().write(base, &1.0_f32.to_le_bytes()).unwrap();
    let half = Texels { base, width: 2, ..texels };
    let sampling = Sampling { filter: Filter::Linear, ..Sampling::default() };
    let tex = |x: &str| format!("tex.1d.v4.f32.f32 {{%f0, _, _, _}}, [%p0, {{{x}}}];");
    let texture = Resource::Texture(half, sampling);
    run_with(&emulator, texture, &tex("0f3f000000")).unwrap();
    let unwritten = run_with(&emulator, texture, &tex("0f3f800000")).unwrap_err();
    assert_eq!(unwritten.kind, FaultKind::Uninitialised, "{unwritten}");
}

#[test]
fn unsupported_features_are_named() {
    for (body, word) in [
        ("tex.cube.v4.f32.f32 {%f0,%f1,%f2,%f3}, [%p0, {%f0,%f1,%f2,%f3}], {1,1};", "no offsets"),
        ("tex.2dms.v4.f32.s32 {%f0,%f1,%f2,%f3}, [%p0, {%r0,%r1,%r2,%r3}];", "several samples"),
        ("tex.2d.v4.f32.f32 {%f0,%f1,%f2,%f3}, [%p0, {%f0,%f1}], %f5;", "depth"),
        ("tex.2d.v4.f32.f32 {%f0,%f1,%f2,%f3}, [%p0, %p0, {%f0,%f1}];", "separate samplers"),
        ("tex.2d.v4.f32.f32 {_,_,_,_}, [%p0, {%f0,%f1}];", "every destination"),
        ("tex.3d.v4.f32.f32 {%f0,%f1,%f2,%f3}, [%p0, {%f0,%f1,%f2}];", "3 coordinates"),
        ("suld.p.2d.v4.b32.trap {%r0,%r1,%r2,%r3}, [%p0, {%r1,%r2}];", "`.b`"),
        (".global .texref t; tex.1d.v4.f32.s32 {%f0,%f1,%f2,%f3}, [t, {%r0}];", "in a function"),
        ("ld.global.v2.u32 {%r0, %r1}|%q, [%p0];", "no predicate"),
    ] {
        let text = kernel(1, &format!("{REGISTERS} {body} ret;"));
        let errors = ptx_emulator::parse(&Source { name: "a.ptx".into(), text }).unwrap_err();
        assert!(errors[0].to_string().contains(word), "{body}: {}", errors[0]);
    }
    for (head, word) in [
        (".global .samplerref s;", "independent"),
        (".const .texref t;", ".global"),
        (".global .texref t[3];", "arrays"),
        (".tex .u64 t;", "PTX 1.5"),
        (".global .texref t = { colour = 3 };", "not a field"),
        (".global .texref t = { filter_mode = best };", "not a value"),
        (".global .texref t = { 1, 2 };", "initial value"),
        (".global .u32 u[2] = { width = 3 };", "have fields"),
        (".func f(.param .texref x) { ret; }", "takes no texture"),
        (
            ".global .texref t; .func f() { .reg .u32 %r; ld.global.u32 %r, [t]; ret; }",
            "is a .texref",
        ),
    ] {
        let text = format!("{HEADER}{head}\n");
        let errors = ptx_emulator::parse(&Source { name: "a.ptx".into(), text }).unwrap_err();
        assert!(errors[0].to_string().contains(word), "{head}: {}", errors[0]);
    }
}
