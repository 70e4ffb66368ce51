//! Test cases of a puzzle: a launch, its arguments, and the expected contents of memory.

use crate::near::Near;

/// The numbers in a buffer, of one of the types that puzzles use.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Data {
    /// `unsigned`
    U32(Vec<u32>),
    /// `float`
    F32(Vec<f32>),
}

impl Data {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::U32(values) => values.len(),
            Self::F32(values) => values.len(),
        }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        match self {
            Self::U32(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            Self::F32(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        }
    }

    /// Decodes bytes as numbers of the same type as `self`.
    pub(crate) fn decode(&self, bytes: &[u8]) -> Self {
        let words = bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word));
        match self {
            Self::U32(_) => Self::U32(words.collect()),
            Self::F32(_) => Self::F32(words.map(f32::from_bits).collect()),
        }
    }

    pub(crate) fn get(&self, index: usize) -> f64 {
        match self {
            Self::U32(values) => f64::from(values[index]),
            Self::F32(values) => f64::from(values[index]),
        }
    }

    /// Formats the number at an index.
    pub(crate) fn show(&self, index: usize) -> String {
        match self {
            Self::U32(values) => values[index].to_string(),
            Self::F32(values) => values[index].to_string(),
        }
    }
}

/// A typical mistake: the wrong numbers that it produces, and the message that explains it.
#[derive(Clone, Debug)]
pub(crate) struct Suspect {
    pub(crate) values: Vec<f64>,
    pub(crate) says: &'static str,
}

/// A buffer in device memory, whose address is an argument of the kernel.
#[derive(Clone, Debug)]
pub(crate) struct Buffer {
    pub(crate) name: &'static str,
    /// The number of elements along each axis; the last axis is contiguous.
    pub(crate) shape: Vec<usize>,
    /// The contents before the launch. If `written` is false, these are zeros that only determine the type.
    pub(crate) before: Data,
    /// Whether the buffer is initialised before the launch; if it isn't, reading it is a mistake.
    pub(crate) written: bool,
    /// The expected contents after the launch; `None` if the contents must not change in any bit.
    pub(crate) after: Option<Vec<Near>>,
    pub(crate) suspects: Vec<Suspect>,
}

/// An argument of the kernel.
#[derive(Clone, Debug)]
pub(crate) enum Argument {
    U32(&'static str, u32),
    F32(&'static str, f32),
    Buffer(Buffer),
}

impl Argument {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::U32(name, _) | Self::F32(name, _) => name,
            Self::Buffer(buffer) => buffer.name,
        }
    }
}

/// A launch that tests a puzzle.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// The tested size as text: `n = 37`.
    size: String,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) cooperative: bool,
    pub(crate) arguments: Vec<Argument>,
}

impl Case {
    /// A launch of one block of one thread, without arguments.
    pub(crate) fn new(size: impl Into<String>) -> Self {
        let (grid, block) = ([1; 3], [1; 3]);
        Self { size: size.into(), grid, block, cooperative: false, arguments: Vec::new() }
    }

    /// A launch of one block of one thread, with the parameter `n`.
    pub(crate) fn with_n(n: usize) -> Self {
        Self::new(format!("n = {n}")).u32("n", n)
    }

    /// A launch with a thread for each of `n` elements, in blocks of `block` threads, and the parameter `n`.
    pub(crate) fn elements(n: usize, block: usize) -> Self {
        Self::with_n(n).launch(n.div_ceil(block) as u32, block as u32)
    }

    /// Sets the launch to `blocks` blocks of `threads` threads along x.
    pub(crate) fn launch(self, blocks: u32, threads: u32) -> Self {
        Self { grid: [blocks, 1, 1], block: [threads, 1, 1], ..self }
    }

    /// Sets the launch to as many blocks of this size as cover a matrix: x runs over columns, y over rows.
    pub(crate) fn cover(self, columns: usize, rows: usize, block: [usize; 2]) -> Self {
        let grid = [columns.div_ceil(block[0]) as u32, rows.div_ceil(block[1]) as u32, 1];
        Self { grid, block: [block[0] as u32, block[1] as u32, 1], ..self }
    }

    /// Makes the launch cooperative: all blocks are resident at once, so that they may wait for each other.
    pub(crate) fn cooperative(self) -> Self {
        Self { cooperative: true, ..self }
    }

    pub(crate) fn u32(mut self, name: &'static str, value: usize) -> Self {
        self.arguments.push(Argument::U32(name, value as u32));
        self
    }

    /// Adds several sizes as parameters.
    pub(crate) fn sizes<const N: usize>(self, sizes: [(&'static str, usize); N]) -> Self {
        sizes.into_iter().fold(self, |case, (name, value)| case.u32(name, value))
    }

    pub(crate) fn f32(mut self, name: &'static str, value: f32) -> Self {
        self.arguments.push(Argument::F32(name, value));
        self
    }

    fn buffer(
        mut self,
        name: &'static str,
        shape: &[usize],
        (before, written): (Data, bool),
        after: Option<Vec<Near>>,
    ) -> Self {
        let (shape, suspects) = (shape.to_vec(), Vec::new());
        let count: usize = shape.iter().product();
        assert_eq!(before.len(), count, "{name} of {}", self.size);
        assert!(after.iter().all(|after| after.len() == count), "{name} of {}", self.size);
        let buffer = Buffer { name, shape, before, written, after, suspects };
        self.arguments.push(Argument::Buffer(buffer));
        self
    }

    /// Adds a buffer of `float` that the kernel reads and must not change.
    pub(crate) fn input(self, name: &'static str, shape: &[usize], values: &[f32]) -> Self {
        self.buffer(name, shape, (Data::F32(values.to_vec()), true), None)
    }

    /// Adds a buffer of `unsigned` that the kernel reads and must not change.
    pub(crate) fn input_u32(self, name: &'static str, shape: &[usize], values: &[u32]) -> Self {
        self.buffer(name, shape, (Data::U32(values.to_vec()), true), None)
    }

    /// Adds an uninitialised buffer for results.
    pub(crate) fn output(
        self,
        name: &'static str,
        shape: &[usize],
        after: impl IntoIterator<Item = impl Into<Near>>,
    ) -> Self {
        let after: Vec<Near> = after.into_iter().map(Into::into).collect();
        let nothing = Data::F32(vec![0.0; after.len()]);
        self.buffer(name, shape, (nothing, false), Some(after))
    }

    /// Adds a buffer of `float` that the kernel updates.
    pub(crate) fn changed(
        self,
        name: &'static str,
        shape: &[usize],
        before: &[f32],
        after: impl IntoIterator<Item = impl Into<Near>>,
    ) -> Self {
        let after = after.into_iter().map(Into::into).collect();
        self.buffer(name, shape, (Data::F32(before.to_vec()), true), Some(after))
    }

    /// Adds a buffer of `unsigned` that the kernel updates.
    pub(crate) fn changed_u32(
        self,
        name: &'static str,
        shape: &[usize],
        before: &[u32],
        after: &[u32],
    ) -> Self {
        let after = after.iter().map(|&value| Near::exact(f64::from(value))).collect();
        self.buffer(name, shape, (Data::U32(before.to_vec()), true), Some(after))
    }

    /// Adds a typical mistake to the last buffer: if it contains these numbers after the launch, the message `says`
    /// explains why.
    pub(crate) fn known_mistake(
        mut self,
        values: impl IntoIterator<Item = impl Into<f64>>,
        says: &'static str,
    ) -> Self {
        if let Some(Argument::Buffer(buffer)) = self.arguments.last_mut() {
            let values: Vec<f64> = values.into_iter().map(Into::into).collect();
            assert_eq!(Some(values.len()), buffer.after.as_ref().map(Vec::len), "{says}");
            buffer.suspects.push(Suspect { values, says });
        }
        self
    }

    /// Adds a typical mistake if `applies` is true. In other launches, the mistake would produce right numbers.
    pub(crate) fn suspect_if(
        self,
        applies: bool,
        values: impl IntoIterator<Item = impl Into<f64>>,
        says: &'static str,
    ) -> Self {
        if applies { self.known_mistake(values, says) } else { self }
    }

    /// Describes the size and the launch as text.
    pub(crate) fn describe(&self) -> String {
        let shape = |[x, y, _]: [u32; 3], one: &str, many: &str| match (x, y) {
            (1, 1) => format!("1 {one}"),
            (x, 1) => format!("{x} {many}"),
            (x, y) => format!("{x}×{y} {many}"),
        };
        let (blocks, threads) =
            (shape(self.grid, "block", "blocks"), shape(self.block, "thread", "threads"));
        format!("{} ({blocks} of {threads})", self.size)
    }
}
