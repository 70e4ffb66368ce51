//! The first version and target of every row: `ptxas` must accept the row under the first version and target that the
//! checker accepts, and neither ptxas nor the checker may accept it under earlier ones.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ptx_emulator::parse;
use ptx_emulator::source::Source;

use super::coverage::{self, InstructionForm};
use super::ptxas;
use super::table::VECTORS;

type Version = (u32, u32);

/// Targets up to the emulated card, and the first version that has each.
const TARGETS: [(&str, Version); 25] = [
    ("sm_10", (1, 0)),
    ("sm_11", (1, 0)),
    ("sm_12", (1, 2)),
    ("sm_13", (1, 2)),
    ("sm_20", (2, 0)),
    ("sm_21", (2, 0)),
    ("sm_30", (3, 0)),
    ("sm_32", (4, 0)),
    ("sm_35", (3, 1)),
    ("sm_37", (4, 1)),
    ("sm_50", (4, 0)),
    ("sm_52", (4, 1)),
    ("sm_53", (4, 2)),
    ("sm_60", (5, 0)),
    ("sm_61", (5, 0)),
    ("sm_62", (5, 0)),
    ("sm_70", (6, 0)),
    ("sm_72", (6, 1)),
    ("sm_75", (6, 3)),
    ("sm_80", (7, 0)),
    ("sm_86", (7, 1)),
    ("sm_87", (7, 4)),
    ("sm_89", (7, 8)),
    ("sm_90", (7, 8)),
    ("sm_90a", (8, 0)),
];

/// The last minor version of each major version. There is no PTX 5.1: `ptxas` treats it as 6.0.
const MINORS: [u32; 9] = [0, 5, 3, 2, 3, 0, 5, 8, 8];

/// The newest version that ptxas 12.9 accepts.
const NEWEST: Version = (8, 8);

fn versions(from: Version) -> Vec<Version> {
    let all = (1..MINORS.len() as u32)
        .flat_map(|major| (0..=MINORS[major as usize]).map(move |minor| (major, minor)));
    all.filter(|version| *version >= from).collect()
}

fn module_header((major, minor): Version, target: &str) -> String {
    // Addresses have 64 bits. Before PTX 2.3, the directive `.address_size` does not exist.
    let size = if (major, minor) >= (2, 3) { ".address_size 64" } else { "" };
    format!(".version {major}.{minor}\n.target {target}\n{size}")
}

/// The first target and version under which each of `texts` is accepted. `accepts` checks texts under a version
/// and a target.
fn first_accepted(
    texts: &[String],
    accepts: impl Fn(Version, &str, &[String]) -> Vec<bool>,
) -> BTreeMap<(usize, Version), Vec<String>> {
    let mut found: BTreeMap<(usize, Version), Vec<String>> = BTreeMap::new();
    let mut left = texts.to_vec();
    for (at, (target, since)) in TARGETS.iter().enumerate() {
        let verdicts = accepts(NEWEST, target, &left);
        let (mut fresh, later) = split(left, &verdicts);
        left = later;
        for version in versions(*since) {
            let verdicts = accepts(version, target, &fresh);
            let (first, later) = split(fresh, &verdicts);
            if !first.is_empty() {
                found.insert((at, version), first);
            }
            fresh = later;
        }
    }
    assert!(left.is_empty(), "under no version and target: {left:#?}");
    found
}

fn split(texts: Vec<String>, verdicts: &[bool]) -> (Vec<String>, Vec<String>) {
    let (yes, no): (Vec<_>, Vec<_>) =
        texts.into_iter().zip(verdicts).partition(|(_, verdict)| **verdict);
    let texts = |pairs: Vec<(String, &bool)>| pairs.into_iter().map(|(text, _)| text).collect();
    (texts(yes), texts(no))
}

/// Texts on which the other checker disagrees: it rejects them under their first version and target, or accepts
/// them under earlier ones.
fn disagreements(
    firsts: &BTreeMap<(usize, Version), Vec<String>>,
    accepts: impl Fn(Version, &str, &[String]) -> Vec<bool>,
) -> Vec<String> {
    let mut found = Vec::new();
    for (&(at, version), texts) in firsts {
        let (target, since) = TARGETS[at];
        let before = versions(since).into_iter().rfind(|before| *before < version);
        let mut places = vec![(version, target, true)];
        places.extend(before.map(|before| (before, target, false)));
        places.extend(at.checked_sub(1).map(|at| (NEWEST, TARGETS[at].0, false)));
        for (version, target, expected) in places {
            for (text, verdict) in texts.iter().zip(accepts(version, target, texts)) {
                if verdict != expected {
                    let verb = if verdict { "accepts" } else { "refuses" };
                    found.push(format!("under {version:?} and {target} ptxas {verb}: {text}"));
                }
            }
        }
    }
    found
}

fn assert_agreement(
    texts: &[String],
    own: impl Fn(Version, &str, &[String]) -> Vec<bool>,
    theirs: impl Fn(Version, &str, &[String]) -> Vec<bool>,
) {
    let found = disagreements(&first_accepted(texts, own), theirs);
    let shown: Vec<&str> = found.iter().take(80).map(String::as_str).collect();
    assert!(found.is_empty(), "{} of {}:\n{}", found.len(), texts.len(), shown.join("\n"));
}

/// The statements to test: the statements of the tables, and further statements with special registers and newer kinds
/// of operands.
fn statements() -> Vec<String> {
    let mut found: Vec<String> = coverage::forms().iter().map(InstructionForm::text).collect();
    // Reading it is only valid after a call.
    found.retain(|statement| !statement.contains("[out]"));
    let narrow = "tid.x tid.y tid.z tid.w ntid.x ctaid.x nctaid.x nctaid.w clusterid.x nclusterid.x \
        cluster_ctaid.x cluster_nctaid.x laneid warpid nwarpid smid nsmid gridid lanemask_eq lanemask_le \
        lanemask_lt lanemask_ge lanemask_gt clock clock_hi globaltimer_lo globaltimer_hi \
        dynamic_smem_size total_smem_size aggr_smem_size cluster_ctarank cluster_nctarank envreg1 envreg2 \
        reserved_smem_offset_begin reserved_smem_offset_end reserved_smem_offset_cap \
        reserved_smem_offset_0 reserved_smem_offset_1";
    found.extend(narrow.split_whitespace().map(|name| format!("mov.u32 %r1, %{name};")));
    let wide = ["gridid", "clock64", "globaltimer", "current_graph_exec"];
    found.extend(wide.map(|name| format!("mov.u64 %d1, %{name};")));
    let vectors = ["tid", "ntid", "ctaid", "nctaid", "clusterid", "cluster_ctaid"];
    found.extend(vectors.map(|name| format!("mov.v4.u32 {{%r1, %r2, %r3, %r4}}, %{name};")));
    found.extend(FURTHER_STATEMENTS.map(str::to_owned));
    found
}

const FURTHER_STATEMENTS: [&str; 66] = [
    "mov.pred %p1, %is_explicit_cluster;",
    "mov.u16 %h1, %tid.x;",
    "mov.u32 %r1, %r2+1;",
    "add.u32 %r1, %r2+1, %r3;",
    "st.global.u32 [%d1], %r2+1;",
    "mov.u32 %r1, box+4;",
    "mov.u64 %d1, counted;",
    "call.uni (%r1), square, (%r2);",
    "call (_), square, (%r1);",
    "mov.b64 {%r1, _}, %d1;",
    "mov.b32 {%b1, %b2, %b3, %b4}, %r1;",
    "setp.eq.u32 %p1|_, %r1, %r2;",
    "atom.global.add.u32 _, [%d1], %r1;",
    "ld.global.v2.u32 {%r1, _}, [%d1];",
    "cp.async.ca.shared.global [%r1], [%d1], 4, %p1;",
    "cp.async.ca.shared.global [%r1], [%d1], 4, %r2;",
    "bar.sync %r1, %r2;",
    "nanosleep.u32 5;",
    "membar.sys;",
    "atom.global.add.v2.f32 {%r1, %r2}, [%d1], {%r3, %r4};",
    "mbarrier.arrive.shared.b64 _, [%s];",
    "mbarrier.arrive.shared.b64 %d1, [%s], %r1;",
    "mbarrier.arrive_drop.shared.b64 %d1, [%s], %r1;",
    "tex.1d.v4.f32.s32 {%r1, %r2, %r3, %r4}, [picture, {%r1}];",
    "tex.a1d.v4.f32.s32 {%r1, %r2, %r3, %r4}, [picture, {%r1, %r2}];",
    "tex.a2d.v4.f32.s32 {%r1, %r2, %r3, %r4}, [picture, {%r1, %r2, %r3, %r4}];",
    "tex.cube.v4.f32.f32 {%r1, %r2, %r3, %r4}, [picture, {%r1, %r2, %r3, %r4}];",
    "tex.acube.v4.f32.f32 {%r1, %r2, %r3, %r4}, [picture, {%r1, %r2, %r3, %r4}];",
    "tex.2d.v2.f16x2.f32 {%r1, %r2}, [picture, {%r1, %r2}];",
    "tex.level.2d.v4.f32.f32 {%r1, %r2, %r3, %r4}, [picture, {%r1, %r2}], %r3;",
    "tex.base.2d.v4.f32.f32 {%r1, %r2, %r3, %r4}, [picture, {%r1, %r2}];",
    "tex.grad.2d.v4.f32.f32 {%r1, %r2, %r3, %r4}, [picture, {%r1, %r2}], {%r1, %r2}, {%r1, %r2};",
    "tex.2d.v4.f32.s32 {%r1, %r2, %r3, %r4}, [picture, {%r1, %r2}], {%r3, %r4};",
    "tex.2d.v4.f32.s32 {%r1, %r2, %r3, %r4}|%p1, [picture, {%r1, %r2}];",
    "tld4.r.2d.v4.f32.f32 {%r1, %r2, %r3, %r4}, [picture, {%r1, %r2}];",
    "tld4.r.cube.v4.f32.f32 {%r1, %r2, %r3, %r4}, [picture, {%r1, %r2, %r3, %r4}];",
    "txq.width.b32 %r1, [picture];",
    "txq.channel_order.b32 %r1, [picture];",
    "txq.array_size.b32 %r1, [picture];",
    "txq.num_mipmap_levels.b32 %r1, [picture];",
    "txq.num_samples.b32 %r1, [picture];",
    "txq.level.width.b32 %r1, [picture], %r2;",
    "suq.width.b32 %r1, [canvas];",
    "suq.channel_order.b32 %r1, [canvas];",
    "suq.array_size.b32 %r1, [canvas];",
    "suq.memory_layout.b32 %r1, [canvas];",
    "suld.b.1d.b32.trap %r1, [canvas, {%r2}];",
    "suld.b.1d.cv.b32.trap %r1, [canvas, {%r2}];",
    "suld.b.1d.b32.zero %r1, [canvas, {%r2}];",
    "suld.b.3d.b32.trap %r1, [canvas, {%r2, %r3, %r4, %r5}];",
    "suld.b.a1d.b32.trap %r1, [canvas, {%r2, %r3}];",
    "sust.b.1d.b32.trap [canvas, {%r2}], %r1;",
    "sust.b.1d.b32.zero [canvas, {%r2}], %r1;",
    "sust.p.1d.b32.trap [canvas, {%r2}], %r1;",
    "sust.p.a1d.b32.trap [canvas, {%r2, %r3}], %r1;",
    "sust.b.1d.wb.b32.trap [canvas, {%r2}], %r1;",
    "sust.b.a2d.b32.trap [canvas, {%r2, %r3, %r4, %r5}], %r1;",
    "sured.b.add.1d.u32.clamp [canvas, {%r2}], %r1;",
    "sured.b.add.3d.u32.trap [canvas, {%r2, %r3, %r4, %r5}], %r1;",
    "mov.u64 %d1, picture;",
    "mov.u64 %d1, square;",
    "mov.u64 %d1, cube;",
    "mov.u64 %d1, k;",
    "shfl.idx.b32 %r1, %r2, 0, 31;",
    "vote.ballot.b32 %r1, %p1;",
    "st.param.b32 [in], %r1;",
];

/// Symbols and registers that a statement may use and that some versions and targets don't have, with their
/// declarations: at module scope, among the parameters, and in the body.
const OPTIONAL_DECLARATIONS: [(&str, [&str; 3]); 10] = [
    ("square", [".func (.reg .b32 out) square(.reg .b32 in) { mov.b32 out, in; ret; }", "", ""]),
    ("cube", [".func (.param .b32 out) cube(.param .b32 in) { ret; }", "", ""]),
    ("bytes", ["", ".param .align 16 .b8 bytes[16]", ""]),
    ("%q", ["", "", ".reg .b128 %q<10>;"]),
    ("in", ["", "", ".param .b32 in;"]),
    ("out", ["", "", ".param .b32 out;"]),
    ("LIST", ["", "", "LIST: .branchtargets AGAIN;"]),
    ("FORM", ["", "", "FORM: .callprototype (.reg .b32 _) _ (.reg .b32 _);"]),
    ("picture", [".global .texref picture;", "", ""]),
    ("canvas", [".global .surfref canvas;", "", ""]),
];

/// The entries of [`OPTIONAL_DECLARATIONS`] that the operands of a statement use.
fn needed_declarations(statement: &str) -> Vec<usize> {
    let operands = statement.split_once(' ').map_or("", |(_, operands)| operands);
    let words: Vec<&str> =
        operands.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '%').collect();
    let has = |need: &str| {
        words.iter().any(|word| *word == need || need.starts_with('%') && word.starts_with(need))
    };
    (0..OPTIONAL_DECLARATIONS.len()).filter(|&at| has(OPTIONAL_DECLARATIONS[at].0)).collect()
}

/// A kernel for statements with these needs under a header, and the line of the first statement.
fn kernel_with(head: &str, needs: &[usize]) -> (String, usize) {
    let part =
        |part: usize| needs.iter().map(|&at| OPTIONAL_DECLARATIONS[at].1[part]).collect::<String>();
    let parameters = part(1);
    let parameters = if parameters.is_empty() { parameters } else { format!("({parameters})") };
    let text = format!(
        "{head}\n.const .align 16 .b8 table[16]; .global .align 16 .b8 counted[16];\n{}\n\
         .entry k{parameters}\n{{\n\
         .reg .pred %p<10>; .reg .b8 %b<10>; .reg .b16 %h<10>; .reg .b32 %r<10>; .reg .b64 %d<10>;\n\
         .reg .b32 %s; .reg .b64 %g, %l; .shared .align 16 .b8 box[64];\n{VECTORS}{}\n\
         AGAIN: SKIP: OVER: ONE: TWO: THREE:\n",
        part(0),
        part(2)
    );
    let line = text.lines().count() + 1;
    (text, line)
}

/// Checks each group of statements with the same needs in a separate kernel.
fn each_by_needs(
    (version, target): (Version, &str),
    statements: &[String],
    judge: impl Fn(&(String, usize), &[String]) -> Vec<bool>,
) -> Vec<bool> {
    let mut groups: BTreeMap<Vec<usize>, Vec<usize>> = BTreeMap::new();
    for (at, statement) in statements.iter().enumerate() {
        groups.entry(needed_declarations(statement)).or_default().push(at);
    }
    let mut verdicts = vec![false; statements.len()];
    for (needs, group) in groups {
        let kernel = kernel_with(&module_header(version, target), &needs);
        let texts: Vec<String> = group.iter().map(|&at| statements[at].clone()).collect();
        for (&at, verdict) in group.iter().zip(judge(&kernel, &texts)) {
            verdicts[at] = verdict;
        }
    }
    verdicts
}

#[test]
fn ptxas_agrees_on_the_first_version_of_every_row() {
    let Some(ptxas) = ptxas::ptxas() else { return };
    let own = |version: Version, target: &str, statements: &[String]| {
        each_by_needs((version, target), statements, |kernel, statements| {
            let empty = Source { name: "since.ptx".into(), text: format!("{}}}\n", kernel.0) };
            if parse(&empty).is_ok() {
                coverage::accepted_in(kernel, statements)
            } else {
                vec![false; statements.len()]
            }
        })
    };
    let theirs = |version: Version, target: &str, statements: &[String]| {
        each_by_needs((version, target), statements, |kernel, statements| {
            let empty = format!("{}}}\n", kernel.0);
            let file = tempfile::NamedTempFile::with_suffix(".ptx").unwrap();
            fs::write(file.path(), empty).unwrap();
            if ptxas::verdict(&ptxas, file.path(), "sm_90a").is_err() {
                return vec![false; statements.len()];
            }
            let verdicts = ptxas::verdicts_in_kernel(&ptxas, kernel, statements);
            verdicts.iter().map(Result::is_ok).collect()
        })
    };
    assert_agreement(&statements(), own, theirs);
}

/// Whole modules, without their headers.
const MODULES: &str = include_str!("modules.txt");

fn module_texts(mark: char) -> Vec<String> {
    let lines = MODULES.lines().filter_map(|line| line.strip_prefix(mark));
    lines.map(|line| format!("{line}\n.entry k {{ ret; }}")).collect()
}

fn own_module(version: Version, target: &str, texts: &[String]) -> Vec<bool> {
    let source = |text: &String| Source {
        name: "since.ptx".into(),
        text: format!("{}\n{text}\n", module_header(version, target)),
    };
    texts.iter().map(|text| parse(&source(text)).is_ok()).collect()
}

fn their_module(ptxas: &Path, version: Version, target: &str, texts: &[String]) -> Vec<bool> {
    let file = tempfile::NamedTempFile::with_suffix(".ptx").unwrap();
    let accepted = |text: &String| {
        fs::write(file.path(), format!("{}\n{text}\n", module_header(version, target))).unwrap();
        ptxas::verdict(ptxas, file.path(), "sm_90a").is_ok()
    };
    texts.iter().map(accepted).collect()
}

#[test]
fn ptxas_agrees_on_the_first_version_of_every_directive() {
    let Some(ptxas) = ptxas::ptxas() else { return };
    let theirs = |version: Version, target: &str, texts: &[String]| {
        their_module(&ptxas, version, target, texts)
    };
    assert_agreement(&module_texts('+'), own_module, theirs);
}

#[test]
fn ptxas_rejects_the_same_modules() {
    let wrong = module_texts('-');
    let accepted = |verdicts: Vec<bool>| {
        let pairs = wrong.iter().zip(verdicts);
        pairs.filter(|(_, verdict)| *verdict).map(|(text, _)| text.clone()).collect::<Vec<_>>()
    };
    let own = accepted(own_module(NEWEST, "sm_90a", &wrong));
    assert!(own.is_empty(), "{own:#?}");
    let Some(ptxas) = ptxas::ptxas() else { return };
    let theirs = accepted(their_module(&ptxas, NEWEST, "sm_90a", &wrong));
    assert!(theirs.is_empty(), "{theirs:#?}");
}
