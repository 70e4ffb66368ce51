//! Tests with the dumps of several ranks: the program combines them, and reports which rank differs.

use crate::support::{self, Start, data};
use tempfile::TempDir;
use tensor::{Dump, Loss, TensorName};

/// A reference and a candidate, the latter in the shares of three ranks: 2, 2 and 1 of 5 samples.
struct Ranks {
    folder: TempDir,
    parts: Vec<Dump>,
}

impl Ranks {
    fn new() -> Self {
        let start = Start::new(&[13, 7, 5], 5, Loss::CrossEntropy, 1);
        let folder = tempfile::tempdir().unwrap();
        start.reference().write(&folder.path().join("reference.json")).unwrap();
        let whole = start.candidate();
        let part = |(rank, rows): (u64, std::ops::Range<usize>)| {
            let mut part = whole.clone();
            part.header.rank = Some(rank);
            part.header.world_size = Some(3);
            for tensor in &mut part.tensors {
                if tensor.name.has_a_row_for_each_sample() {
                    let width = tensor.shape[1];
                    tensor.data = tensor.data[rows.start * width..rows.end * width].to_vec();
                    tensor.shape[0] = rows.len();
                }
            }
            part
        };
        let parts = [(0, 0..2), (1, 2..4), (2, 4..5)].into_iter().map(part).collect();
        Self { folder, parts }
    }

    fn diff(&self, arguments: &[&str]) -> (i32, String, String) {
        for (rank, part) in self.parts.iter().enumerate() {
            part.write(&self.folder.path().join(format!("l3.rank{rank}.json"))).unwrap();
        }
        support::program(self.folder.path(), arguments)
    }
}

const ALL: [&str; 4] = ["reference.json", "l3.rank0.json", "l3.rank1.json", "l3.rank2.json"];

#[test]
fn shares_are_one_dump() {
    let ranks = Ranks::new();
    let (code, out, err) = ranks.diff(&ALL);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.starts_with("l3.rank*.json agrees with reference.json: 22 tensors"), "{out}");
    assert!(out.contains(", 3 ranks on "), "{out}");
    // The files of the ranks may be in any order, and without a reference.
    let (code, out, _) = ranks.diff(&["l3.rank2.json", "l3.rank0.json", "l3.rank1.json"]);
    assert_eq!(code, 0, "{out}");
    assert!(out.starts_with("l3.rank*.json is consistent"), "{out}");
    // The combined ranks can be compared together with another candidate.
    let mut both = ALL.to_vec();
    both.push("reference.json");
    let (code, out, _) = ranks.diff(&both);
    assert_eq!(code, 0, "{out}");
    assert!(out.starts_with("2 of 2 agree with reference.json"), "{out}");
}

#[test]
fn a_rank_that_is_not_like_the_others_is_named() {
    let mut ranks = Ranks::new();
    data(&mut ranks.parts[2], TensorName::WNext(1))[3] += 1.0;
    let (code, out, err) = ranks.diff(&ALL);
    assert_eq!((code, err.as_str()), (1, ""), "{out}");
    assert!(
        out.starts_with("the ranks differ in tensors that should be the same on all ranks:\n"),
        "{out}"
    );
    assert!(out.contains("l3.rank*.json: w1_next of rank 2 is not that of rank 0 (step 0): 1 of"));
    let page = ranks.folder.path().join("page.html");
    let (code, out, _) =
        ranks.diff(&[&ALL[..], &["--html", page.to_str().unwrap(), "--json"]].concat());
    assert_eq!(code, 1);
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report["verdict"], "differ");
    assert!(report["rank_differences"][0].as_str().unwrap().contains("rank 2"), "{out}");
    assert!(std::fs::read_to_string(page).unwrap().contains("w1_next of rank 2"));
}

/// A fault of one rank's share is found in the rows that are its own.
#[test]
fn a_fault_in_a_share_is_found() {
    let mut ranks = Ranks::new();
    data(&mut ranks.parts[1], TensorName::P)[1] += 0.5;
    let (code, out, _) = ranks.diff(&ALL);
    assert_eq!(code, 1, "{out}");
    let row =
        out.lines().find(|line| line.starts_with("p        ")).unwrap_or_else(|| panic!("{out}"));
    assert!(row.contains("[2, 1]") && row.contains("DIFFERS, its own fault"), "{row}");
}

#[test]
fn a_rank_that_is_missing_is_named() {
    let ranks = Ranks::new();
    for files in [&ALL[..3], &["l3.rank1.json"], &["reference.json", "l3.rank2.json"]] {
        let (code, out, err) = ranks.diff(files);
        assert_eq!((code, out.as_str()), (2, ""), "{err}");
        assert!(err.contains("the dumps of the other ranks are missing"), "{err}");
    }
    let (_, _, err) = ranks.diff(&ALL[..3]);
    assert!(err.contains("(rank 2 of 3)"), "{err}");
}

/// Ranks that don't exist, and impossible numbers of ranks.
#[test]
fn headers_that_make_no_sense_are_refused() {
    for (rank, world_size) in [(3, 3), (0, 0), (u64::MAX, u64::MAX), (5, 1 << 40)] {
        let mut ranks = Ranks::new();
        ranks.parts[1].header.rank = Some(rank);
        ranks.parts[1].header.world_size = Some(world_size);
        let (code, out, err) = ranks.diff(&ALL);
        assert_eq!((code, out.as_str()), (2, ""), "{err}");
        assert!(err.contains("can't combine the ranks of l3.rank1.json"), "{err}");
    }
    // One rank's file has two steps, and the others have one.
    let ranks = Ranks::new();
    ranks.diff(&[]);
    let mut run = vec![ranks.parts[1].clone(), ranks.parts[1].clone()];
    run[1].header.step = 1;
    Dump::write_run(&run, &ranks.folder.path().join("l3.run1.json")).unwrap();
    let (code, _, err) =
        ranks.diff(&["reference.json", "l3.rank0.json", "l3.run1.json", "l3.rank2.json"]);
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("number of its steps differs"), "{err}");
}
