//! Loaded kernels with the types of their parameters, and the macro [`launch!`](crate::launch!).
#![allow(unsafe_code, reason = "a kernel can't be launched without")]

use std::marker::PhantomData;

use cudarc::driver::{
    CudaFunction, CudaSlice, CudaStream, CudaView, DevicePtr, DeviceRepr, LaunchArgs, LaunchConfig,
    PushKernelArg,
};

use crate::{Launcher, Result, Size, Substitute, Work};

/// A kernel parameter that is the address of a buffer that the kernel only reads.
#[derive(Clone, Copy, Debug)]
pub struct Read;

/// A kernel parameter that is the address of a buffer that the kernel writes.
#[derive(Clone, Copy, Debug)]
pub struct Write;

/// A loaded kernel. `P` is a tuple of the types of the kernel's parameters, in the kernel's order: `Function<(Read,
/// Write, usize)>`.
#[derive(Clone, Debug)]
pub struct Function<P> {
    kernel: CudaFunction,
    name: &'static str,
    parameters: PhantomData<P>,
}

impl<P> Function<P> {
    /// Gives a loaded kernel the types of its parameters.
    ///
    /// # Safety
    /// The kernel has parameters of these types, in this order, and every [`launch!`](crate::launch!) of it
    /// declares all elements that the kernel reads and writes.
    #[must_use]
    pub const unsafe fn new(kernel: CudaFunction, name: &'static str) -> Self {
        Self { kernel, name, parameters: PhantomData }
    }

    /// The kernel's name in errors and profiles.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Type-checks the arguments of a launch; never calls the closure.
    #[doc(hidden)]
    pub fn takes(&self, _arguments: impl FnOnce() -> P) {}
}

/// A buffer whose address is a kernel's argument; `None` is a null pointer.
pub trait Address<'a> {
    /// The size of an element in bytes.
    const ELEMENT_BYTES: usize;

    /// The number of elements in the buffer; `None` for a null pointer.
    fn elements(&self) -> Option<usize>;

    /// The buffer's address; 0 for a null pointer.
    fn value(&self, stream: &CudaStream) -> u64;

    /// Appends the address to the arguments of a launch.
    fn push(self, arguments: &mut LaunchArgs<'a>);
}

/// A buffer that a kernel may write.
pub trait WritableAddress<'a>: Address<'a> {}

macro_rules! addresses {
    ($(($($lifetime:tt)*) $buffer:ty;)*) => {
        $(impl<'a, 'b: 'a, $($lifetime)* T> Address<'a> for $buffer {
            const ELEMENT_BYTES: usize = size_of::<T>();

            fn elements(&self) -> Option<usize> {
                Some(self.len())
            }

            fn value(&self, stream: &CudaStream) -> u64 {
                (**self).device_ptr(stream).0
            }

            fn push(self, arguments: &mut LaunchArgs<'a>) {
                arguments.arg(self);
            }
        })*
    };
}

addresses! {
    () &'b CudaSlice<T>;
    () &'b mut CudaSlice<T>;
    ('c: 'b,) &'b CudaView<'c, T>;
}

impl<'a, 'b: 'a, T> WritableAddress<'a> for &'b mut CudaSlice<T> {}

impl<'a, A: Address<'a>> Address<'a> for Option<A> {
    const ELEMENT_BYTES: usize = A::ELEMENT_BYTES;

    fn elements(&self) -> Option<usize> {
        self.as_ref().and_then(A::elements)
    }

    fn value(&self, stream: &CudaStream) -> u64 {
        self.as_ref().map_or(0, |address| address.value(stream))
    }

    fn push(self, arguments: &mut LaunchArgs<'a>) {
        match self {
            Some(address) => address.push(arguments),
            None => _ = arguments.arg(&0_u64),
        }
    }
}

impl<'a, A: WritableAddress<'a>> WritableAddress<'a> for Option<A> {}

/// A launch under construction: its arguments, and the amount of work that they declare.
#[doc(hidden)]
#[must_use]
pub struct Launch<'a> {
    launcher: &'a Launcher,
    arguments: LaunchArgs<'a>,
    /// The kernel that is launched in place of the operation's own, and its arguments so far.
    substitute: Option<(&'a dyn Substitute, Vec<u64>)>,
    /// The work of the arguments so far, or the error for the first buffer that is too small.
    work: Result<Work>,
}

#[doc(hidden)]
impl<'a> Launch<'a> {
    pub fn new<P>(launcher: &'a Launcher, function: &'a Function<P>, flops: Size) -> Self {
        let work = Work { operation: function.name, bytes: 0, flops: flops.get() };
        let arguments = launcher.stream.launch_builder(&function.kernel);
        let substitute = launcher.substitutes.as_ref().and_then(|all| all.get(function.name));
        let substitute = substitute.map(|found| (&**found, Vec::new()));
        Self { launcher, arguments, substitute, work: Ok(work) }
    }

    pub fn value<T: DeviceRepr>(mut self, value: &'a T) -> Self {
        if let Some((_, values)) = &mut self.substitute {
            values.push(bits(value));
        }
        self.arguments.arg(value);
        self
    }

    /// Adds the bytes of a buffer to the work.
    fn count<A: Address<'a>>(&mut self, buffer: &'static str, address: &A, size: Size) {
        if let (Ok(work), Some(elements)) = (&self.work, address.elements()) {
            self.work = work.with_buffer(buffer, elements, size, A::ELEMENT_BYTES);
        }
    }

    pub fn read<A: Address<'a>>(mut self, buffer: &'static str, address: A, size: Size) -> Self {
        self.count(buffer, &address, size);
        if let Some((_, values)) = &mut self.substitute {
            values.push(address.value(&self.launcher.stream));
        }
        address.push(&mut self.arguments);
        self
    }

    pub fn write<A>(self, buffer: &'static str, address: A, size: Size) -> Self
    where
        A: WritableAddress<'a>,
    {
        self.read(buffer, address, size)
    }

    pub fn update<A>(mut self, buffer: &'static str, address: A, size: Size) -> Self
    where
        A: WritableAddress<'a>,
    {
        // The kernel reads and writes the buffer, so its bytes count twice: `read` counts them again.
        self.count(buffer, &address, size);
        self.read(buffer, address, size)
    }

    pub fn bytes(mut self, bytes: Size) -> Self {
        if let Ok(work) = &mut self.work {
            work.bytes = bytes.get();
        }
        self
    }

    pub fn named(mut self, name: &'static str) -> Self {
        if let Ok(work) = &mut self.work {
            work.operation = name;
        }
        self
    }

    pub fn launch(self, shape: impl FnOnce() -> LaunchConfig, cooperative: bool) -> Result<()> {
        let Self { launcher, arguments, substitute, work } = self;
        let work = work?;
        if let Some((substitute, values)) = substitute {
            return substitute.launch(launcher, &values, work);
        }
        // SAFETY: the caller of `Function::new` promised that the parameters are right and that launches
        // declare all accesses, and every buffer holds the elements that this launch declares.
        unsafe { launcher.launch(arguments, shape(), work, cooperative) }
    }
}

/// A number's bits, in the low bytes of a `u64`.
fn bits<T: DeviceRepr>(number: &T) -> u64 {
    let (mut bits, bytes) = ([0_u8; 8], size_of::<T>().min(8));
    // SAFETY: source and destination have at least `bytes` bytes, and a number has no padding.
    unsafe { std::ptr::from_ref(number).cast::<u8>().copy_to(bits.as_mut_ptr(), bytes) };
    u64::from_le_bytes(bits)
}

/// Launches a kernel. The statement declares what the kernel reads and writes:
///
/// ```
/// use gpu::launch::line;
/// use gpu::{Buffer, Function, Launcher, Read, Result, Write, launch};
///
/// struct Kernels {
///     launcher: Launcher,
///     relu: Function<(Read, Write, usize)>,
/// }
///
/// fn relu(on: &Kernels, z: &Buffer, a: &mut Buffer, elements: usize) -> Result<()> {
///     launch!(on.relu, line(elements), flops[elements],
///         read z[elements], write a[elements], elements)
/// }
/// ```
///
/// `on` is a variable with a [`Launcher`] in its field `launcher`, and a [`Function`] in the named field. Then follow
/// the shape of the grid; the floating-point operations; and the kernel's arguments in the kernel's order, each a
/// variable. A buffer is marked as read (`read`), written (`write`), or both (`update`) by the kernel. The number of
/// its elements follows in brackets, as a product of lengths, each a `usize` or a `u32`. With `cooperative` before the
/// function, the launch is cooperative: all blocks are on the device at once.
///
/// The compiler checks the types of the arguments: the same launch with `elements` as `u32` is an error.
///
/// ```compile_fail,E0308
/// # use gpu::launch::line;
/// # use gpu::{Buffer, Function, Launcher, Read, Result, Write, launch};
/// # struct Kernels {
/// #     launcher: Launcher,
/// #     relu: Function<(Read, Write, usize)>,
/// # }
/// fn relu(on: &Kernels, z: &Buffer, a: &mut Buffer, elements: u32) -> Result<()> {
///     launch!(on.relu, line(elements as usize), flops[elements],
///         read z[elements], write a[elements], elements)
/// }
/// ```
///
/// At run time, the statement multiplies the lengths and checks that every buffer is large enough; a product that
/// overflows counts as larger than any buffer. A profile records the bytes of all declared elements. If a kernel also
/// reaches buffers through a table of addresses, which aren't arguments, `bytes[…]` after the operations replaces that
/// number.
///
/// # Errors
/// [`GpuError::Shape`](crate::GpuError::Shape) for the first buffer that is too small,
/// [`GpuError::NoBatch`](crate::GpuError::NoBatch) if the grid is empty; the driver's error.
#[macro_export]
macro_rules! launch {
    (cooperative $($declared:tt)+) => { $crate::launch!(@true $($declared)+) };
    ($on:ident.$($declared:tt)+) => { $crate::launch!(@false $on.$($declared)+) };
    (@$cooperative:literal $on:ident.$function:ident $(as $name:expr)?, $shape:expr,
     flops[$($flops:tt)+] $(bytes[$($bytes:tt)+])?,
     $($what:ident $($buffer:ident[$($length:tt)+])?),+ $(,)?) => {{
        $on.$function.takes(|| ($($crate::launch!(@type $what $($buffer)?),)+));
        let launch =
            $crate::Launch::new(&$on.launcher, &$on.$function, $crate::launch!(@size $($flops)+))
                $(.named($name))?;
        $(let launch = $crate::launch!(@argument launch $what $($buffer[$($length)+])?);)+
        $(let launch = launch.bytes($crate::launch!(@size $($bytes)+));)?
        launch.launch(|| $shape, $cooperative)
    }};
    (@type read $buffer:ident) => { $crate::Read };
    (@type $what:ident $buffer:ident) => { $crate::Write };
    (@type $value:ident) => { $value };
    (@argument $launch:ident $what:ident $buffer:ident[$($length:tt)+]) => {
        $launch.$what(stringify!($buffer), $buffer, $crate::launch!(@size $($length)+))
    };
    (@argument $launch:ident $value:ident) => { $launch.value(&$value) };
    (@size $first:tt $(* $length:tt)*) => {
        $crate::size([$crate::launch!(@length $first) $(, $crate::launch!(@length $length))*])
    };
    (@length $length:literal) => { $length };
    (@length $length:tt) => { $crate::length($length) };
}

/// Declares a struct of loaded kernels, and a method for each kernel that launches it:
///
/// ```
/// use gpu::kernels;
/// use gpu::launch::line;
///
/// kernels! {
///     /// The kernels of an activation function.
///     pub struct Activation(on) {}
///
///     /// `a = max(z, 0)`, element by element.
///     relu = "relu"(read z[elements], write a[elements], elements: usize)
///         in line(elements), flops[elements];
/// }
/// ```
///
/// A method's name is followed by the kernel's name in its file; the kernel's parameters in the kernel's order; the
/// shape of the grid; and the floating-point operations. Buffers are declared as in [`launch!`](crate::launch!), and
/// have elements of type `f32`; a buffer that the kernel only reads may have another type: `read rows[m]: u64`. Other
/// parameters have the type of the kernel's parameter. The methods' parameters are the kernel's: `&Buffer` or `&View`
/// for a buffer that the kernel only reads, `&mut Buffer` for one that it writes, and numbers.
///
/// The struct has the field `launcher`, the fields in its braces, and the loaded kernels. The shape of a grid may use
/// the struct by the name in parentheses (here `on`). The function `load` takes the launcher, the fields, and a
/// function that finds a kernel by its name. It is unsafe, because nothing checks that a kernel has the declared
/// parameters and stays within the declared elements.
#[macro_export]
macro_rules! kernels {
    ($(#[$about:meta])* $visibility:vis struct $Kernels:ident($on:ident) {
        $($(#[$field_about:meta])* $field:ident: $Field:ty,)*
     }
     $($(#[$method_about:meta])* $method:ident = $kernel:literal(
        $($what:ident $($buffer:ident[$($length:tt)+])? $(: $Number:ty)?),+
     ) in $shape:expr, flops[$($flops:tt)+];)+) => {
        $(#[$about])*
        #[derive(Clone)]
        $visibility struct $Kernels {
            /// Launches the kernels.
            $visibility launcher: $crate::Launcher,
            $($(#[$field_about])* $field: $Field,)*
            $($method: $crate::Function<(
                $($crate::kernels!(@parameter $what $($buffer)? $($Number)?),)+
            )>,)+
        }

        impl $Kernels {
            /// Loads the kernels that `find` returns.
            ///
            /// # Safety
            /// The kernels have the declared parameters, and stay within the declared elements.
            unsafe fn load(
                launcher: $crate::Launcher,
                $($field: $Field,)*
                find: impl Fn(&'static str) -> $crate::Result<$crate::CudaFunction>,
            ) -> $crate::Result<Self> {
                Ok(Self {
                    $($method: {
                        let (kernel, name) = (find($kernel)?, $kernel);
                        // SAFETY: as the caller promises.
                        unsafe { launcher.profiled_function(kernel, name) }
                    },)+
                    $($field,)*
                    launcher,
                })
            }

            $($(#[$method_about])*
            #[allow(clippy::too_many_arguments, reason = "a kernel's parameters")]
            $visibility fn $method(
                &self,
                $($crate::kernels!(@name $what $($buffer)?):
                    $crate::kernels!(@argument $what $($buffer)? $($Number)?)),+
            ) -> $crate::Result<()> {
                let $on = self;
                $($($crate::kernels!(@view $what $buffer);)?)+
                $crate::launch!($on.$method, $shape, flops[$($flops)+],
                    $($what $($buffer[$($length)+])?),+)
            })+
        }
    };
    (@parameter read $buffer:ident $($Element:ty)?) => { $crate::Read };
    (@parameter $access:ident $buffer:ident) => { $crate::Write };
    (@parameter $number:ident $Number:ty) => { $Number };
    (@name $access:ident $buffer:ident) => { $buffer };
    (@name $number:ident) => { $number };
    (@argument read $buffer:ident $($Element:ty)?) => { &impl $crate::AsView$(<$Element>)? };
    (@argument $access:ident $buffer:ident) => { &mut $crate::Buffer };
    (@argument $number:ident $Number:ty) => { $Number };
    (@view read $buffer:ident) => { let $buffer = &$crate::AsView::view($buffer); };
    (@view $access:ident $buffer:ident) => {};
}

#[cfg(test)]
mod tests {
    use cudarc::driver::CudaStream;

    use super::*;
    use crate::launch::line;
    use crate::memory::{buffer, zeros};
    use crate::{Choice, Gpu, Profiler, size};

    /// The kernel `sum_batch` of the folder `kernels`, which sums columns.
    struct Kernels {
        launcher: Launcher,
        sum_batch: Function<(Read, Write, usize, usize)>,
    }

    fn kernels() -> Kernels {
        let gpu = Gpu::open(Choice::Emulated).unwrap();
        let launcher = Launcher::new(&gpu, &Profiler::off());
        // SAFETY: these types are those of the kernel's parameters, and the launches below declare all its accesses.
        let sum_batch =
            unsafe { launcher.profiled_function(gpu.kernel("sum_batch").unwrap(), "sum_batch") };
        Kernels { launcher, sum_batch }
    }

    fn sum(on: &Kernels, (rows, n): (usize, usize), dz: &crate::Buffer) -> Result<Vec<f32>> {
        let mut held = buffer(&on.launcher.stream, 4)?;
        let db = &mut held;
        launch!(on.sum_batch, line(n), flops[rows * n], read dz[rows * n], write db[n], rows, n)?;
        on.launcher.read(&held.slice(..n), n)
    }

    fn ones(stream: &std::sync::Arc<CudaStream>, elements: usize) -> crate::Buffer {
        stream.clone_htod(&vec![1.0; elements]).unwrap()
    }

    #[test]
    fn a_launch_checks_the_declared_sizes() {
        let on = kernels();
        let dz = ones(&on.launcher.stream, 12);
        assert_eq!(sum(&on, (4, 3), &dz).unwrap(), [4.0; 3]);
        for (lengths, said) in [
            ((5, 3), "sum_batch: dz holds 12 elements, and its shape needs 15"),
            ((2, 5), "sum_batch: db holds 4 elements, and its shape needs 5"),
            (
                (1 << 61, 8),
                "sum_batch: dz holds 12 elements, and its shape needs more than can be counted",
            ),
            (
                (4, 0),
                "sum_batch: no batch is loaded; load one first, or a smaller one where that failed",
            ),
        ] {
            assert_eq!(sum(&on, lengths, &dz).unwrap_err().to_string(), said, "{lengths:?}");
        }
    }

    #[test]
    fn work_is_counted_from_the_declared_sizes() {
        let on = kernels();
        let stream = &on.launcher.stream;
        let (a, mut b) = (zeros(stream, 6).unwrap(), zeros(stream, 6).unwrap());
        let wide = stream.alloc_zeros::<u64>(3).unwrap();
        let launch = || Launch::new(&on.launcher, &on.sum_batch, size([7]));
        let counted =
            |launch: Launch<'_>| launch.work.map(|work| (work.bytes, work.flops)).unwrap();
        let six = size([2, 3]);
        assert_eq!(counted(launch().read("a", &a, six).write("b", &mut b, six)), (48, 7));
        assert_eq!(counted(launch().update("b", &mut b, six)), (48, 7));
        assert_eq!(counted(launch().read("wide", &wide, size([3]))), (24, 7));
        assert_eq!(counted(launch().read("a", &a, six).bytes(size([5]))), (5, 7));
        // A null pointer has no elements, and its size isn't checked.
        assert_eq!(counted(launch().write("b", None::<&mut crate::Buffer>, six)), (0, 7));
    }
}
