// Calls that the compiler can't inline: through pointers, tables, virtual functions; recursion.
struct Shape {
    __device__ virtual unsigned area(unsigned x) const = 0;
    __device__ virtual unsigned sides() const { return 0; }
};
struct Square : Shape {
    __device__ unsigned area(unsigned x) const override { return x * x; }
    __device__ unsigned sides() const override { return 4; }
};
struct Triangle : Shape {
    unsigned height;
    __device__ Triangle(unsigned h) : height(h) {}
    __device__ unsigned area(unsigned x) const override { return x * height / 2; }
};

__device__ __noinline__ unsigned twice(unsigned x) { return 2 * x; }
__device__ __noinline__ unsigned square(unsigned x) { return x * x; }
__device__ __noinline__ unsigned next(unsigned x) { return x + 1; }
__device__ unsigned (*const table[3])(unsigned) = {twice, square, next};

__device__ __noinline__ unsigned fibonacci(unsigned n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

__device__ __noinline__ unsigned odd(unsigned n);
__device__ __noinline__ unsigned even(unsigned n) { return n == 0 ? 1 : odd(n - 1); }
__device__ __noinline__ unsigned odd(unsigned n) { return n == 0 ? 0 : even(n - 1) ^ (n & 0x100); }

extern "C" __global__ void k(unsigned* out, const unsigned* in)
{
    unsigned t = threadIdx.x, x = in[t] % 1000;
    out += 4 * t;
    out[0] = table[x % 3](x);
    Square square_shape;
    Triangle triangle(x % 10);
    const Shape* shapes[2] = {&square_shape, &triangle};
    const Shape* shape = shapes[x & 1];
    out[1] = shape->area(x) + 1000000 * shape->sides();
    out[2] = fibonacci(x % 12);
    out[3] = even(x % 20);
}
