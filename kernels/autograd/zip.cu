// c = f(a, b), element by element. One thread for each of the elements.
#define ZIP(name, result)                                                                          \
    extern "C" __global__ void name(const float *left, const float *right, float *out,             \
                                    size_t elements)                                               \
    {                                                                                              \
        size_t i = blockIdx.x * blockDim.x + threadIdx.x;                                          \
        if (i >= elements)                                                                         \
            return;                                                                                \
        float a = left[i], b = right[i];                                                           \
        out[i] = result;                                                                           \
    }

ZIP(add, a + b)
ZIP(sub, a - b)
ZIP(mul, a *b)
ZIP(div_, a / b)
ZIP(equal, a == b ? 1.0f : 0.0f)
// The gradients of tanh and of the sigmoid, from dy and the function's result y.
ZIP(tanh_backward, a * (1.0f - b * b))
ZIP(sigmoid_backward, a * (b * (1.0f - b)))
