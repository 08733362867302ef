/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compaction on CUDA, all algorithms side by side, against the copy bandwidth C of the same run:
 * retrieval of a map's pairs, and arrays over kept fractions and item sizes. Bytes are those read
 * (slots, or items and flags) plus those written. The literal naive forms, an atomic on one
 * counter per element or per warp, are kernels of this program. Medians of CUDA-event times after
 * a warm-up. A case whose answer is wrong ends the program with 1.
 */
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include <cuda_runtime.h>

#include "nacre/nacre.h"

typedef unsigned long long u64;

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

static const int threads = 256;
static const char *const names[] = {
    "auto",    "global atomic", "block atomic", "warp-aggregated", "tile 4", "tile 8",
    "tile 16", "tile 32",       "block scan",   "device select",   "stable"};
static bool wrong;
static cudaStream_t stream;
static cudaEvent_t before, after;
static nacre_device *device;
static double limit_c;

__device__ __forceinline__ u64 mix(u64 x)
{
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdull;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53ull;
    return x ^ x >> 33;
}

#define FOR_EACH(i, n)                                                \
    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < (n); \
         i += (u64)gridDim.x * blockDim.x)

__global__ void make_pairs(u64 *keys, u64 *values, u64 n)
{
    FOR_EACH(i, n)
    {
        keys[i] = mix(i + 1);
        values[i] = mix(keys[i] + 1);
    }
}

/* Random words, and a flag for a share of the items in 2^32. */
__global__ void make_items(u64 *words, uint8_t *flags, u64 n, u64 share)
{
    FOR_EACH(i, n)
    {
        words[i] = mix(i + 99);
        flags[i] = (mix(i + 7) >> 32) < share;
    }
}

/* Sums that do not depend on the order. */
__global__ void add_up(const uint8_t *items, const uint8_t *flags, u64 n, unsigned bytes, u64 *sum)
{
    u64 mine = 0;
    FOR_EACH(i, n)
    {
        if (flags == nullptr || flags[i]) {
            u64 word = 0;
            for (unsigned b = 0; b < bytes && b < 8; b++) {
                word |= (u64)items[i * bytes + b] << 8 * b;
            }
            mine += mix(word);
        }
    }
    atomicAdd(sum, mine);
}

__global__ void copy(const ulonglong2 *from, ulonglong2 *to, u64 n)
{
    FOR_EACH(i, n)
    {
        to[i] = from[i];
    }
}

/* An atomic per element kept; in assembly, since the compiler would join them to one per warp. */
__global__ void naive_per_element(const u64 *items, const uint8_t *flags, u64 n, u64 *out,
                                  u64 *needed)
{
    FOR_EACH(i, n)
    {
        if (flags[i]) {
            u64 place;
            asm volatile("atom.global.add.u64 %0, [%1], 1;" : "=l"(place) : "l"(needed) : "memory");
            out[place] = items[i];
        }
    }
}

/* An atomic per warp that keeps something. */
__global__ void naive_per_warp(const u64 *items, const uint8_t *flags, u64 n, u64 *out, u64 *needed)
{
    FOR_EACH(i, n)
    {
        const bool kept = flags[i] != 0;
        const unsigned votes = __ballot_sync(__activemask(), kept), lane = threadIdx.x % 32;
        u64 place = 0;
        if (votes != 0 && lane == (unsigned)__ffs((int)votes) - 1) {
            place = atomicAdd(needed, (u64)__popc(votes));
        }
        place = __shfl_sync(__activemask(), place, votes != 0 ? __ffs((int)votes) - 1 : 0);
        if (kept) {
            out[place + __popc(votes & ((1u << lane) - 1))] = items[i];
        }
    }
}

/* Median time of some rounds, after two that do not count. */
static float median(int rounds, const std::function<void()> &work)
{
    std::vector<float> times;
    for (int i = 0; i < rounds + 2; i++) {
        float ms;
        CUDA(cudaEventRecord(before, stream));
        work();
        CUDA(cudaEventRecord(after, stream));
        CUDA(cudaEventSynchronize(after));
        CUDA(cudaEventElapsedTime(&ms, before, after));
        if (i >= 2) {
            times.push_back(ms);
        }
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

static unsigned grid(u64 n)
{
    return (unsigned)((n + threads - 1) / threads);
}

static u64 *sums;
static uint64_t *needed;

/* The sum over n items, those with a flag where there are flags. */
static u64 sum_of(const void *items, const uint8_t *flags, u64 n, unsigned bytes)
{
    u64 sum;
    CUDA(cudaMemsetAsync(sums, 0, 8, stream));
    add_up<<<2048, threads, 0, stream>>>((const uint8_t *)items, flags, n, bytes, sums);
    CUDA(cudaMemcpyAsync(&sum, sums, 8, cudaMemcpyDeviceToHost, stream));
    CUDA(cudaStreamSynchronize(stream));
    return sum;
}

static u64 needed_now(void)
{
    u64 count;
    CUDA(cudaMemcpyAsync(&count, needed, 8, cudaMemcpyDeviceToHost, stream));
    CUDA(cudaStreamSynchronize(stream));
    return count;
}

static void expect(bool right, const char *what)
{
    if (!right) {
        printf("WRONG: %s\n", what);
        wrong = true;
    }
}

static void measure_copy(void *from, void *to, u64 bytes)
{
    const u64 n = bytes / 16;
    const float ms = median(
        9, [&] { copy<<<grid(n), threads, 0, stream>>>((ulonglong2 *)from, (ulonglong2 *)to, n); });
    limit_c = 2.0 * (double)bytes / ms / 1e6;
    printf("C %.0f GB/s over %.2f GB\n", limit_c, (double)bytes / 1e9);
}

static void measure_retrieve(u64 slots, double load, void *first, void *second)
{
    const u64 n = (u64)((double)slots * load);
    u64 *keys, *values;
    nacre_map *map;
    nacre_map_config config;
    nacre_map_config_init(&config, sizeof config);
    config.capacity_keys = (u64)((double)slots * 0.93);
    config.growth = NACRE_GROWTH_FIXED;
    config.load_max = 0.94;
    config.error = &failure;
    NACRE(nacre_map_create(device, &config, &map));
    CUDA(cudaMalloc(&keys, n * 8));
    CUDA(cudaMalloc(&values, n * 8));
    make_pairs<<<4096, threads, 0, stream>>>(keys, values, n);
    NACRE(nacre_map_insert(map, keys, values, n, nullptr, stream));
    NACRE(nacre_map_maintain(map, &failure, stream));
    const u64 key_sum = sum_of(keys, nullptr, n, 8), value_sum = sum_of(values, nullptr, n, 8);
    CUDA(cudaFree(keys));
    CUDA(cudaFree(values));
    nacre_map_info info;
    nacre_map_info_init(&info, sizeof info);
    NACRE(nacre_map_info_get(map, &info, &failure));
    const double bytes = ((double)info.capacity_slots + (double)n) * 16;
    printf("retrieve of %llu pairs of 8 + 8 bytes out of %llu slots, load %.2f\n", n,
           (u64)info.capacity_slots, load);
    for (uint32_t algorithm = 0; algorithm <= NACRE_COMPACT_STABLE; algorithm++) {
        nacre_options options;
        nacre_options_init(&options, sizeof options);
        options.algorithm = algorithm;
        options.error = &failure;
        const float ms = median(
            5, [&] { NACRE(nacre_map_retrieve(map, first, second, n, needed, &options, stream)); });
        const double ratio = bytes / ms / 1e6 / limit_c;
        const double target = algorithm == NACRE_COMPACT_AUTO ? (load < 0.7 ? 0.95 : 0.92)
                              : algorithm == NACRE_COMPACT_STABLE ||
                                      algorithm == NACRE_COMPACT_WARP_AGGREGATED ||
                                      algorithm == NACRE_COMPACT_BLOCK_SCAN
                                  ? 0.85
                                  : 0.0;
        printf("    %-16s %8.3f ms  %5.2f of C", names[algorithm], ms, ratio);
        if (target > 0) {
            printf("  target %.2f %s", target, ratio >= target ? "met" : "NOT MET");
        }
        printf("\n");
        fflush(stdout);
        expect(needed_now() == n && sum_of(first, nullptr, n, 8) == key_sum &&
                   sum_of(second, nullptr, n, 8) == value_sum,
               names[algorithm]);
    }
    nacre_select half;
    nacre_select_init(&half, sizeof half);
    half.condition.test = NACRE_TEST_RANGE;
    half.condition.type = NACRE_TYPE_U64;
    half.condition.high = UINT64_MAX / 2;
    float ms = median(5, [&] { NACRE(nacre_map_count_if(map, &half, needed, nullptr, stream)); });
    const u64 kept = needed_now();
    printf("    %-16s %8.3f ms  %5.2f of C\n", "count half", ms,
           (double)info.capacity_slots * 16 / ms / 1e6 / limit_c);
    ms = median(5, [&] {
        NACRE(nacre_map_retrieve_if(map, &half, first, second, n, needed, nullptr, stream));
    });
    printf("    %-16s %8.3f ms  %5.2f of C\n", "auto, half", ms,
           ((double)info.capacity_slots + (double)kept) * 16 / ms / 1e6 / limit_c);
    expect(needed_now() == kept, "retrieve_if");
    nacre_map_destroy(map);
}

/* One row: an algorithm, or a naive form, on items of a size, over the kept fractions. */
static void measure_items(const char *name, unsigned bytes, u64 total_bytes, void *items,
                          uint8_t *flags, void *out, const std::function<void(u64 count)> &work)
{
    const double fractions[] = {0, 0.01, 0.1, 0.5, 0.9, 1};
    const u64 count = total_bytes / bytes;
    printf("    %-16s %2u B", name, bytes);
    for (double fraction : fractions) {
        make_items<<<4096, threads, 0, stream>>>((u64 *)items, flags, total_bytes / 8,
                                                 (u64)(fraction * 4294967296.0));
        /* Smaller items need more flags than there are words. */
        for (u64 have = total_bytes / 8; have < count; have *= 2) {
            CUDA(cudaMemcpyAsync(flags + have, flags, std::min(have, count - have),
                                 cudaMemcpyDeviceToDevice, stream));
        }
        const float ms = median(5, [&] { work(count); });
        const u64 kept = needed_now();
        printf("  %5.2f",
               ((double)count * (bytes + 1) + (double)kept * bytes) / ms / 1e6 / limit_c);
        expect(sum_of(items, flags, count, bytes) == sum_of(out, nullptr, kept, bytes), name);
    }
    printf("\n");
    fflush(stdout);
}

static void measure_arrays(u64 total_bytes, void *items, void *out)
{
    uint8_t *flags;
    CUDA(cudaMalloc(&flags, total_bytes));
    printf(
        "items with a flag byte each, ratio to C; kept     0   0.01    0.1    0.5    0.9      1\n");
    for (unsigned bytes : {8u, 1u, 2u, 4u, 16u}) {
        for (uint32_t algorithm = 0; algorithm <= NACRE_COMPACT_STABLE; algorithm++) {
            if (bytes != 8 && algorithm != NACRE_COMPACT_AUTO &&
                algorithm != NACRE_COMPACT_STABLE) {
                continue;
            }
            nacre_compaction what;
            nacre_options options;
            nacre_compaction_init(&what, sizeof what);
            nacre_options_init(&options, sizeof options);
            what.items = items;
            what.item_bytes = bytes;
            what.items_out = out;
            what.capacity = total_bytes / bytes;
            what.needed = needed;
            NACRE(nacre_compact_workspace(device, total_bytes / bytes, algorithm,
                                          &what.workspace_bytes, &failure));
            if (what.workspace_bytes != 0) {
                CUDA(cudaMalloc(&what.workspace, what.workspace_bytes));
            }
            options.mask = flags;
            options.mask_kind = NACRE_MASK_BYTES;
            options.algorithm = algorithm;
            options.error = &failure;
            measure_items(names[algorithm], bytes, total_bytes, items, flags, out, [&](u64 count) {
                NACRE(nacre_compact(device, &what, count, &options, stream));
            });
            CUDA(cudaFree(what.workspace));
        }
    }
    measure_items("naive, element", 8, total_bytes / 4, items, flags, out, [&](u64 count) {
        CUDA(cudaMemsetAsync(needed, 0, 8, stream));
        naive_per_element<<<grid(count), threads, 0, stream>>>((u64 *)items, flags, count,
                                                               (u64 *)out, (u64 *)needed);
    });
    measure_items("naive, warp", 8, total_bytes / 4, items, flags, out, [&](u64 count) {
        CUDA(cudaMemsetAsync(needed, 0, 8, stream));
        naive_per_warp<<<grid(count), threads, 0, stream>>>((u64 *)items, flags, count, (u64 *)out,
                                                            (u64 *)needed);
    });
    CUDA(cudaFree(flags));
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
    const u64 bytes = 1ull << 30, slots = 1ull << 28;
    void *first, *second;
    CUDA(cudaMalloc(&first, 2 * bytes));
    CUDA(cudaMalloc(&second, 2 * bytes));
    CUDA(cudaMalloc(&needed, 8));
    CUDA(cudaMalloc(&sums, 8));
    CUDA(cudaMemset(first, 1, 2 * bytes));
    measure_copy(first, second, bytes);
    measure_retrieve(slots, 0.5, first, second);
    measure_retrieve(slots, 0.9, first, second);
    measure_arrays(bytes, first, second);
    nacre_device_close(device);
    printf(wrong ? "answers WRONG\n" : "answers right\n");
    return wrong ? 1 : 0;
}
