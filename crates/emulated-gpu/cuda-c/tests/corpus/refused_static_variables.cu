// refused: device variables must be declared outside of functions

extern "C" __global__ void static_counter(int *x) {
    static __device__ int calls_made = 40;
    x[threadIdx.x] = atomicAdd(&calls_made, 0) + threadIdx.x;
}

