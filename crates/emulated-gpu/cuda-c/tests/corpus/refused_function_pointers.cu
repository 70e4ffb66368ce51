// refused: pointers to functions aren't supported

typedef float (*Function)(float);
__device__ float half_of(float x) { return x * 0.5f; }
__device__ float third_of(float x) { return x * 0.25f; }

extern "C" __global__ void function_pointers(float *x) {
    Function f = threadIdx.x & 1 ? half_of : third_of;
    x[threadIdx.x] = f(x[threadIdx.x]);
}

