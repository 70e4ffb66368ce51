//! What a puzzle is.

use serde::{Deserialize, Serialize};

use crate::case::Case;
use crate::cost::Measure;

/// What a kernel is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Language {
    /// CUDA C, which `cuda-c` compiles.
    CudaC,
    /// PTX.
    Ptx,
}

impl Language {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::CudaC, Self::Ptx];

    /// Its name, for readers.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::CudaC => "CUDA C",
            Self::Ptx => "PTX",
        }
    }

    /// How the names of its files end, without the dot.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Self::CudaC => "cu",
            Self::Ptx => "ptx",
        }
    }

    /// The language of a file whose name ends so.
    #[must_use]
    pub fn of_extension(extension: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|language| language.extension() == extension)
    }
}

/// The texts of a puzzle in one language.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// Which language.
    pub language: Language,
    /// What the reader begins with. It compiles, and solves nothing.
    pub frame: &'static str,
    /// One way to solve it.
    pub solution: &'static str,
}

/// Something that a kernel has to do beside getting the numbers right.
#[derive(Clone, Copy, Debug)]
pub struct Demand {
    /// What is counted.
    pub measure: Measure,
    /// At most this many times what the solution in the same language counts.
    pub ratio: f64,
    /// What a kernel that needs more has done, and what to do instead.
    pub says: &'static str,
}

/// A kernel to write.
#[derive(Debug)]
pub struct Puzzle {
    /// What it is called on the command line and in addresses: `add-one`.
    pub name: &'static str,
    /// What is new in it, in a few words.
    pub idea: &'static str,
    /// The name of the kernel in the sources.
    pub kernel: &'static str,
    /// What is to be done, in Markdown; the first line is the title.
    pub task: &'static str,
    /// A picture of it, as SVG in the reader's own colours.
    pub picture: Option<&'static str>,
    /// The frame and the solution in each language that it can be solved in.
    pub sources: &'static [Source],
    /// The hints, each saying more than the one before, with lines of `---` between them.
    pub(crate) hints: &'static str,
    /// What it has to do beside getting the numbers right.
    pub demands: &'static [Demand],
    /// The launches that test it, small ones first.
    pub(crate) cases: fn() -> Vec<Case>,
}

impl Puzzle {
    /// What one says nothing of: it has no picture, and demands nothing. The list fetches the texts.
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

    /// Its title.
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

    /// Its texts in a language, if it can be solved in that.
    #[must_use]
    pub fn source(&self, language: Language) -> Option<&'static Source> {
        self.sources.iter().find(|source| source.language == language)
    }

    /// The launches that test it, in words: sizes and shapes.
    #[must_use]
    pub fn sizes(&self) -> Vec<String> {
        (self.cases)().iter().map(Case::describe).collect()
    }
}
