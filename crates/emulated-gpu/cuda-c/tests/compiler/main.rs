//! Tests of the compiler through its public interface.

mod accepted;
mod bessel;
mod contraction;
mod corpus;
mod cudarc;
mod fp8;
mod fragments;
mod groups;
mod halves;
mod inline;
mod language;
mod limits;
mod loops;
mod mathematics;
mod messages;
mod names;
mod numbers;
mod odd;
mod recursion;
mod templates;

use emulated_gpu_test_support::{kernel, reference};

/// Functions `bits` that hash a value to 32 bits. All NaNs have the same hash.
const BITS: &str = "
    __device__ unsigned bits(bool x) { return x ? 1u : 0u; }
    __device__ unsigned bits(signed char x) { return (unsigned)x; }
    __device__ unsigned bits(unsigned char x) { return x; }
    __device__ unsigned bits(short x) { return (unsigned)x; }
    __device__ unsigned bits(unsigned short x) { return x; }
    __device__ unsigned bits(int x) { return (unsigned)x; }
    __device__ unsigned bits(unsigned x) { return x; }
    __device__ unsigned bits(long long x) { return (unsigned)(x >> 32) * 7u + (unsigned)x; }
    __device__ unsigned bits(unsigned long long x) { return (unsigned)(x >> 32) * 7u + (unsigned)x; }
    __device__ unsigned bits(float x) { return x != x ? 7u : __float_as_uint(x); }
    __device__ unsigned bits(double x) { return x != x ? 7u : bits(__double_as_longlong(x)); }
";
