// refused: inheritance isn't supported

struct Base {
    int a;
    __device__ int twice() const { return 2 * a; }
};
struct Derived : Base {
    int b;
    __device__ int both() const { return twice() + b; }
};

extern "C" __global__ void inherited(const Derived *d, int *out) { out[threadIdx.x] = d[threadIdx.x].both(); }

