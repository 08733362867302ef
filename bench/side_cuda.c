/* SPDX-License-Identifier: Apache-2.0 */
/* A GPU as a side: events, graphs, and the kernels of cuda_kernels.cu. */
#include "side.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_kernels.h"

/* With a failed call of CUDA itself nothing that follows means anything. */
#define CUDA(expression)                                                               \
    do {                                                                               \
        cudaError_t cuda_status = (expression);                                        \
        if (cuda_status != cudaSuccess) {                                              \
            fprintf(stderr, "%s: %s\n", #expression, cudaGetErrorString(cuda_status)); \
            exit(1);                                                                   \
        }                                                                              \
    } while (0)

/* Enough for the rate over a small table to be steady; and no more than a batch has. */
#define ACCESSES_MIN ((uint64_t)16 << 20)
#define ACCESSES_MAX ((uint64_t)100000000)

typedef struct state {
    cudaEvent_t before, after;
    cudaEvent_t marks[BENCH_MARKS]; /* created when they are first used */
    uint64_t *result;               /* device */
} state;

static state *state_of(const bench_side *side)
{
    return side->private_to_it;
}

static void *allocate(uint64_t bytes)
{
    void *memory = NULL;
    CUDA(cudaMalloc(&memory, bytes));
    return memory;
}

static uint64_t *zero_result(bench_side *side)
{
    CUDA(cudaMemsetAsync(state_of(side)->result, 0, 8, side->stream));
    return state_of(side)->result;
}

static uint64_t read_result(bench_side *side)
{
    uint64_t result = 0;
    CUDA(cudaGetLastError());
    CUDA(cudaMemcpyAsync(&result, state_of(side)->result, 8, cudaMemcpyDeviceToHost, side->stream));
    CUDA(cudaStreamSynchronize(side->stream));
    return result;
}

static void make(bench_side *side, const bench_keys *keys, void *keys_out, void *values,
                 uint32_t value_bytes, uint64_t count)
{
    bench_cuda_make(keys, keys_out, values, value_bytes, count, side->stream);
    CUDA(cudaGetLastError());
}

static uint64_t wrong(bench_side *side, const bench_keys *keys, const void *answers,
                      uint32_t value_bytes, uint64_t missing, uint64_t count)
{
    bench_cuda_wrong(keys, answers, value_bytes, missing, count, zero_result(side), side->stream);
    return read_result(side);
}

static uint64_t wrong_pairs(bench_side *side, const void *keys, uint32_t key_bytes,
                            const void *values, uint32_t value_bytes, uint64_t count)
{
    bench_cuda_wrong_pairs(keys, key_bytes, values, value_bytes, count, zero_result(side),
                           side->stream);
    return read_result(side);
}

static uint64_t wrong_matches(bench_side *side, const bench_keys *keys, uint64_t count,
                              const void *indices, const void *values, uint32_t value_bytes,
                              uint64_t matches)
{
    bench_cuda_wrong_matches(keys, count, indices, values, value_bytes, matches, zero_result(side),
                             side->stream);
    return read_result(side);
}

static uint64_t sum(bench_side *side, const void *array, uint32_t bytes, const uint8_t *flags,
                    uint64_t high, uint64_t count)
{
    bench_cuda_sum(array, bytes, flags, high, count, zero_result(side), side->stream);
    return read_result(side);
}

static void flag(bench_side *side, uint8_t *flags, double share, uint64_t count)
{
    bench_cuda_flag(flags, share, count, side->stream);
    CUDA(cudaGetLastError());
}

static uint64_t distinct(bench_side *side, const bench_keys *keys, uint64_t count)
{
    uint8_t *seen = allocate(keys->range);
    CUDA(cudaMemsetAsync(seen, 0, keys->range, side->stream));
    bench_cuda_mark(keys, count, seen, side->stream);
    uint64_t result = sum(side, seen, 1, NULL, UINT64_MAX, keys->range);
    CUDA(cudaFree(seen));
    return result;
}

static void start(bench_side *side)
{
    CUDA(cudaStreamSynchronize(side->stream));
    CUDA(cudaEventRecord(state_of(side)->before, side->stream));
}

static double stop(bench_side *side)
{
    float milliseconds;
    CUDA(cudaEventRecord(state_of(side)->after, side->stream));
    CUDA(cudaEventSynchronize(state_of(side)->after));
    CUDA(cudaEventElapsedTime(&milliseconds, state_of(side)->before, state_of(side)->after));
    return (double)milliseconds * 1e-3;
}

static void mark(bench_side *side, uint32_t number)
{
    cudaEvent_t *event = &state_of(side)->marks[number];
    if (*event == NULL) {
        CUDA(cudaEventCreate(event));
    }
    CUDA(cudaEventRecord(*event, side->stream));
}

static double between(bench_side *side, uint32_t from, uint32_t to)
{
    const state *state = state_of(side);
    float milliseconds;
    CUDA(cudaEventSynchronize(state->marks[to]));
    CUDA(cudaEventElapsedTime(&milliseconds, state->marks[from], state->marks[to]));
    return (double)milliseconds * 1e-3;
}

/* ---- limits --------------------------------------------------------------------------------- */

struct bench_limits {
    uint64_t bytes, accesses;
    void *table;
    uint64_t *keys, *out;
};

static void limits_close(bench_side *side, bench_limits *limits)
{
    (void)side;
    CUDA(cudaFree(limits->table));
    CUDA(cudaFree(limits->keys));
    CUDA(cudaFree(limits->out));
    free(limits);
}

static bench_limits *limits_open(bench_side *side, uint64_t bytes)
{
    bench_limits *limits = calloc(1, sizeof *limits);
    if (limits == NULL) {
        return NULL;
    }
    limits->bytes = (bytes + 63) / 64 * 64;
    limits->accesses = limits->bytes / 16;
    limits->accesses = limits->accesses < ACCESSES_MIN ? ACCESSES_MIN : limits->accesses;
    limits->accesses = limits->accesses > ACCESSES_MAX ? ACCESSES_MAX : limits->accesses;
    if (cudaMalloc(&limits->table, limits->bytes) != cudaSuccess ||
        cudaMalloc((void **)&limits->keys, limits->accesses * 8) != cudaSuccess ||
        cudaMalloc((void **)&limits->out, limits->accesses * 8) != cudaSuccess) {
        cudaGetLastError();
        limits_close(side, limits);
        return NULL;
    }
    bench_keys keys = {BENCH_IN_ORDER, 8, 0, limits->accesses, 0, 0};
    make(side, &keys, limits->keys, NULL, 0, limits->accesses);
    CUDA(cudaMemsetAsync(limits->table, 1, limits->bytes, side->stream));
    return limits;
}

static double limits_pass(bench_side *side, bench_limits *limits, int which)
{
    double amount = which == BENCH_COPY ? (double)limits->bytes : (double)limits->accesses;
    if (which == BENCH_UPDATE) {
        CUDA(cudaMemsetAsync(limits->table, 0, limits->bytes, side->stream));
    }
    start(side);
    switch (which) {
    case BENCH_COPY:
        bench_cuda_copy(limits->table, limits->bytes, side->stream);
        break;
    case BENCH_READ:
        bench_cuda_read(limits->table, limits->bytes, limits->keys, limits->out, limits->accesses,
                        side->stream);
        break;
    default:
        bench_cuda_swap(limits->table, limits->bytes, limits->keys, limits->accesses, side->stream);
        break;
    }
    CUDA(cudaGetLastError());
    return amount / stop(side);
}

/* ---- graphs --------------------------------------------------------------------------------- */

static void capture(bench_side *side)
{
    CUDA(cudaStreamBeginCapture(side->stream, cudaStreamCaptureModeGlobal));
}

static void *captured(bench_side *side)
{
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    CUDA(cudaStreamEndCapture(side->stream, &graph));
    CUDA(cudaGraphInstantiateWithFlags(&executable, graph, 0));
    CUDA(cudaGraphDestroy(graph));
    return executable;
}

static void replay(bench_side *side, void *graph)
{
    CUDA(cudaGraphLaunch(graph, side->stream));
}

static void drop(bench_side *side, void *graph)
{
    CUDA(cudaStreamSynchronize(side->stream));
    CUDA(cudaGraphExecDestroy(graph));
}

/* ---- kernels of the suite's own -------------------------------------------------------------- */

static void naive(bench_side *side, int per_warp, const void *items, const uint8_t *flags,
                  uint64_t count, void *out, uint64_t *needed)
{
    CUDA(cudaMemsetAsync(needed, 0, sizeof *needed, side->stream));
    bench_cuda_naive(per_warp, items, flags, count, out, needed, side->stream);
    CUDA(cudaGetLastError());
}

static nacre_status view_find(bench_side *side, nacre_map *map, const void *keys, uint64_t count,
                              void *values_out, nacre_error *error)
{
    return bench_cuda_view_find(map, keys, count, values_out, error, side->stream);
}

static nacre_status view_insert(bench_side *side, nacre_map *map, const void *keys,
                                const void *values, uint64_t count, nacre_error *error)
{
    return bench_cuda_view_insert(map, keys, values, count, error, side->stream);
}

static void close_side(bench_side *side)
{
    state *state = state_of(side);
    CUDA(cudaEventDestroy(state->before));
    CUDA(cudaEventDestroy(state->after));
    for (int i = 0; i < BENCH_MARKS && state->marks[i] != NULL; i++) {
        CUDA(cudaEventDestroy(state->marks[i]));
    }
    CUDA(cudaFree(state->result));
    nacre_stream_destroy(side->device, side->stream, NULL);
    nacre_device_close(side->device);
    free(state);
}

int bench_side_cuda(bench_side *side, nacre_error *error)
{
    nacre_device_config config;
    *side = (bench_side){.name = "cuda",
                         .close = close_side,
                         .make = make,
                         .wrong = wrong,
                         .wrong_pairs = wrong_pairs,
                         .wrong_matches = wrong_matches,
                         .sum = sum,
                         .flag = flag,
                         .distinct = distinct,
                         .start = start,
                         .stop = stop,
                         .mark = mark,
                         .between = between,
                         .limits_open = limits_open,
                         .limits_pass = limits_pass,
                         .limits_close = limits_close,
                         .capture = capture,
                         .captured = captured,
                         .replay = replay,
                         .drop = drop,
                         .naive = naive,
                         .view_find = view_find,
                         .view_insert = view_insert};
    nacre_device_config_init(&config, sizeof config);
    config.backend = NACRE_BACKEND_CUDA;
    config.error = error;
    if (nacre_device_open(&config, &side->device) != NACRE_OK ||
        nacre_stream_create(side->device, &side->stream, error) != NACRE_OK) {
        return -1;
    }
    state *state = side->private_to_it = calloc(1, sizeof *state);
    if (state == NULL) {
        return -1;
    }
    CUDA(cudaEventCreate(&state->before));
    CUDA(cudaEventCreate(&state->after));
    state->result = allocate(8);

    char text[256];
    int driver = 0, runtime = 0;
    size_t free_bytes, total_bytes;
    nacre_device_describe(side->device, NULL, NULL, text, sizeof text);
    CUDA(cudaDriverGetVersion(&driver));
    CUDA(cudaRuntimeGetVersion(&runtime));
    CUDA(cudaMemGetInfo(&free_bytes, &total_bytes));
    side->memory_bytes = free_bytes;
    snprintf(side->about, sizeof side->about, "%s; driver API %d.%d, runtime %d.%d", text,
             driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    return 0;
}
