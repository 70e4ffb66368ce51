//! The data of a puzzle, and the languages for solutions.

use serde::{Deserialize, Serialize};

use crate::case::Case;
use crate::cost::Measure;

/// A language in which puzzles are solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Language {
    /// CUDA C, which `cuda-c` compiles.
    CudaC,
    /// PTX.
    Ptx,
}

impl Language {
    /// All languages.
    pub const ALL: [Self; 2] = [Self::CudaC, Self::Ptx];

    /// The language's name in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::CudaC => "CUDA C",
            Self::Ptx => "PTX",
        }
    }

    /// The extension of source files in this language, without the dot.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Self::CudaC => "cu",
            Self::Ptx => "ptx",
        }
    }

    /// The language of files with this extension.
    #[must_use]
    pub fn from_extension(extension: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|language| language.extension() == extension)
    }
}

/// The texts of a puzzle in one language.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// The language of the texts.
    pub language: Language,
    /// The text that the reader begins with. It compiles, but doesn't solve the puzzle.
    pub frame: &'static str,
    /// A kernel that solves the puzzle.
    pub solution: &'static str,
}

/// A limit on a kernel's cost, which a solution has to respect in addition to computing right
/// numbers.
#[derive(Clone, Copy, Debug)]
pub struct Demand {
    /// The count that is limited.
    pub measure: Measure,
    /// The limit, as a multiple of the count of the solution in the same language.
    pub ratio: f64,
    /// The message for a kernel beyond the limit: the likely mistake, and what to do instead.
    pub says: &'static str,
}

impl Demand {
    /// The limit as a phrase, such as "with no more bank conflicts than the solution".
    #[must_use]
    pub fn describe(&self) -> String {
        let name = self.measure.name();
        match self.ratio {
            1.0 => format!("with no more {name} than the solution"),
            ratio => format!("with at most {ratio} times the solution's {name}"),
        }
    }
}

/// A kernel to write.
#[derive(Debug)]
pub struct Puzzle {
    /// The puzzle's name on the command line and in URLs: `add-one`.
    pub name: &'static str,
    /// The puzzle's new idea in a few words.
    pub idea: &'static str,
    /// The name of the kernel in the sources.
    pub kernel: &'static str,
    /// The task, in Markdown; the first line is the title.
    pub task: &'static str,
    /// A picture as SVG, which uses the page's colours.
    pub picture: Option<&'static str>,
    /// The frame and the solution in each language that has a solution.
    pub sources: &'static [Source],
    /// The hints, each more explicit than the previous one, separated by lines of `---`.
    pub(crate) hints: &'static str,
    /// The limits on a kernel's cost.
    pub demands: &'static [Demand],
    /// The launches that test a kernel, small ones first.
    pub(crate) cases: fn() -> Vec<Case>,
}

impl Puzzle {
    /// Default values: no picture, no limits on the cost. The macro `list!` adds the names and the
    /// texts.
    pub(crate) const BLANK: Self = Self {
        name: "",
        idea: "",
        kernel: "",
        task: "",
        picture: None,
        sources: &[],
        hints: "",
        demands: &[],
        cases: Vec::new,
    };

    /// The title of the puzzle.
    #[must_use]
    pub fn title(&self) -> &'static str {
        self.task.lines().next().unwrap_or_default().trim_start_matches("# ")
    }

    /// The task without its title.
    #[must_use]
    pub fn text(&self) -> &'static str {
        self.task.split_once('\n').map_or("", |(_, rest)| rest.trim())
    }

    /// The hints, in order.
    #[must_use]
    pub fn hints(&self) -> Vec<&'static str> {
        self.hints.split("\n---\n").map(str::trim).filter(|hint| !hint.is_empty()).collect()
    }

    /// The frame and the solution in a language; `None` if there is no solution in that language.
    #[must_use]
    pub fn source(&self, language: Language) -> Option<&'static Source> {
        self.sources.iter().find(|source| source.language == language)
    }

    /// The sizes and launches of its test cases, as text.
    #[must_use]
    pub fn sizes(&self) -> Vec<String> {
        (self.cases)().iter().map(Case::describe).collect()
    }
}
