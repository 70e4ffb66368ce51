//! Still picture of a warp at one step of a launch: HTML that a page shows without any script. It has the same elements
//! and classes as the interactive view that `book/page/warp.js` puts in its place.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::Playground;

/// Numbers of lines that are shown before and after the current one.
const ABOVE: usize = 6;
const BELOW: usize = 7;
const LANES: usize = 32;
const SECTOR: i64 = 32;
const BANKS: i64 = 32;
/// A 64-bit register with at least this value is taken for an address and not shown, because addresses differ in a browser.
const MIN_ADDRESS: f64 = 16_777_216.0;

/// A step of a launch to be drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The name of the picture.
    pub name: String,
    /// The warp that is shown.
    pub warp: u64,
    /// The beginning of the instruction that the warp is about to execute.
    pub instruction: String,
    /// The ordinal of this execution, from 1.
    pub time: usize,
    /// The command line of the launch.
    pub line: String,
}

impl Frame {
    /// The frames of a list: `NAME | WARP | TIME | INSTRUCTION | COMMAND` on each line.
    ///
    /// # Errors
    /// If a line has another form.
    pub fn list(text: &str) -> Result<Vec<Self>, String> {
        let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
        lines
            .map(|line| {
                let parts: Vec<&str> = line.splitn(5, '|').map(str::trim).collect();
                let [name, warp, time, instruction, command] = parts[..] else {
                    return Err(format!(
                        "expected NAME | WARP | TIME | INSTRUCTION | COMMAND: {line}"
                    ));
                };
                let number = |text: &str| text.parse().map_err(|_| format!("not a number: {text}"));
                Ok(Self {
                    name: name.to_owned(),
                    warp: number(warp)?,
                    time: number(time)? as usize,
                    instruction: instruction.to_owned(),
                    line: command.to_owned(),
                })
            })
            .collect()
    }

    /// The file of the launched kernel.
    #[must_use]
    pub fn file(&self) -> Option<&str> {
        self.line.split_whitespace().find(|word| word.ends_with(".ptx"))
    }

    /// Draws the step; `text` is the text of the kernel's file.
    ///
    /// # Errors
    /// If the launch can't be recorded, or never reaches the step.
    pub fn draw(&self, file: &str, text: &str) -> Result<String, String> {
        let request = json!({
            "do": "record", "line": self.line, "files": { file: text },
            "block": [0, 0, 0], "most": 20_000,
        });
        let answer = Playground::default().answer(&request.to_string());
        let record: Value = serde_json::from_str(&answer).map_err(|error| error.to_string())?;
        if let Some(why) = record["refused"].as_str() {
            return Err(format!("{}: {why}", self.name));
        }
        let steps = record["steps"].as_array().map_or(&[][..], Vec::as_slice);
        let own = |step: &&Value| {
            step["warp"] == self.warp
                && step["text"]
                    .as_str()
                    .is_some_and(|text| squeezed(text).starts_with(&self.instruction))
        };
        let found =
            steps.iter().enumerate().filter(|(_, step)| own(step)).nth(self.time.max(1) - 1);
        let (at, step) = found.ok_or_else(|| {
            format!("{}: warp {} never reaches {}", self.name, self.warp, self.instruction)
        })?;
        let mut html = String::new();
        let _ = writeln!(
            html,
            "<div class=\"fl-view fl-still\" data-file=\"{file}\" data-launch=\"{}\" data-at=\"{at}\" data-warp=\"{}\">",
            escaped(&self.line),
            self.warp
        );
        let all = format!(
            "<div class=\"fl-moment\">{at} of {}: <code>{}</code>{}</div>\n",
            steps.len(),
            escaped(word(step, "text")),
            off(step)
        );
        html.push_str(&all);
        html.push_str("<div class=\"fl-split\">\n");
        listing(&mut html, &record, step);
        html.push_str("<div class=\"fl-side\">\n");
        warps(&mut html, steps, at, self.warp);
        html.push_str("<div class=\"fl-accesses\">");
        for access in list(&step["accesses"]) {
            html.push_str(&self::access(access));
        }
        html.push_str("</div>\n</div>\n</div>\n");
        registers(&mut html, &record, at, self.warp);
        html.push_str("</div>\n");
        Ok(html)
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn word<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or_default()
}

/// A mask of lanes.
fn mask(value: &Value) -> u32 {
    value.as_u64().unwrap_or_default() as u32
}

fn has_lane(mask: u32, lane: usize) -> bool {
    mask >> lane & 1 != 0
}

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn plural(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

fn lanes(mask: u32) -> String {
    plural(mask.count_ones() as usize, "lane")
}

/// A note that lists the lanes whose predicate is false.
fn off(step: &Value) -> String {
    match mask(&step["mask"]) & !mask(&step["active"]) {
        0 => String::new(),
        idle => format!(" (the predicate is false in {})", lanes(idle)),
    }
}

/// The lines of the kernel around the current one, with the positions of the other lanes.
fn listing(html: &mut String, record: &Value, step: &Value) {
    let source: Vec<&str> = word(record, "source").lines().collect();
    let here = number(&step["line"]) as usize;
    let first = here.saturating_sub(ABOVE).max(1);
    let last = (here + BELOW).min(source.len());
    let _ = writeln!(html, "<ol class=\"fl-listing\" start=\"{first}\">");
    for (index, text) in source.iter().enumerate().take(last).skip(first - 1) {
        let line = index + 1;
        let mut class = String::new();
        let mut who = String::new();
        let others = list(&step["others"]).iter().filter(|other| other["line"] == line);
        let others: Vec<String> = others
            .map(|other| {
                let waits = match &other["waits"] {
                    Value::String(how) if how == "turn" => "",
                    Value::String(_) => " wait for the others",
                    _ => " wait at the barrier",
                };
                format!("{}{waits}", lanes(mask(&other["mask"])))
            })
            .collect();
        if line == here {
            class.push_str(" fl-here");
            who = lanes(mask(&step["mask"]));
        } else if !others.is_empty() {
            class.push_str(" fl-there");
            who = others.join(", ");
        }
        let text = if text.is_empty() { " " } else { text };
        let _ = writeln!(
            html,
            "<li><span class=\"fl-row{class}\"><span class=\"fl-number\">{line}</span> <code>{}</code><span class=\"fl-lanes\">{who}</span></span></li>",
            escaped(text)
        );
    }
    html.push_str("</ol>\n");
}

/// The position of each warp of the block.
fn warps(html: &mut String, steps: &[Value], at: usize, chosen: u64) {
    let mut numbers: Vec<u64> = steps.iter().filter_map(|step| step["warp"].as_u64()).collect();
    numbers.sort_unstable();
    numbers.dedup();
    html.push_str("<ul class=\"fl-warps\">\n");
    for warp in numbers {
        let before = steps[..at].iter().rfind(|step| step["warp"] == warp);
        let after = steps[at..].iter().find(|step| step["warp"] == warp);
        let what = match (before, after) {
            (Some(_), None) => "is done".to_owned(),
            (Some(before), Some(_)) if before["barrier"] == true => {
                format!("has come to the barrier of line {}", before["line"])
            }
            (_, Some(after)) if steps[at]["warp"] == warp => {
                format!("is at line {}", after["line"])
            }
            (Some(_), Some(after)) => format!("goes on at line {}", after["line"]),
            (None, _) => "has not begun".to_owned(),
        };
        let class = if warp == chosen { " class=\"fl-chosen\"" } else { "" };
        let _ = writeln!(html, "<li{class}>warp {warp} {what}</li>");
    }
    html.push_str("</ul>\n");
}

/// The sectors of global memory, or the banks of shared memory, that an access touches.
fn access(one: &Value) -> String {
    let (bytes, skew) = (number(&one["bytes"]), number(&one["skew"]));
    let offsets: Vec<(i64, i64)> =
        list(&one["offsets"]).iter().map(|pair| (number(&pair[0]), number(&pair[1]))).collect();
    let verb = match word(one, "kind") {
        "load" => "reads",
        "store" => "writes",
        _ => "updates",
    };
    let who = plural(offsets.len(), "lane");
    let place = escaped(word(one, "place"));
    let mut cells = String::new();
    let cell = |cells: &mut String, class: &str, text: &str| {
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        let _ = write!(cells, "<span{class}>{text}</span>");
    };
    if one["space"] == "shared" {
        let mut banks = vec![BTreeMap::<i64, usize>::new(); BANKS as usize];
        for (_, offset) in &offsets {
            for word in offset.div_euclid(4)..(offset + bytes + 3).div_euclid(4) {
                *banks[word.rem_euclid(BANKS) as usize].entry(word).or_default() += 1;
            }
        }
        let counts: Vec<usize> = banks.iter().map(BTreeMap::len).collect();
        let worst = counts.iter().copied().max().unwrap_or_default();
        let verdict = match worst {
            _ if bytes > 4 => String::new(),
            0 | 1 => ": one pass".to_owned(),
            more => format!(": {more} passes, a bank conflict"),
        };
        for &count in &counts {
            match count {
                0 => cell(&mut cells, "", ""),
                1 => cell(&mut cells, "fl-lit", "1"),
                more => cell(&mut cells, "fl-lit fl-bad", &more.to_string()),
            }
        }
        let label = counts.iter().map(usize::to_string).collect::<Vec<_>>().join(" ");
        return format!(
            "<div class=\"fl-access\"><div>{verb} {bytes} bytes of shared memory ({place}) in {who}{verdict}</div><div class=\"fl-cells\" role=\"img\" aria-label=\"words asked of each of 32 banks: {label}\">{cells}</div></div>\n"
        );
    }
    let mut sectors = BTreeMap::<i64, usize>::new();
    for (_, offset) in &offsets {
        let mut sector = (skew + offset).div_euclid(SECTOR);
        while sector * SECTOR < skew + offset + bytes {
            *sectors.entry(sector).or_default() += 1;
            sector += 1;
        }
    }
    let (first, last) = (sectors.keys().next(), sectors.keys().next_back());
    if let (Some(&first), Some(&last)) = (first, last)
        && last - first < 64
    {
        for sector in first.div_euclid(4) * 4..(last + 1 + 3).div_euclid(4) * 4 {
            match sectors.get(&sector) {
                Some(lanes) => cell(&mut cells, "fl-lit", &lanes.to_string()),
                None => cell(&mut cells, "", ""),
            }
        }
    } else {
        sectors.values().for_each(|lanes| cell(&mut cells, "fl-lit fl-far", &lanes.to_string()));
    }
    let label = sectors.values().map(usize::to_string).collect::<Vec<_>>().join(" ");
    let count = plural(sectors.len(), "sector");
    format!(
        "<div class=\"fl-access\"><div>{verb} {bytes} bytes of global memory ({place}) in {who}: {count} of 32 bytes</div><div class=\"fl-cells\" role=\"img\" aria-label=\"lanes in each sector: {label}\">{cells}</div></div>\n"
    )
}

/// The registers that the warp has written so far, a row of 32 lanes each.
fn registers(html: &mut String, record: &Value, at: usize, warp: u64) {
    let steps = list(&record["steps"]);
    let step = &steps[at];
    let mut rows: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    let mut fresh: BTreeMap<usize, u32> = BTreeMap::new();
    for before in steps[..at].iter().filter(|step| step["warp"] == warp) {
        fresh.clear();
        for written in list(&before["written"]) {
            let (register, lanes) = (number(&written[0]) as usize, mask(&written[1]));
            let values = list(&written[2]);
            let row = rows.entry(register).or_insert_with(|| vec![String::new(); LANES]);
            for (rank, lane) in (0..LANES).filter(|&lane| has_lane(lanes, lane)).enumerate() {
                let value = &values[if values.len() == 1 { 0 } else { rank }];
                row[lane] = value.as_str().unwrap_or_default().to_owned();
            }
            fresh.insert(register, lanes);
        }
    }
    let waiting = list(&step["others"]).iter().filter(|other| other["waits"] != "turn");
    let waiting = waiting.fold(0, |all, other| all | mask(&other["mask"]));
    let state = |lane| {
        let is = |key: &str| has_lane(mask(&step[key]), lane);
        match () {
            () if !is("alive") => ("fl-gone", "has exited"),
            () if is("active") => ("fl-active", "runs"),
            () if is("mask") => ("fl-off", "is here, and its predicate is false"),
            () if has_lane(waiting, lane) => ("fl-waits", "waits"),
            () => ("fl-else", "is elsewhere"),
        }
    };
    let _ = write!(
        html,
        "<div class=\"fl-scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Registers of warp {warp}\"><table class=\"fl-registers\"><caption>Registers of warp {warp}, lane by lane</caption><thead><tr><th scope=\"col\">lane</th>"
    );
    for lane in 0..LANES {
        let (class, text) = state(lane);
        let _ = write!(
            html,
            "<th scope=\"col\" class=\"{class}\" title=\"lane {lane} {text}\">{lane}</th>"
        );
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    for (register, values) in rows {
        let declared = &record["registers"][register];
        let wide = word(declared, "type").ends_with("64");
        if declared["function"] != step["function"]
            || wide && values.iter().any(|value| is_address(value))
        {
            continue;
        }
        let name = escaped(word(declared, "name"));
        let _ = write!(
            html,
            "<tr data-register=\"{name}\"><th scope=\"row\" title=\".{}\">{name}</th>",
            word(declared, "type")
        );
        for (lane, value) in values.iter().enumerate() {
            let new = has_lane(fresh.get(&register).copied().unwrap_or_default(), lane);
            let class = if new { " class=\"fl-fresh\"" } else { "" };
            let _ = write!(html, "<td{class}>{}</td>", escaped(value));
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody></table></div>\n");
}

fn is_address(value: &str) -> bool {
    let hexadecimal =
        value.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
    let number = hexadecimal.map(|bits| bits as f64).or_else(|| value.parse().ok());
    number.is_none_or(|number| number >= MIN_ADDRESS)
}
