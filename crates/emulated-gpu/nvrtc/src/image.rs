//! What is given in place of machine code: a fatbin that has the PTX. Drivers load one wherever they load a
//! cubin, the emulated one and NVIDIA's; whoever looks for machine code in it finds none.

pub(crate) use device_image::fatbin::of_ptx as fatbin;
