// Sorting, searching, graphs and queues.

// launch bitonic <<<1, 64>>> s32[64]=drawn
extern "C" __global__ void bitonic(int *data) {
    __shared__ int s[64];
    unsigned t = threadIdx.x;
    s[t] = data[t];
    __syncthreads();
    for (unsigned k = 2; k <= 64; k *= 2)
        for (unsigned j = k / 2; j > 0; j /= 2) {
            unsigned other = t ^ j;
            if (other > t) {
                bool up = (t & k) == 0;
                if ((s[t] > s[other]) == up) {
                    int swap = s[t];
                    s[t] = s[other];
                    s[other] = swap;
                }
            }
            __syncthreads();
        }
    data[t] = s[t];
}

// launch odd_even <<<1, 32>>> f32[64]=drawn
extern "C" __global__ void odd_even(float *x) {
    for (int phase = 0; phase < 64; ++phase) {
        int i = 2 * threadIdx.x + (phase & 1);
        if (i + 1 < 64 && x[i] > x[i + 1]) {
            float t = x[i];
            x[i] = x[i + 1];
            x[i + 1] = t;
        }
        __syncthreads();
    }
}

// launch rank_sort <<<1, 48>>> s32[48]=drawn s32[48]=zero
extern "C" __global__ void rank_sort(const int *in, int *out) {
    int rank = 0, mine = in[threadIdx.x];
    for (int i = 0; i < blockDim.x; i++)
        if (in[i] < mine || (in[i] == mine && i < threadIdx.x)) rank++;
    out[rank] = mine;
}

__device__ void swap(int &a, int &b) {
    int t = a;
    a = b;
    b = t;
}

// launch insertion <<<1, 4>>> s32[40]=drawn
extern "C" __global__ void insertion(int *x) {
    int *a = &x[10 * threadIdx.x];
    for (int i = 1; i < 10; i++)
        for (int j = i; j > 0 && a[j - 1] > a[j]; --j) swap(a[j - 1], a[j]);
}

// launch heap <<<1, 3>>> s32[48]=drawn
extern "C" __global__ void heap(int *x) {
    int *a = x + 16 * threadIdx.x, n = 16;
    for (int start = n / 2 - 1, end = n; end > 1;) {
        if (start >= 0) {
            // Still building.
        } else {
            --end;
            swap(a[end], a[0]);
        }
        int root = start >= 0 ? start-- : 0;
        while (2 * root + 1 < end) {
            int child = 2 * root + 1;
            if (child + 1 < end && a[child] < a[child + 1]) child++;
            if (a[root] >= a[child]) break;
            swap(a[root], a[child]);
            root = child;
        }
    }
}

// launch radix_pass <<<1, 64>>> u32[64]=drawn u32[64]=zero s32=0
extern "C" __global__ void radix_pass(const unsigned *in, unsigned *out, int bit) {
    __shared__ unsigned ones[64];
    unsigned t = threadIdx.x, b = in[t] >> bit & 1;
    ones[t] = b;
    __syncthreads();
    for (int d = 1; d < 64; d *= 2) {
        unsigned v = t >= d ? ones[t - d] : 0;
        __syncthreads();
        ones[t] += v;
        __syncthreads();
    }
    unsigned total = ones[63], before = ones[t] - b;
    out[b ? 64 - total + before : t - before] = in[t];
}

// launch binary_search <<<1, 64>>> s32[64]=iota s32[64]=drawn s32[64]=zero
extern "C" __global__ void binary_search(const int *sorted, const int *wanted, int *at) {
    int low = 0, high = 64, key = wanted[threadIdx.x];
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (sorted[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    at[threadIdx.x] = low;
}

// launch merge <<<1, 1>>> s32[16]=iota s32[16]=5 s32[32]=zero
extern "C" __global__ void merge(const int *a, const int *b, int *c) {
    int i = 0, j = 0, k = 0;
    while (i < 16 && j < 16) c[k++] = a[i] <= b[j] ? a[i++] : b[j++];
    while (i < 16) c[k++] = a[i++];
    while (j < 16) c[k++] = b[j++];
}

// launch quicksort <<<1, 2>>> s32[64]=drawn
extern "C" __global__ void quicksort(int *x) {
    int *a = x + 32 * threadIdx.x, stack[32], top = 0;
    stack[top++] = 0;
    stack[top++] = 31;
    while (top) {
        int high = stack[--top], low = stack[--top];
        if (low >= high) continue;
        int pivot = a[high], i = low;
        for (int j = low; j < high; j++)
            if (a[j] < pivot) swap(a[i++], a[j]);
        swap(a[i], a[high]);
        stack[top++] = low, stack[top++] = i - 1;
        stack[top++] = i + 1, stack[top++] = high;
    }
}

// launch bfs_level <<<1, 8>>> s32[9]=iota s32[16]=iota s32[8]=-1 s32=0
extern "C" __global__ void bfs_level(const int *offsets, const int *edges, int *level, int now) {
    int v = threadIdx.x;
    if (v == 0) level[0] = 0;
    __syncthreads();
    for (int step = now; step < 8; step++) {
        if (level[v] == step)
            for (int e = offsets[v]; e < offsets[v + 1]; e++) {
                int to = (edges[e] + 1) % 8;
                if (level[to] == -1) level[to] = step + 1;
            }
        __syncthreads();
    }
}

// launch floyd <<<1, (6,6)>>> s32[36]=drawn
extern "C" __global__ void floyd(int *d) {
    int i = threadIdx.y, j = threadIdx.x;
    d[i * 6 + j] = i == j ? 0 : abs(d[i * 6 + j]) + 1;
    __syncthreads();
    for (int k = 0; k < 6; ++k) {
        int through = d[i * 6 + k] + d[k * 6 + j];
        __syncthreads();
        if (through < d[i * 6 + j]) d[i * 6 + j] = through;
        __syncthreads();
    }
}

// launch union_find <<<1, 1>>> s32[16]=iota s32[16]=drawn
extern "C" __global__ void union_find(int *parent, const int *edges) {
    for (int e = 0; e < 8; e++) {
        int a = (edges[2 * e] & 15), b = (edges[2 * e + 1] & 15);
        while (parent[a] != a) a = parent[a] = parent[parent[a]];
        while (parent[b] != b) b = parent[b] = parent[parent[b]];
        parent[a > b ? a : b] = a > b ? b : a;
    }
}

// launch lcs <<<1, 1>>> u8[16]=drawn u8[16]=drawn s32[1]=zero
extern "C" __global__ void lcs(const unsigned char *a, const unsigned char *b, int *out) {
    int table[17][17];
    for (int i = 0; i <= 16; i++)
        for (int j = 0; j <= 16; j++)
            table[i][j] = i == 0 || j == 0 ? 0
                          : (a[i - 1] & 3) == (b[j - 1] & 3) ? table[i - 1][j - 1] + 1
                                                              : max(table[i - 1][j], table[i][j - 1]);
    *out = table[16][16];
}

// launch knapsack <<<1, 32>>> s32[8]=drawn s32[32]=zero
extern "C" __global__ void knapsack(const int *value, int *best) {
    __shared__ int now[32];
    now[threadIdx.x] = 0;
    for (int item = 0; item < 8; item++) {
        int weight = item + 1, v = abs(value[item]), c = threadIdx.x;
        __syncthreads();
        int with = c >= weight ? now[c - weight] + v : 0;
        __syncthreads();
        now[c] = max(now[c], with);
    }
    best[threadIdx.x] = now[threadIdx.x];
}

// launch queens <<<1, 8>>> s32[8]=zero
extern "C" __global__ void queens(int *solutions) {
    int column[8], row = 1, found = 0;
    column[0] = threadIdx.x;
    column[1] = -1;
    while (row >= 1) {
        int c = ++column[row];
        if (c == 8) {
            row--;
            continue;
        }
        bool ok = true;
        for (int r = 0; r < row && ok; r++) ok = column[r] != c && abs(column[r] - c) != row - r;
        if (!ok) continue;
        if (row == 7)
            found++;
        else
            column[++row] = -1;
    }
    solutions[threadIdx.x] = found;
}

// launch find_text <<<1, 60>>> u8[64]=drawn u8[4]=drawn s32[1]=1000
extern "C" __global__ void find_text(const char *text, const char *pattern, int *at) {
    int k = 0;
    while (k < 4 && text[threadIdx.x + k] == pattern[k]) ++k;
    if (k == 4) atomicMin(at, threadIdx.x);
}

// launch word_count <<<1, 32>>> u8[512]=drawn s32[32]=zero
extern "C" __global__ void word_count(const char *text, int *words) {
    bool inside = false;
    int n = 0;
    for (int i = 0; i < 16; i++) {
        char c = text[16 * threadIdx.x + i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (letter && !inside) n++;
        inside = letter;
    }
    words[threadIdx.x] = n;
}

// launch caesar <<<1, 64>>> u8[64]=drawn s32=3
extern "C" __global__ void caesar(unsigned char *text, int by) {
    unsigned char c = text[threadIdx.x];
    if ('a' <= c && c <= 'z')
        c = 'a' + (c - 'a' + by) % 26;
    else if ('A' <= c && c <= 'Z')
        c = 'A' + (c - 'A' + by) % 26;
    text[threadIdx.x] = c;
}

// launch to_decimal <<<1, 8>>> s32[8]=drawn u8[96]=zero
extern "C" __global__ void to_decimal(const int *x, char *text) {
    char *out = text + 12 * threadIdx.x, digits[12];
    int v = x[threadIdx.x], n = 0;
    if (v < 0) *out++ = '-', v = -v;
    do digits[n++] = "0123456789"[v % 10];
    while (v /= 10);
    while (n) *out++ = digits[--n];
    *out = '\0';
}
