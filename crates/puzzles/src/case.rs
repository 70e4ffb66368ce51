//! One launch that tests a puzzle: its shape, its arguments, and what has to be in memory afterwards.

use crate::near::Near;

/// Numbers in memory.
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

    /// The numbers that these bytes are, of the same type as `self`.
    pub(crate) fn read(&self, bytes: &[u8]) -> Self {
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

    /// A number as a reader writes it.
    pub(crate) fn show(&self, index: usize) -> String {
        match self {
            Self::U32(values) => values[index].to_string(),
            Self::F32(values) => values[index].to_string(),
        }
    }
}

/// What wrong numbers would mean, if they are these.
#[derive(Clone, Debug)]
pub(crate) struct Suspect {
    pub(crate) values: Vec<f64>,
    pub(crate) says: &'static str,
}

/// A buffer of the device, which the kernel is given the address of.
#[derive(Clone, Debug)]
pub(crate) struct Buffer {
    pub(crate) name: &'static str,
    /// Its elements along each axis, the last one fastest.
    pub(crate) shape: Vec<usize>,
    /// What is in it before; where nothing was `written`, it says the type, and is zeros.
    pub(crate) before: Data,
    /// Whether it holds anything before: else reading it is a mistake.
    pub(crate) written: bool,
    /// What has to be in it afterwards; `None` for what it holds already, bit by bit.
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

/// A launch.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// What varies: `n = 37`.
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

    /// A thread for each of `n` elements, in blocks of this many, and the parameter `n`.
    pub(crate) fn elements(n: usize, block: usize) -> Self {
        let launch = Self::new(format!("n = {n}"));
        launch.launch(n.div_ceil(block) as u32, block as u32).u32("n", n)
    }

    /// This many blocks of this many threads along x.
    pub(crate) fn launch(self, blocks: u32, threads: u32) -> Self {
        Self { grid: [blocks, 1, 1], block: [threads, 1, 1], ..self }
    }

    /// Blocks and threads along x and y.
    pub(crate) fn launch_2d(self, grid: [u32; 2], block: [u32; 2]) -> Self {
        Self { grid: [grid[0], grid[1], 1], block: [block[0], block[1], 1], ..self }
    }

    /// All blocks are resident at once, so that they may wait for each other.
    pub(crate) fn cooperative(self) -> Self {
        Self { cooperative: true, ..self }
    }

    pub(crate) fn u32(mut self, name: &'static str, value: usize) -> Self {
        self.arguments.push(Argument::U32(name, value as u32));
        self
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

    /// Numbers that the kernel reads, and leaves as they are.
    pub(crate) fn input(self, name: &'static str, shape: &[usize], values: &[f32]) -> Self {
        self.buffer(name, shape, (Data::F32(values.to_vec()), true), None)
    }

    /// The same, whole ones.
    pub(crate) fn input_u32(self, name: &'static str, shape: &[usize], values: &[u32]) -> Self {
        self.buffer(name, shape, (Data::U32(values.to_vec()), true), None)
    }

    /// Room for numbers, which nothing has been written to.
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

    /// Numbers that the kernel replaces or adds to.
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

    /// The same for whole numbers.
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

    /// What it means if the buffer that was named last holds these numbers afterwards.
    pub(crate) fn suspect(
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

    /// Size and shape, in words.
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
