/* SPDX-License-Identifier: Apache-2.0 */
/* Past 2^31 and 2^32 (case 9): only on a CUDA device with more than 130 GB; elsewhere the row says
   so and ends. */
#include "support/batch.h"

/* Key number i: sequential numbers behind a constant, so that a bitmap can tell them apart. */
#define FIRST_KEY UINT64_C(0x7000000000000000)

/* Fills device memory with keys, by pieces. */
static void write_keys(test *t, uint64_t *keys_on, uint64_t first, uint64_t count)
{
    enum { PIECE = 1 << 23 };
    uint64_t *piece = test_host(t, PIECE * 8);
    for (uint64_t at = 0; at < count; at += PIECE) {
        uint64_t n = count - at < PIECE ? count - at : PIECE;
        for (uint64_t i = 0; i < n; i++) {
            piece[i] = FIRST_KEY + first + at + i;
        }
        OK(t, nacre_memory_copy(t->device, piece, n * 8, keys_on + at, &t->error, t->stream));
        test_wait(t);
    }
    free(piece);
}

/* Every key once, ticked off in a bitmap. */
static void tick_off(test *t, const void *keys_on, uint64_t total)
{
    enum { PIECE = 1 << 23 };
    uint64_t *piece = test_host(t, PIECE * 8);
    uint8_t *seen = calloc(total / 8 + 1, 1);
    CHECK(t, seen != NULL, "no host memory");
    for (uint64_t at = 0; at < total; at += PIECE) {
        uint64_t n = total - at < PIECE ? total - at : PIECE;
        OK(t, nacre_memory_copy(t->device, (const uint64_t *)keys_on + at, n * 8, piece, &t->error,
                                t->stream));
        test_wait(t);
        for (uint64_t i = 0; i < n; i++) {
            uint64_t number = piece[i] - FIRST_KEY;
            CHECK(t, number < total, "key 0x%llx was never inserted", (unsigned long long)piece[i]);
            CHECK(t, (seen[number / 8] >> number % 8 & 1) == 0, "key number %llu twice",
                  (unsigned long long)number);
            seen[number / 8] |= (uint8_t)(1u << number % 8);
        }
    }
    free(piece);
    free(seen);
}

NACRE_TEST_ROW(huge, counts_wrap_at_32_bits, TEST_WIDTHS_ONE)
{
    /* Goal: more than 2^31 slots, more than 2^31 keys in a batch, more than 2^32 results of one
       retrieve. Method: a set of 8-byte keys, reserved for 2^32 + 14; two batches of 2^31 + 7 keys;
       counts, contains, then everything retrieved, in both orders, and ticked off in a bitmap. */
    const uint64_t batch = ((uint64_t)1 << 31) + 7, total = 2 * batch;
    void *probe = NULL;
    if (t->backend != NACRE_BACKEND_CUDA ||
        nacre_memory_allocate(t->device, UINT64_C(130000000000), NACRE_SPACE_DEVICE, &probe,
                              &t->error) != NACRE_OK) {
        printf("SKIPPED huge on %s: it needs 130 GB of device memory\n", t->backend_name);
        return;
    }
    OK(t, nacre_memory_release(t->device, probe, &t->error));
    t->value_bytes = 0;
    nacre_map *map = test_map_new(t, total);
    void *keys_on = NULL, *contained_on = NULL, *pinned = NULL;
    OK(t, nacre_memory_allocate(t->device, batch * 8, NACRE_SPACE_DEVICE, &keys_on, &t->error));
    OK(t, nacre_memory_allocate(t->device, batch, NACRE_SPACE_DEVICE, &contained_on, &t->error));
    OK(t, nacre_memory_allocate(t->device, sizeof(nacre_counts), NACRE_SPACE_PINNED, &pinned,
                                &t->error));
    nacre_options options;
    nacre_options_init(&options, sizeof options);
    options.counts = pinned;
    options.error = &t->error;
    for (uint64_t half = 0; half < 2; half++) {
        uint64_t size = 0;
        write_keys(t, keys_on, half * batch, batch);
        OK(t, nacre_map_insert(map, keys_on, NULL, batch, &options, t->stream));
        OK(t, nacre_map_size(map, &size, &t->error, t->stream));
        CHECK(t, options.counts->done == batch && options.counts->refused == 0,
              "%llu done, %llu refused", (unsigned long long)options.counts->done,
              (unsigned long long)options.counts->refused);
        CHECK(t, size == (half + 1) * batch, "size %llu", (unsigned long long)size);
        OK(t, nacre_map_contains(map, keys_on, batch, contained_on, &options, t->stream));
        test_wait(t);
        CHECK(t, options.counts->done == batch, "%llu contained",
              (unsigned long long)options.counts->done);
    }
    OK(t, nacre_memory_release(t->device, keys_on, &t->error));
    OK(t, nacre_memory_release(t->device, contained_on, &t->error));
    OK(t, nacre_map_check(map, &t->error, t->stream));
    OK(t, nacre_memory_allocate(t->device, total * 8, NACRE_SPACE_DEVICE, &keys_on, &t->error));
    for (uint32_t i = 0; i < 2; i++) {
        options.counts = NULL;
        options.algorithm = i == 0 ? NACRE_COMPACT_AUTO : NACRE_COMPACT_STABLE;
        OK(t, nacre_memory_fill(t->device, keys_on, total * 8, 0, &t->error, t->stream));
        OK(t, nacre_map_retrieve(map, keys_on, NULL, total, pinned, &options, t->stream));
        test_wait(t);
        CHECK(t, *(uint64_t *)pinned == total, "%llu needed",
              (unsigned long long)*(uint64_t *)pinned);
        tick_off(t, keys_on, total);
    }
    OK(t, nacre_memory_release(t->device, keys_on, &t->error));
    OK(t, nacre_memory_release(t->device, pinned, &t->error));
    nacre_map_destroy(map);
}
