// w -= learning_rate · dw, element by element; w is a weight matrix or a bias vector.
// One thread for each of the elements.
extern "C" __global__ void update(float *w, const float *dw, float learning_rate, size_t elements)
{
    size_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= elements)
        return;
    w[i] -= learning_rate * dw[i];
}
