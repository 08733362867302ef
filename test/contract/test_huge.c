/* SPDX-License-Identifier: Apache-2.0 */
/* Past 2^31, 2^32, 2^33 and 2^35 (case 9): only on a CUDA device with room for it; elsewhere a row
   says so and ends. */
#include "nacre/cuda/table.h"
#include "support/batch.h"

/* Key number i: sequential numbers behind a constant. */
#define FIRST_KEY UINT64_C(0x7000000000000000)

enum { PIECE = 1 << 22 };

/* Does the device have so much? Else the row is skipped. */
static bool has_room(test *t, uint64_t bytes)
{
    void *probe = NULL;
    if (t->backend != NACRE_BACKEND_CUDA ||
        nacre_memory_allocate(t->device, bytes, NACRE_SPACE_DEVICE, &probe, &t->error) !=
            NACRE_OK) {
        printf("SKIPPED %s on %s: it needs %llu GB of device memory\n", t->name, t->backend_name,
               LL(bytes / 1000000000));
        return false;
    }
    OK(t, nacre_memory_release(t->device, probe, &t->error));
    return true;
}

static void *memory_new(test *t, uint64_t bytes, uint32_t space)
{
    void *memory = NULL;
    OK(t, nacre_memory_allocate(t->device, bytes, space, &memory, &t->error));
    return memory;
}

/* What tells a set of keys: one that is missing, or there twice, makes it another. */
static uint64_t mark_of(uint64_t key)
{
    return (key ^ key >> 7) * key;
}

/* Fills device memory with keys, by pieces; the sum of their marks. */
static uint64_t write_keys(test *t, uint64_t *keys_on, uint64_t first, uint64_t count)
{
    uint64_t *piece = memory_new(t, PIECE * 8, NACRE_SPACE_PINNED), sum = 0;
    for (uint64_t at = 0; at < count; at += PIECE) {
        const uint64_t n = count - at < PIECE ? count - at : PIECE;
        for (uint64_t i = 0; i < n; i++) {
            piece[i] = FIRST_KEY + first + at + i;
            sum += mark_of(piece[i]);
        }
        OK(t, nacre_memory_copy(t->device, piece, n * 8, keys_on + at, &t->error, t->stream));
        test_wait(t);
    }
    OK(t, nacre_memory_release(t->device, piece, &t->error));
    return sum;
}

/* The same sum of what was retrieved. */
static uint64_t sum_of(test *t, const uint64_t *keys_on, uint64_t total)
{
    uint64_t *piece = memory_new(t, PIECE * 8, NACRE_SPACE_PINNED), sum = 0, strange = 0;
    for (uint64_t at = 0; at < total; at += PIECE) {
        const uint64_t n = total - at < PIECE ? total - at : PIECE;
        OK(t, nacre_memory_copy(t->device, keys_on + at, n * 8, piece, &t->error, t->stream));
        test_wait(t);
        for (uint64_t i = 0; i < n; i++) {
            strange += piece[i] - FIRST_KEY >= total;
            sum += mark_of(piece[i]);
        }
    }
    CHECK(t, strange == 0, "%llu keys were never inserted", LL(strange));
    OK(t, nacre_memory_release(t->device, piece, &t->error));
    return sum;
}

/* From the device, after all that was enqueued. */
static void fetch(test *t, const void *on, void *to, uint64_t bytes)
{
    OK(t, nacre_memory_copy(t->device, on, bytes, to, &t->error, t->stream));
    test_wait(t);
}

NACRE_TEST_ROW(huge, counts_wrap_at_32_bits, TEST_WIDTHS_ONE)
{
    /* Goal: more than 2^32 slots, more than 2^31 keys in a batch, more than 2^32 results of one
       retrieve. Method: a set of 8-byte keys, reserved for 2^32 + 14; two batches of 2^31 + 7 keys;
       counts, contains, then everything retrieved, in both orders, and compared by a sum over the
       keys. */
    const uint64_t batch = ((uint64_t)1 << 31) + 7, total = 2 * batch;
    if (!has_room(t, UINT64_C(78000000000))) {
        return;
    }
    t->value_bytes = 0;
    nacre_map *map = test_map_new(t, total);
    CHECK(t, test_info(t, map).capacity_slots > (uint64_t)1 << 32, "too few slots");
    void *keys_on = memory_new(t, batch * 8, NACRE_SPACE_DEVICE);
    void *contained_on = memory_new(t, batch, NACRE_SPACE_DEVICE);
    void *told_on = memory_new(t, sizeof(nacre_counts), NACRE_SPACE_DEVICE);
    nacre_counts counts;
    uint64_t sum = 0, needed = 0;
    nacre_options options;
    nacre_options_init(&options, sizeof options);
    options.counts = told_on;
    options.error = &t->error;
    for (uint64_t half = 0; half < 2; half++) {
        sum += write_keys(t, keys_on, half * batch, batch);
        OK(t, nacre_map_insert(map, keys_on, NULL, batch, &options, t->stream));
        CHECK(t, test_size(t, map) == (half + 1) * batch, "size %llu", LL(test_size(t, map)));
        fetch(t, told_on, &counts, sizeof counts);
        CHECK(t, counts.done == batch && counts.refused == 0, "%llu done, %llu refused",
              LL(counts.done), LL(counts.refused));
        OK(t, nacre_map_contains(map, keys_on, batch, contained_on, &options, t->stream));
        fetch(t, told_on, &counts, sizeof counts);
        CHECK(t, counts.done == batch, "%llu contained", LL(counts.done));
    }
    OK(t, nacre_memory_release(t->device, keys_on, &t->error));
    OK(t, nacre_memory_release(t->device, contained_on, &t->error));
    OK(t, nacre_map_check(map, &t->error, t->stream));
    keys_on = memory_new(t, total * 8, NACRE_SPACE_DEVICE);
    options.counts = NULL;
    for (uint32_t i = 0; i < 2; i++) {
        options.algorithm = i == 0 ? NACRE_COMPACT_AUTO : NACRE_COMPACT_STABLE;
        OK(t, nacre_memory_fill(t->device, keys_on, total * 8, 0, &t->error, t->stream));
        OK(t, nacre_map_retrieve(map, keys_on, NULL, total, told_on, &options, t->stream));
        fetch(t, told_on, &needed, sizeof needed);
        CHECK(t, needed == total, "%llu needed", LL(needed));
        CHECK(t, sum_of(t, keys_on, total) == sum, "other keys came than were inserted");
    }
    OK(t, nacre_memory_release(t->device, keys_on, &t->error));
    OK(t, nacre_memory_release(t->device, told_on, &t->error));
    nacre_map_destroy(map);
}

enum { LAST = 1000, MEANT = 700 };

typedef struct told {
    nacre_counts counts;
    uint64_t needed, count;
    uint64_t indices[LAST];
} told;

/* The indices are those of the LAST elements from `first` on, each once. */
static void check_places(test *t, const told *told, uint64_t first)
{
    bool seen[LAST] = {false};
    for (uint64_t i = 0; i < LAST; i++) {
        const uint64_t place = told->indices[i] - first;
        CHECK(t, place < LAST && !seen[place], "index %llu", LL(told->indices[i]));
        seen[place] = true;
    }
}

NACRE_TEST_ROW(huge, batch_beyond_one_launch_is_waited_for_for_ever, TEST_WIDTHS_ONE)
{
    /* Goal: a batch longer than a launch of the library's (2^33 elements), and a count beyond 2^35
       of which the device says how much is meant. Method: a FIXED set of 4-byte keys; 2^33 equal
       ones and LAST others behind; insert, contains, erase, match tell their counts, and match the
       places. Then 2^37 elements, of which 700 are meant. */
    const uint64_t equal = (uint64_t)1 << 33, count = equal + LAST, many = ((uint64_t)1 << 37) + 5;
    if (!has_room(t, UINT64_C(46000000000))) {
        return;
    }
    t->key_bytes = 4;
    t->value_bytes = 0;
    nacre_map *map = test_map_growing(t, NACRE_GROWTH_FIXED, 2 * LAST);
    uint32_t *keys_on = memory_new(t, count * 4, NACRE_SPACE_DEVICE), last[LAST];
    uint8_t *contained_on = memory_new(t, count, NACRE_SPACE_DEVICE);
    /* On the device: each block of a launch adds to the counts, and reads the count. */
    told *told_on = memory_new(t, sizeof *told_on, NACRE_SPACE_DEVICE), told;
    nacre_options options;
    nacre_options_init(&options, sizeof options);
    options.counts = &told_on->counts;
    options.error = &t->error;
    for (uint32_t i = 0; i < LAST; i++) {
        last[i] = i;
    }
    OK(t, nacre_memory_fill(t->device, keys_on, equal * 4, 0x5A, &t->error, t->stream));
    OK(t, nacre_memory_copy(t->device, last, sizeof last, keys_on + equal, &t->error, t->stream));
    OK(t, nacre_map_insert(map, keys_on, NULL, count, &options, t->stream));
    CHECK(t, test_size(t, map) == LAST + 1, "size %llu", LL(test_size(t, map)));
    fetch(t, told_on, &told, sizeof told);
    CHECK(t, told.counts.done == count, "%llu done", LL(told.counts.done));
    OK(t, nacre_map_contains(map, keys_on, count, contained_on, &options, t->stream));
    fetch(t, told_on, &told, sizeof told);
    CHECK(t, told.counts.done == count, "%llu contained", LL(told.counts.done));
    OK(t, nacre_map_erase(map, keys_on, count, &options, t->stream));
    CHECK(t, test_size(t, map) == 0, "size %llu after all were erased", LL(test_size(t, map)));
    fetch(t, told_on, &told, sizeof told);
    CHECK(t, told.counts.done == LAST + 1, "%llu erased", LL(told.counts.done));
    OK(t, nacre_map_insert(map, keys_on + equal, NULL, LAST, &options, t->stream));
    OK(t, nacre_map_match(map, keys_on, count, told_on->indices, 8, NULL, LAST, &told_on->needed,
                          &options, t->stream));
    fetch(t, told_on, &told, sizeof told);
    CHECK(t, told.needed == LAST, "%llu matches", LL(told.needed));
    check_places(t, &told, equal);

    const uint64_t meant = MEANT;
    OK(t, nacre_memory_copy(t->device, &meant, 8, &told_on->count, &t->error, t->stream));
    options.count_device = &told_on->count;
    for (uint32_t round = 0; round < 3; round++) {
        const void *keys = keys_on + equal;
        OK(t, round == 0 ? nacre_map_erase(map, keys, many, &options, t->stream)
              : round == 1
                  ? nacre_map_insert(map, keys, NULL, many, &options, t->stream)
                  : nacre_map_contains(map, keys, many, contained_on, &options, t->stream));
        fetch(t, told_on, &told, sizeof told);
        CHECK(t, told.counts.done == MEANT && told.counts.skipped == many - MEANT,
              "%llu done, %llu skipped", LL(told.counts.done), LL(told.counts.skipped));
        CHECK(t, test_size(t, map) == (round == 0 ? LAST - MEANT : LAST), "size %llu",
              LL(test_size(t, map)));
    }
    OK(t, nacre_map_check(map, &t->error, t->stream));
    OK(t, nacre_memory_release(t->device, keys_on, &t->error));
    OK(t, nacre_memory_release(t->device, contained_on, &t->error));
    OK(t, nacre_memory_release(t->device, told_on, &t->error));
    nacre_map_destroy(map);
}

NACRE_TEST_ROW(huge, first_launch_is_done_when_the_second_is_refused, TEST_WIDTHS_ONE)
{
    /* Goal: an insertion of more than one launch that cannot run beside an open view is refused
       before the first. Method: a FIXED set with room for the elements of one launch, and one more
       element, all equal; MEANT of them are meant. Afterwards, without the view, it is done. */
    const uint64_t room = (uint64_t)1 << 33, meant = MEANT;
    if (!has_room(t, UINT64_C(78000000000))) {
        return;
    }
    t->key_bytes = 4;
    t->value_bytes = 0;
    nacre_map *map = test_map_growing(t, NACRE_GROWTH_FIXED, room);
    uint32_t *keys_on = memory_new(t, MEANT * 4, NACRE_SPACE_DEVICE);
    uint64_t *meant_on = memory_new(t, 8, NACRE_SPACE_DEVICE);
    nacrei_view view;
    nacre_options options;
    nacre_options_init(&options, sizeof options);
    options.count_device = meant_on;
    options.error = &t->error;
    OK(t, nacre_memory_fill(t->device, keys_on, MEANT * 4, 0x5A, &t->error, t->stream));
    OK(t, nacre_memory_copy(t->device, &meant, 8, meant_on, &t->error, t->stream));
    OK(t, nacre_map_view_begin(map, NACRE_ACCESS_READ, 0, 4, 0, &view, sizeof view, &t->error,
                               t->stream));
    STATUS(t, NACRE_ERROR_WOULD_WAIT,
           nacre_map_insert(map, keys_on, NULL, room + 1, &options, t->stream));
    CHECK(t, test_size(t, map) == 0, "refused, and %llu keys inserted", LL(test_size(t, map)));
    OK(t, nacre_map_view_end(map, &view, sizeof view, &t->error, t->stream));
    OK(t, nacre_map_insert(map, keys_on, NULL, room + 1, &options, t->stream));
    CHECK(t, test_size(t, map) == 1, "size %llu", LL(test_size(t, map)));
    OK(t, nacre_memory_release(t->device, keys_on, &t->error));
    OK(t, nacre_memory_release(t->device, meant_on, &t->error));
    nacre_map_destroy(map);
}
