/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CUDA map against the limits of the memory, measured in the same run: copy bandwidth C, random
 * 32-byte reads G and random 64-bit compare-and-swaps A over a table of the same size. Keys are an
 * invertible mix of a counter; lookups come in an order that has nothing to do with slots or with
 * insertion. Medians of CUDA-event times after a warm-up. A case whose answers are wrong ends the
 * program with 1.
 */
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include <cuda_runtime.h>

#include "nacre/nacre.h"

typedef unsigned long long u64;

static bool wrong;

#define CUDA(expression)                                                          \
    do {                                                                          \
        cudaError_t result = (expression);                                        \
        if (result != cudaSuccess) {                                              \
            fprintf(stderr, "%s: %s\n", #expression, cudaGetErrorString(result)); \
            exit(1);                                                              \
        }                                                                         \
    } while (0)

static nacre_error failure;
#define NACRE(expression)                                                          \
    do {                                                                           \
        nacre_status status = (expression);                                        \
        if (status != NACRE_OK) {                                                  \
            fprintf(stderr, "%s: %s %s\n", #expression, nacre_status_name(status), \
                    failure.message);                                              \
            exit(1);                                                               \
        }                                                                          \
    } while (0)

/* Bijections of 64 bits; the keys' differs from the library's hash. */
__device__ __forceinline__ u64 mix(u64 x)
{
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdull;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53ull;
    return x ^ x >> 33;
}

__device__ __forceinline__ u64 value_of(u64 key)
{
    return mix(key + 1);
}

#define FOR_EACH(i, n)                                                \
    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < (n); \
         i += (u64)gridDim.x * blockDim.x)

/*
 * keys[i] = key number first + (i * stride mod n): stride 1 for insertion, a large odd one for
 * lookups.
 */
__global__ void make_keys(u64 *keys, u64 *values, u64 n, u64 first, u64 stride)
{
    FOR_EACH(i, n)
    {
        u64 at = (u64)((unsigned __int128)i * stride % n);
        keys[i] = mix(first + at);
        if (values != nullptr) {
            values[i] = value_of(keys[i]);
        }
    }
}

__global__ void make_repeated(u64 *keys, u64 n, u64 distinct)
{
    FOR_EACH(i, n)
    {
        keys[i] = mix(__umul64hi(mix(i * 2 + 1), distinct));
    }
}

__global__ void count_wrong(const u64 *keys, const u64 *values, u64 n, u64 missing,
                            u64 *wrong_count)
{
    FOR_EACH(i, n)
    {
        if (values[i] != (missing ? missing : value_of(keys[i]))) {
            atomicAdd(wrong_count, 1ull);
        }
    }
}

__global__ void copy(const ulonglong2 *from, ulonglong2 *to, u64 n)
{
    FOR_EACH(i, n)
    {
        to[i] = from[i];
    }
}

__global__ void random_reads(const ulonglong2 *table, u64 buckets, const u64 *keys, u64 *out, u64 n)
{
    FOR_EACH(i, n)
    {
        const ulonglong2 *bucket = table + 2 * __umul64hi(mix(keys[i]), buckets);
        ulonglong2 a = __ldg(bucket), b = __ldg(bucket + 1);
        out[i] = a.x ^ a.y ^ b.x ^ b.y;
    }
}

__global__ void random_swaps(u64 *table, u64 slots, const u64 *keys, u64 n)
{
    FOR_EACH(i, n)
    {
        atomicCAS(table + 2 * __umul64hi(mix(keys[i]), slots), 0ull, keys[i]);
    }
}

static cudaStream_t stream;
static cudaEvent_t before, after;

static float once(const std::function<void()> &work)
{
    CUDA(cudaEventRecord(before, stream));
    work();
    CUDA(cudaEventRecord(after, stream));
    CUDA(cudaEventSynchronize(after));
    float ms;
    CUDA(cudaEventElapsedTime(&ms, before, after));
    return ms;
}

/* Median time of `rounds` rounds after one that does not count, each prepared anew. */
static float median(int rounds, const std::function<void()> &prepare,
                    const std::function<void()> &work)
{
    std::vector<float> times;
    for (int i = 0; i <= rounds; i++) {
        prepare();
        CUDA(cudaStreamSynchronize(stream));
        float ms = once(work);
        if (i > 0) {
            times.push_back(ms);
        }
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

static void nothing()
{
}

static const int threads = 256;
static unsigned grid(u64 n)
{
    return (unsigned)((n + threads - 1) / threads);
}

static nacre_device *device;
static u64 *keys, *lookups, *misses, *values, *out, *counter;
static double limit_c, limit_g, limit_a;

static void line(const char *name, double rate, double limit, const char *limit_name, double target)
{
    printf("%-44s %8.2f G/s  %5.2f of %s", name, rate, rate / limit, limit_name);
    if (target > 0) {
        printf("  target %.2f %s", target, rate / limit >= target ? "met" : "NOT MET");
    }
    printf("\n");
    fflush(stdout);
}

static nacre_map *make_map(u64 capacity, uint32_t growth, double load_max)
{
    nacre_map *map;
    nacre_map_config config;
    nacre_map_config_init(&config, sizeof config);
    config.capacity_keys = capacity;
    config.growth = growth;
    config.load_max = load_max;
    config.error = &failure;
    NACRE(nacre_map_create(device, &config, &map));
    return map;
}

static void check_values(const u64 *of_keys, u64 n, u64 missing, const char *what)
{
    u64 count;
    CUDA(cudaMemsetAsync(counter, 0, 8, stream));
    count_wrong<<<grid(n), threads, 0, stream>>>(of_keys, out, n, missing, counter);
    CUDA(cudaMemcpyAsync(&count, counter, 8, cudaMemcpyDeviceToHost, stream));
    CUDA(cudaStreamSynchronize(stream));
    if (count != 0) {
        printf("WRONG: %s: %llu of %llu\n", what, count, n);
        wrong = true;
    }
}

static void measure_limits(u64 slots, u64 n)
{
    char *table;
    CUDA(cudaMalloc(&table, slots * 16));
    CUDA(cudaMemset(table, 1, slots * 16));
    u64 vectors = slots / 2;
    float ms = median(7, nothing, [&] {
        copy<<<grid(vectors), threads, 0, stream>>>((ulonglong2 *)table,
                                                    (ulonglong2 *)table + vectors, vectors);
    });
    limit_c = 2.0 * (double)vectors * 16 / ms / 1e6;
    ms = median(5, nothing, [&] {
        random_reads<<<grid(n), threads, 0, stream>>>((ulonglong2 *)table, slots / 2, keys, out, n);
    });
    limit_g = (double)n / ms / 1e6;
    ms = median(
        5, [&] { CUDA(cudaMemsetAsync(table, 0, slots * 16, stream)); },
        [&] { random_swaps<<<grid(n), threads, 0, stream>>>((u64 *)table, slots, keys, n); });
    limit_a = (double)n / ms / 1e6;
    printf("limits over %.2f GB: C %.0f GB/s, G %.2f G/s, A %.2f G/s\n", (double)slots * 16 / 1e9,
           limit_c, limit_g, limit_a);
    CUDA(cudaFree(table));
}

static void measure_finds(nacre_map *map, u64 n, double hit_target, double miss_target,
                          const char *when)
{
    char name[96];
    nacre_options options;
    nacre_options_init(&options, sizeof options);
    u64 missing = 0x1234567;
    options.missing_value = &missing;
    options.error = &failure;
    nacre_map_statistics statistics;
    nacre_map_statistics_init(&statistics, sizeof statistics);
    NACRE(nacre_map_statistics_get(map, &statistics, &failure, stream));
    float ms =
        median(5, nothing, [&] { NACRE(nacre_map_find(map, lookups, n, out, &options, stream)); });
    check_values(lookups, n, 0, "hits");
    snprintf(name, sizeof name, "find hit %s (%.2f buckets)", when,
             statistics.probe_length_mean_hit);
    line(name, (double)n / ms / 1e6, limit_g, "G", hit_target);
    ms = median(5, nothing, [&] { NACRE(nacre_map_find(map, misses, n, out, &options, stream)); });
    check_values(misses, n, missing, "misses");
    snprintf(name, sizeof name, "find miss %s (%.2f buckets)", when,
             statistics.probe_length_mean_missing);
    line(name, (double)n / ms / 1e6, limit_g, "G", miss_target);
}

static void measure_load(u64 slots, double load, const double targets[5])
{
    u64 n = (u64)((double)slots * load);
    char name[96];
    make_keys<<<4096, threads, 0, stream>>>(keys, values, n, 0, 1);
    make_keys<<<4096, threads, 0, stream>>>(lookups, nullptr, n, 0, 6180339887498948483ull % n | 1);
    make_keys<<<4096, threads, 0, stream>>>(misses, nullptr, n, 1ull << 40, 1);
    nacre_map *map = make_map((u64)((double)slots * 0.93), NACRE_GROWTH_FIXED, 0.94);
    printf("-- load %.2f, %llu keys\n", load, n);
    float ms = median(
        3, [&] { NACRE(nacre_map_clear(map, &failure, stream)); },
        [&] { NACRE(nacre_map_insert(map, keys, values, n, nullptr, stream)); });
    snprintf(name, sizeof name, "insert reserved, load %.2f", load);
    line(name, (double)n / ms / 1e6, limit_a, "A", targets[2]);
    snprintf(name, sizeof name, "load %.2f", load);
    measure_finds(map, n, targets[0], targets[1], name);
    NACRE(nacre_map_maintain(map, &failure, stream));
    ms = median(3, nothing, [&] { NACRE(nacre_map_maintain(map, &failure, stream)); });
    printf("%-44s %8.3f ms   %5.2f of C\n", "maintain all", ms,
           (double)slots * 32 / ms / 1e6 / limit_c);
    snprintf(name, sizeof name, "maintained, load %.2f", load);
    measure_finds(map, n, targets[0], targets[1], name);
    uint64_t *needed = (uint64_t *)counter;
    ms = median(5, nothing,
                [&] { NACRE(nacre_map_retrieve(map, misses, out, n, needed, nullptr, stream)); });
    u64 size;
    CUDA(cudaMemcpy(&size, counter, 8, cudaMemcpyDeviceToHost));
    wrong |= size != n;
    double bytes = ((double)slots + (double)n) * 16;
    printf("%-44s %8.3f ms   %5.2f of C  target %.2f %s\n", "retrieve all", ms,
           bytes / ms / 1e6 / limit_c, targets[4],
           bytes / ms / 1e6 / limit_c >= targets[4] ? "met" : "NOT MET");
    ms = median(
        3,
        [&] {
            NACRE(nacre_map_clear(map, &failure, stream));
            NACRE(nacre_map_insert(map, keys, values, n, nullptr, stream));
        },
        [&] { NACRE(nacre_map_erase(map, lookups, n, nullptr, stream)); });
    snprintf(name, sizeof name, "erase all, load %.2f", load);
    line(name, (double)n / ms / 1e6, limit_a, "A", targets[3]);
    NACRE(nacre_map_check(map, &failure, stream));
    nacre_map_destroy(map);
}

static void measure_growth(u64 n, u64 batch, double target)
{
    std::vector<float> times;
    double total = 0;
    make_keys<<<4096, threads, 0, stream>>>(keys, values, n, 0, 1);
    make_keys<<<4096, threads, 0, stream>>>(lookups, nullptr, n, 0, 6180339887498948483ull % n | 1);
    make_keys<<<4096, threads, 0, stream>>>(misses, nullptr, n, 1ull << 40, 1);
    nacre_map *map = make_map(800000, NACRE_GROWTH_WAIT, 0.92);
    CUDA(cudaStreamSynchronize(stream));
    for (u64 i = 0; i < n; i += batch) {
        u64 count = std::min(batch, n - i);
        auto start = std::chrono::steady_clock::now();
        NACRE(nacre_map_insert(map, keys + i, values + i, count, nullptr, stream));
        CUDA(cudaStreamSynchronize(stream));
        std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
        times.push_back((float)(seconds.count() * 1e3));
        total += seconds.count();
    }
    std::sort(times.begin(), times.end());
    nacre_map_info info;
    nacre_map_info_init(&info, sizeof info);
    NACRE(nacre_map_info_get(map, &info, &failure));
    char name[96];
    snprintf(name, sizeof name, "grow from 1 M slots, batches of %.1f M", (double)batch / 1e6);
    line(name, (double)n / total / 1e9, limit_a, "A", target);
    printf("    median batch %.3f ms, longest %.3f ms (%.1f x), load %.2f, memory peak/now %.2f, "
           "%llu growths\n",
           times[times.size() / 2], times.back(), times.back() / times[times.size() / 2], info.load,
           (double)info.memory_peak_bytes / (double)info.memory_bytes, (u64)info.growths);
    measure_finds(map, n, 0, 0, "after growth");
    NACRE(nacre_map_check(map, &failure, stream));
    nacre_map_destroy(map);
}

/* Rounds of erasing a tenth and inserting as many new keys, maintenance included. */
static void measure_churn(u64 slots, double load, int rounds)
{
    const u64 n = (u64)((double)slots * load), tenth = n / 10;
    nacre_map *map = make_map((u64)((double)slots * 0.93), NACRE_GROWTH_FIXED, 0.94);
    make_keys<<<4096, threads, 0, stream>>>(keys, values, n, 0, 1);
    make_keys<<<4096, threads, 0, stream>>>(lookups, nullptr, n, 0, 6180339887498948483ull % n | 1);
    make_keys<<<4096, threads, 0, stream>>>(misses, nullptr, n, 1ull << 40, 1);
    NACRE(nacre_map_insert(map, keys, values, n, nullptr, stream));
    printf("-- churn, load %.2f, %d rounds\n", load, rounds);
    measure_finds(map, n, 0, 0, "before churn");
    double total = 0;
    u64 next = n;
    for (int round = 0; round < rounds; round++) {
        u64 *part = keys + (u64)(round % 10) * tenth;
        CUDA(cudaStreamSynchronize(stream));
        total += once([&] { NACRE(nacre_map_erase(map, part, tenth, nullptr, stream)); });
        make_keys<<<4096, threads, 0, stream>>>(part, values, tenth, next, 1);
        next += tenth;
        total += once([&] { NACRE(nacre_map_insert(map, part, values, tenth, nullptr, stream)); });
    }
    const double rate = (double)tenth * rounds / total / 1e6;
    printf("%-44s %8.2f G pairs/s  target 2.5 %s\n", "erase and insert a tenth", rate,
           rate >= 2.5 ? "met" : "NOT MET");
    CUDA(cudaMemcpyAsync(lookups, keys, n * 8, cudaMemcpyDeviceToDevice, stream));
    measure_finds(map, n, 0, 0, "after churn, insertion order");
    NACRE(nacre_map_check(map, &failure, stream));
    nacre_map_destroy(map);
}

static void measure_repeated(u64 n, u64 distinct, double target_rate)
{
    make_repeated<<<4096, threads, 0, stream>>>(lookups, n, distinct);
    nacre_map *map = make_map(distinct, NACRE_GROWTH_WAIT, 0.92);
    nacre_map_info info;
    nacre_map_info_init(&info, sizeof info);
    const char *const names[] = {"insert", "insert_or_assign", "find_or_insert", "insert_or_apply"};
    NACRE(nacre_map_insert_or_apply(map, lookups, nullptr, n, NACRE_REDUCTION_ADD, NACRE_TYPE_U64,
                                    nullptr, stream));
    for (int which = 0; which < 4; which++) {
        float ms = median(3, nothing, [&] {
            switch (which) {
            case 0:
                NACRE(nacre_map_insert(map, lookups, values, n, nullptr, stream));
                break;
            case 1:
                NACRE(nacre_map_insert_or_assign(map, lookups, values, n, nullptr, stream));
                break;
            case 2:
                NACRE(nacre_map_find_or_insert(map, lookups, values, n, out, nullptr, stream));
                break;
            default:
                NACRE(nacre_map_insert_or_apply(map, lookups, nullptr, n, NACRE_REDUCTION_ADD,
                                                NACRE_TYPE_U64, nullptr, stream));
                break;
            }
        });
        double rate = (double)n / ms / 1e6;
        printf("%-18s of %llu distinct keys %13.2f G/s   target %.0f G/s %s\n", names[which],
               distinct, rate, target_rate, rate >= target_rate ? "met" : "NOT MET");
    }
    NACRE(nacre_map_info_get(map, &info, &failure));
    if (info.growths != 0) {
        printf("WRONG: %llu growths for repeated keys\n", (u64)info.growths);
        wrong = true;
    }
    nacre_map_destroy(map);
}

static void measure_small(void)
{
    u64 n = 1 << 20;
    nacre_map *map = make_map(n, NACRE_GROWTH_FIXED, 0.92);
    nacre_options options;
    nacre_options_init(&options, sizeof options);
    options.outcomes = (uint8_t *)misses;
    make_keys<<<4096, threads, 0, stream>>>(keys, values, n, 0, 1);
    NACRE(nacre_map_insert(map, keys, values, n, nullptr, stream));
    const double targets[] = {2.2, 2.7, 6, 42};
    const u64 counts[] = {1, 1024, 65536, n};
    for (int c = 0; c < 4; c++) {
        cudaGraph_t graph;
        cudaGraphExec_t exec;
        CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        for (int i = 0; i < 16; i++) {
            NACRE(nacre_map_find(map, keys, counts[c], out, &options, stream));
        }
        CUDA(cudaStreamEndCapture(stream, &graph));
        CUDA(cudaGraphInstantiate(&exec, graph, 0));
        float ms = median(20, nothing, [&] { CUDA(cudaGraphLaunch(exec, stream)); });
        printf("find %7llu keys in a graph of 16 %13.2f us    target %.1f us %s\n", counts[c],
               ms * 1e3 / 16, targets[c], ms * 1e3 / 16 <= targets[c] ? "met" : "NOT MET");
        CUDA(cudaGraphExecDestroy(exec));
        CUDA(cudaGraphDestroy(graph));
    }
    CUDA(cudaStreamSynchronize(stream));
    auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 500; i++) {
        NACRE(nacre_map_find(map, keys, 1, out, nullptr, stream));
    }
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    CUDA(cudaStreamSynchronize(stream));
    printf("host time of one find call %21.2f us    target 5 us %s\n", seconds.count() * 1e6 / 500,
           seconds.count() * 1e6 / 500 <= 5 ? "met" : "NOT MET");
    nacre_map_destroy(map);
}

int main(void)
{
    nacre_device_config config;
    nacre_device_config_init(&config, sizeof config);
    config.backend = NACRE_BACKEND_CUDA;
    config.error = &failure;
    nacre_error_init(&failure, sizeof failure);
    NACRE(nacre_device_open(&config, &device));
    char text[256];
    int driver = 0, runtime = 0;
    nacre_device_describe(device, nullptr, nullptr, text, sizeof text);
    CUDA(cudaDriverGetVersion(&driver));
    CUDA(cudaRuntimeGetVersion(&runtime));
    printf("%s; driver API %d.%d, runtime %d.%d\n", text, driver / 1000, driver % 1000 / 10,
           runtime / 1000, runtime % 1000 / 10);
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA(cudaEventCreate(&before));
    CUDA(cudaEventCreate(&after));
    const u64 slots = (u64)4096 << 15, most = 128000000, n = 100000000;
    u64 **arrays[] = {&keys, &lookups, &misses, &values, &out};
    for (u64 **array : arrays) {
        CUDA(cudaMalloc(array, most * 8));
    }
    CUDA(cudaMalloc(&counter, 8));
    make_keys<<<4096, threads, 0, stream>>>(keys, values, n, 0, 1);
    measure_limits(slots, n);
    const double at_50[5] = {0.83, 0.74, 0.82, 0.75, 0.95};
    const double at_80[5] = {0.60, 0.58, 0.66, 0.62, 0.93};
    const double at_90[5] = {0.48, 0.46, 0.0, 0.0, 0.92};
    measure_load(slots, 0.5, at_50);
    measure_load(slots, 0.8, at_80);
    measure_load(slots, 0.9, at_90);
    measure_churn(slots, 0.8, 100);
    measure_growth(n, 1000000, 0.38);
    measure_growth(n, 4000000, 0.47);
    measure_growth(n, 16000000, 0.53);
    measure_growth(n, n, 0);
    measure_repeated(n, 1000000, 10);
    measure_repeated(n, 100, 4);
    measure_small();
    nacre_device_close(device);
    printf(wrong ? "answers WRONG\n" : "answers right\n");
    return wrong ? 1 : 0;
}
