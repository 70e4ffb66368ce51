//! Tests that a page answers what a terminal prints.

use book_check::output::{Session, difference};
use book_check::repository;
use book_check::runs::{Kernels, kernels};
use clap::Parser;
use playground::frame::Frame;
use playground::{Playground, parse};
use ptx_emulator::commands::Command;
use serde_json::{Value, json};

const EMULATOR: &str = "cargo run -p ptx-emulator -- ";

#[derive(Parser)]
struct Line {
    #[command(subcommand)]
    command: Command,
}

fn ask(request: &Value) -> Value {
    serde_json::from_str(&Playground::default().answer(&request.to_string())).unwrap()
}

fn book_kernels() -> Kernels {
    kernels(&repository()).unwrap()
}

fn files(kernels: &Kernels, line: &str) -> Value {
    let used = kernels.texts.iter().filter(|(name, _)| line.contains(name.as_str()));
    used.map(|(name, text)| (name.clone(), json!(text))).collect::<serde_json::Map<_, _>>().into()
}

#[test]
fn a_line_is_read_as_at_a_terminal() {
    let lines = book_kernels().commands.into_values().flatten();
    let mut count = 0;
    for line in lines {
        let words = std::iter::once("ptx-emulator").chain(line.split_whitespace());
        let expected = Line::try_parse_from(words).unwrap().command;
        assert_eq!(parse(&line).unwrap(), expected, "{line}");
        count += 1;
    }
    assert!(count > 80, "{count} commands");
    for line in [
        "trace a.ptx --grid=2,3 --block 4,5,6 --shared=16 --cooperative --seed 9 --initcheck",
        "run a.ptx --synccheck --racecheck --deterministic --limit 7 --show=3 --entry=x",
        "profile --executed a.cu --arg f32[2]:1,2 --arg=u8:3",
        "check a.ptx b.cu",
    ] {
        let words = std::iter::once("ptx-emulator").chain(line.split_whitespace());
        assert_eq!(parse(line).unwrap(), Line::try_parse_from(words).unwrap().command, "{line}");
    }
}

#[test]
fn errors_of_a_command_line_name_the_problem() {
    for (line, message) in [
        ("", "the command is empty"),
        ("walk a.ptx", "unknown command walk"),
        ("run", "no file given"),
        ("check", "check needs a file"),
        ("run a.ptx b.ptx", "only one file"),
        ("run a.ptx --fast", "unknown option --fast"),
        ("run a.ptx --thread 1", "unknown option --thread"),
        ("run a.ptx --grid", "--grid needs a value"),
        ("run a.ptx --grid x", "--grid x: `x` is not a number"),
        ("run a.ptx --racecheck=1", "--racecheck takes no value"),
        ("run a.ptx --arg 1", "--arg: expected TYPE:VALUE"),
        ("run a.ptx --limit -1", "--limit -1"),
    ] {
        let why = parse(line).unwrap_err();
        assert!(why.contains(message), "{line}: {why}");
    }
}

/// Compares the book's sessions with the playground's output, if they only run the emulator and don't filter its output.
#[test]
fn a_page_prints_what_the_book_shows() {
    let kernels = book_kernels();
    let mut problems = Vec::new();
    let mut count = 0;
    for session in Session::all(&repository()).unwrap() {
        let fits = |line: &str| {
            let own = line.strip_prefix(EMULATOR).is_some_and(|line| !line.contains(" | "));
            own && kernels.texts.keys().any(|name| line.contains(name.as_str()))
        };
        if !session.commands().all(fits) {
            continue;
        }
        let mut printed = String::new();
        for command in session.commands() {
            let line = command.strip_prefix(EMULATOR).unwrap();
            let files = files(&kernels, line);
            let answer = ask(&json!({ "do": "command", "line": line, "files": files }));
            let text = answer["text"].as_str().unwrap_or_else(|| panic!("{command}: {answer}"));
            let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
            printed.push_str(&format!("$ {command}\n{}\n", lines.join("\n")));
            if answer["code"] != 0 {
                printed.push_str(&format!("[exit status {}]\n", answer["code"]));
            }
        }
        problems.extend(difference(&session.text, &printed).map(|why| (session.name, why)));
        count += 1;
    }
    assert!(count > 30, "{count} sessions");
    assert!(problems.is_empty(), "{problems:#?}");
}

/// Commands of pages succeed, except kernels that fault on purpose.
#[test]
fn every_command_of_a_page_can_be_executed() {
    let kernels = book_kernels();
    for line in kernels.commands.values().flatten() {
        let answer = ask(&json!({ "do": "command", "line": line, "files": files(&kernels, line) }));
        let code = answer["code"].as_u64().unwrap_or_else(|| panic!("{line}: {answer}"));
        let gallery = line.contains("ptx/gallery/") || line.contains("book/kernels/");
        assert!(code == 0 || gallery && code < 3, "{line}: {answer}");
    }
}

/// The values that the page shows for a lane are those in the trace of the thread.
#[test]
fn a_record_has_the_values_of_the_traces() {
    let kernels = book_kernels();
    let mut compared = 0;
    for line in [
        "run book/kernels/branch.ptx --arg u32:1 --arg u32[32]:0",
        "run book/kernels/triangle.ptx --arg u32[32]:0",
        "run book/kernels/sum-shuffle.ptx --block 64 --arg f32[64]:iota --arg f32[1]:0",
        "run book/kernels/sum-shared.ptx --block 256 --arg f32[256]:iota --arg f32[1]:0",
        "run book/kernels/spaces.ptx --arg u32[32]:0",
    ] {
        let files = files(&kernels, line);
        let record = ask(&json!({
            "do": "record", "line": line, "files": files, "block": [0, 0, 0], "most": 20_000,
        }));
        assert_eq!(record["leftOut"], 0, "{line}");
        for thread in [0_usize, 1, 5, 31, 33, 63] {
            let (warp, lane) = (thread / 32, thread % 32);
            if thread as u64 >= record["block"][0].as_u64().unwrap() {
                continue;
            }
            let traced =
                format!("{} --thread {thread} --lines 20000", line.replace("run ", "trace "));
            let trace = ask(&json!({ "do": "command", "line": traced, "files": files }));
            let trace = trace["text"].as_str().unwrap();
            // Each line is an event: the line number, the text, and the results after the arrow.
            let events: Vec<(u64, &str)> = trace
                .lines()
                .skip(1)
                .filter_map(|line| Some((line.split_whitespace().next()?.parse().ok()?, line)))
                .collect();
            let own: Vec<&Value> = record["steps"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|step| {
                    let mask = step["mask"].as_u64().unwrap();
                    step["warp"] == warp && mask >> lane & 1 == 1
                })
                .collect();
            assert_eq!(own.len(), events.len(), "{traced}");
            for (step, (number, event)) in own.into_iter().zip(events) {
                assert_eq!(step["line"], number, "{traced}");
                for written in step["written"].as_array().unwrap() {
                    let lanes = written[1].as_u64().unwrap();
                    if lanes >> lane & 1 == 0 {
                        continue;
                    }
                    let values = written[2].as_array().unwrap();
                    let rank = (lanes & ((1 << lane) - 1)).count_ones() as usize;
                    let value = &values[if values.len() == 1 { 0 } else { rank }];
                    let register = written[0].as_u64().unwrap() as usize;
                    let name = record["registers"][register]["name"].as_str().unwrap();
                    let shown = format!("{name} = {}", value.as_str().unwrap());
                    let results = event.rsplit_once('→').map_or("", |(_, results)| results);
                    assert!(results.contains(&shown), "{traced}: {shown} is not in {event}");
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 300, "{compared} values");
}

/// The committed pictures of warps are up to date, and each is on a page.
#[test]
fn the_pictures_of_warps_are_up_to_date() {
    let root = repository();
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
    let frames = Frame::list(&read("book/page/warps.txt")).unwrap();
    assert!(frames.len() >= 7, "{} pictures", frames.len());
    let pages = book_check::page::Page::all(&root).unwrap();
    for frame in &frames {
        let file = frame.file().unwrap();
        let drawn = frame.draw(file, &read(file)).unwrap();
        let kept = read(&format!("book/warps/{}.html", frame.name));
        let remedy = "cargo run -p playground --example frames";
        assert!(drawn == kept, "{} is out of date: run {remedy}", frame.name);
        assert!(!kept.contains("\n\n"), "{}: a blank line ends the HTML in Markdown", frame.name);
        let included = format!("warps/{}.html", frame.name);
        assert!(pages.iter().any(|page| page.text.contains(&included)), "{included} is on no page");
    }
    let count = std::fs::read_dir(root.join("book/warps")).unwrap().count();
    assert_eq!(count, frames.len(), "a file that no line of the list draws");
    let missing = Frame { instruction: "nop".to_owned(), ..frames[0].clone() };
    let file = missing.file().unwrap();
    assert!(missing.draw(file, &read(file)).unwrap_err().contains("never reaches nop"));
}

#[test]
fn records_show_divergence_sectors_barriers_and_faults() {
    let kernels = book_kernels();
    let record = |line: &str| {
        let files = files(&kernels, line);
        ask(
            &json!({ "do": "record", "line": line, "files": files, "block": [0, 0, 0], "most": 999 }),
        )
    };
    // Half of the lanes take the branch while the others wait.
    let branch = record("run book/kernels/branch.ptx --arg u32:1 --arg u32[32]:0");
    let steps = branch["steps"].as_array().unwrap();
    let parted = steps.iter().find(|step| step["mask"] == 0x5555_5555_u32).expect("parted");
    assert_eq!(parted["others"][0]["mask"], 0xaaaa_aaaa_u32);
    assert_eq!(steps.last().unwrap()["mask"], u32::MAX, "and joined again");
    // Every thirty-second word: each lane needs a separate sector.
    let stride = record(
        "run book/kernels/stride.ptx --arg u32:0 --arg u32:8 --arg f32[1024]:iota --arg f32[32]:0",
    );
    let load = stride["steps"]
        .as_array()
        .unwrap()
        .iter()
        .find(|step| step["text"].as_str().unwrap().starts_with("ld.global"));
    let access = &load.unwrap()["accesses"][0];
    assert_eq!(access["offsets"][1], json!([1, 32]), "{access}");
    // All warps wait at the barrier.
    let sum =
        record("run book/kernels/sum-shared.ptx --block 64 --arg f32[64]:iota --arg f32[1]:0");
    let barriers = sum["steps"].as_array().unwrap().iter().filter(|step| step["barrier"] == true);
    assert!(barriers.count() >= 2);
    // A record that is full counts the steps that it leaves out, and still includes the fault.
    let runaway = record("run book/kernels/faults/runaway.ptx --arg u32[1]:0 --limit 100000");
    assert!(runaway["leftOut"].as_u64().unwrap() > 1000);
    assert_eq!(runaway["fault"]["kind"], "runaway kernel");
}

#[test]
fn every_puzzle_fails_with_its_frame_and_passes_with_its_solution() {
    let list = ask(&json!({ "do": "puzzles" }));
    let list = list.as_array().unwrap();
    assert!(list.len() >= 16, "{} puzzles", list.len());
    for puzzle in list {
        for source in puzzle["sources"].as_array().unwrap() {
            let attempt = |text: &Value| {
                let (name, language) = (&puzzle["name"], &source["language"]);
                ask(&json!({ "do": "attempt", "puzzle": name, "language": language, "text": text }))
            };
            let (frame, solution) = (attempt(&source["frame"]), attempt(&source["solution"]));
            assert_eq!(frame["solved"], false, "{frame}");
            assert!(frame["outcome"]["teaches"].as_array().is_some(), "{frame}");
            assert_eq!(solution["solved"], true, "{solution}");
            assert_eq!(solution["costs"].as_array().unwrap().len(), 5, "{solution}");
        }
    }
}

#[test]
fn invalid_requests_are_refused() {
    let refused = |request: Value| ask(&request)["refused"].as_str().unwrap_or_default().to_owned();
    assert!(Playground::default().answer("{").contains("invalid request"));
    assert!(refused(json!({ "do": "dance" })).contains("unknown variant"));
    assert!(
        refused(json!({ "do": "train-step", "batches": 1 }))
            .contains("no training has been started")
    );
    let start = json!({ "do": "train-start", "text": "", "seed": 1, "samples": 1 });
    assert!(refused(start).contains("from 256 to"));
    let missing = ask(&json!({ "do": "command", "line": "run gone.ptx", "files": {} }));
    assert_eq!(missing["code"], 2);
    assert!(missing["text"].as_str().unwrap().contains("this page does not have it"));
    let record = json!({ "do": "record", "line": "check a.ptx", "files": {}, "block": [0, 0, 0], "most": 1 });
    assert!(refused(record).contains("launches nothing"));
}
