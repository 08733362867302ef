/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA only: captured graphs (cases 23, 39, 40), and two streams on one map (case 21). Nothing on
 * other backends.
 */
#include "contract/refused.h"
#include "support/array.h"
#include "support/batch.h"

#if NACRE_HAVE_CUDA
#include "support/cuda.h"

/*
 * A captured step: insert, find, retrieve, size, on `n` elements of arrays that stay where they
 * are.
 */
typedef struct step {
    test_array keys, values, count, found, outcomes, counts, all_keys, needed, size;
    uint64_t n, room;
    cudaGraphExec_t exec;
} step;

static void step_capture(test *t, nacre_map *map, step *s, uint64_t n, uint64_t room)
{
    cudaGraph_t graph;
    const uint32_t value_bytes = t->value_bytes;
    s->n = n;
    s->room = room;
    s->keys = test_array_new(t, n * t->key_bytes, t->key_bytes);
    s->values = test_array_new(t, n * value_bytes, 8);
    s->found = test_array_new(t, n * (value_bytes == 0 ? 1 : value_bytes), 8);
    s->outcomes = test_array_new(t, n, 1);
    s->all_keys = test_array_new(t, room * t->key_bytes, t->key_bytes);
    s->count = test_array_new(t, 8, 8);
    s->counts = test_array_new(t, sizeof(nacre_counts), 8);
    s->needed = test_array_new(t, 8, 8);
    s->size = test_array_new(t, 8, 8);
    nacre_options options;
    nacre_options_init(&options, sizeof options);
    options.count_device = s->count.data;
    options.outcomes = s->outcomes.data;
    options.counts = s->counts.data;
    options.error = &t->error;
    nacre_options plain;
    nacre_options_init(&plain, sizeof plain);
    plain.count_device = s->count.data;
    plain.error = &t->error;
    CUDA(t, cudaStreamBeginCapture(t->stream, cudaStreamCaptureModeGlobal));
    OK(t, nacre_map_insert(map, s->keys.data, value_bytes == 0 ? NULL : s->values.data, n, &options,
                           t->stream));
    if (value_bytes == 0) {
        OK(t, nacre_map_contains(map, s->keys.data, n, s->found.data, &plain, t->stream));
    } else {
        OK(t, nacre_map_find(map, s->keys.data, n, s->found.data, &plain, t->stream));
    }
    plain.count_device = NULL;
    OK(t, nacre_map_retrieve(map, s->all_keys.data, NULL, room, s->needed.data, &plain, t->stream));
    OK(t, nacre_map_size_async(map, s->size.data, &t->error, t->stream));
    CUDA(t, cudaStreamEndCapture(t->stream, &graph));
    CUDA(t, cudaGraphInstantiate(&s->exec, graph, 0));
    CUDA(t, cudaGraphDestroy(graph));
}

/*
 * Replays with new keys, of which the device's count lets `active` through, and checks everything
 * told.
 */
static void step_replay(test *t, step *s, oracle *o, const uint64_t *keys, const uint64_t *values,
                        uint64_t active)
{
    test_array host_keys = test_array_of_numbers(t, keys, s->n, t->key_bytes);
    test_array host_values = test_array_of_numbers(t, values, s->n, t->value_bytes);
    test_array count = test_array_of_numbers(t, &active, 1, 8);
    OK(t, nacre_memory_copy(t->device, host_keys.data, s->keys.bytes, s->keys.data, &t->error,
                            t->stream));
    if (t->value_bytes != 0) {
        OK(t, nacre_memory_copy(t->device, host_values.data, s->values.bytes, s->values.data,
                                &t->error, t->stream));
    }
    OK(t, nacre_memory_copy(t->device, count.data, 8, s->count.data, &t->error, t->stream));
    CUDA(t, cudaGraphLaunch(s->exec, t->stream));
    const uint64_t n = active < s->n ? active : s->n;
    uint64_t inserted = 0, needed = 0, size = 0;
    unsigned char *outcomes = test_host(t, s->n);
    uint64_t *found = test_host(t, s->n * 8);
    nacre_counts counts;
    test_array_read(t, &s->outcomes, outcomes);
    test_array_read(t, &s->counts, &counts);
    test_array_read(t, &s->needed, &needed);
    test_array_read(t, &s->size, &size);
    if (t->value_bytes != 0) {
        test_array_read_numbers(t, &s->found, found, s->n, t->value_bytes);
    } else { /* a byte for each */
        unsigned char *contained = test_host(t, s->n);
        test_array_read(t, &s->found, contained);
        for (uint64_t i = 0; i < s->n; i++) {
            found[i] = contained[i];
        }
        free(contained);
    }
    for (uint64_t i = 0; i < s->n; i++) {
        const bool there = oracle_has(o, keys[i]);
        uint64_t value = there ? oracle_value(o, keys[i]) : 0;
        const uint32_t wanted = i >= n  ? NACRE_OUTCOME_SKIPPED
                                : there ? NACRE_OUTCOME_FOUND
                                        : NACRE_OUTCOME_INSERTED;
        CHECK(t, outcomes[i] == wanted, "outcome %u of element %llu instead of %u", outcomes[i],
              (unsigned long long)i, wanted);
        if (i < n && !there) {
            oracle_put(o, keys[i], values[i]);
            value = values[i];
            inserted++;
        }
        CHECK(t, i >= n || found[i] == (t->value_bytes == 0 ? 1 : value),
              "element %llu found with another value", (unsigned long long)i);
    }
    CHECK(t, counts.done == n && counts.skipped == s->n - n && counts.refused == 0,
          "counts %llu, %llu, %llu", (unsigned long long)counts.done,
          (unsigned long long)counts.refused, (unsigned long long)counts.skipped);
    CHECK(t, size == o->size && needed == o->size, "size %llu, retrieved %llu, keys %llu",
          (unsigned long long)size, (unsigned long long)needed, (unsigned long long)o->size);
    free(outcomes);
    free(found);
    test_array_free(t, &host_keys);
    test_array_free(t, &host_values);
    test_array_free(t, &count);
}

static void step_free(test *t, step *s)
{
    (void)cudaGraphExecDestroy(s->exec);
    test_array *arrays[] = {&s->keys,   &s->values,   &s->count,  &s->found, &s->outcomes,
                            &s->counts, &s->all_keys, &s->needed, &s->size};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        test_array_free(t, arrays[i]);
    }
}

NACRE_CONTRACT_TEST(graphs, replay_is_stale_after_growth_or_clear)
{
    /*
     * Goal: a captured insert, find, retrieve and size stay right when the map has grown or been
     * cleared since, when larger batches ran in between, and for any count on the device. Method:
     * replays against the oracle.
     */
    if (t->backend != NACRE_BACKEND_CUDA) {
        return;
    }
    enum { N = 3000, ROOM = 400000 };
    oracle o;
    oracle_init(&o);
    nacre_map *map = test_map_new(t, 20000);
    step s;
    step_capture(t, map, &s, N, ROOM);
    uint64_t at = 0;
    for (int round = 0; round < 5; round++) {
        const uint64_t active[] = {N, 0, 1, N - 1, N + 5};
        uint64_t *keys = test_keys(t, at, N), *values = test_values(t, keys, N);
        step_replay(t, &s, &o, keys, values, active[round]);
        free(keys);
        free(values);
        at += N - 500;                  /* the next ones are partly known */
        if (round == 1 || round == 3) { /* grow, by a batch much larger than the captured one */
            uint64_t more = 100000, *others = test_keys(t, 1000000 + at, more),
                     *their_values = test_values(t, others, more);
            test_do(t, map, &o, NACREI_INSERT, others, their_values, more);
            free(others);
            free(their_values);
        }
        if (round == 2) {
            OK(t, nacre_map_clear(map, &t->error, t->stream));
            oracle_clear(&o);
        }
    }
    test_compare(t, map, &o, 1000);
    step_free(t, &s);
    nacre_map_destroy(map);
    oracle_free(&o);
}

NACRE_CONTRACT_TEST(graphs, capture_without_room_breaks)
{
    /*
     * Goal: what would wait says WOULD_WAIT, the capture goes on and ends well, and nothing was
     * issued. Method: an insertion too large for its WAIT map, size and check, in one capture with
     * a find.
     */
    if (t->backend != NACRE_BACKEND_CUDA) {
        return;
    }
    nacre_map *map = test_map_new(t, 0);
    const nacre_status waits = NACRE_ERROR_WOULD_WAIT;
    nacre_error *e = &t->error;
    const uint64_t n = 1000000;
    uint64_t *keys = test_keys(t, 0, n), *values = test_values(t, keys, n), size = 0;
    test_array keys_on = test_array_of_numbers(t, keys, n, t->key_bytes);
    test_array values_on = test_array_of_numbers(t, values, n, t->value_bytes);
    test_array contained = test_array_new(t, n, 1), counts_on = test_array_new(t, 24, 8);
    nacre_options options;
    nacre_options_init(&options, sizeof options);
    options.error = &t->error;
    options.counts = counts_on.data;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    test_wait(t);
    CUDA(t, cudaStreamBeginCapture(t->stream, cudaStreamCaptureModeGlobal));
    REFUSED(t, waits, nacre_map_insert(map, keys_on.data, values_on.data, n, &options, t->stream),
            "nacre_map_insert: count is 1000000");
    REFUSED(t, waits, nacre_map_size(map, &size, e, t->stream), "nacre_map_size: stream");
    REFUSED(t, waits, nacre_map_check(map, e, t->stream), "nacre_map_check: stream");
    REFUSED(t, waits, nacre_map_reserve(map, n, e, t->stream),
            "nacre_map_reserve: keys is 1000000");
    REFUSED(t, waits, nacre_stream_wait(t->device, t->stream, e), "nacre_stream_wait: stream");
    REFUSED(t, NACRE_ERROR_UNSUPPORTED, nacre_map_maintain(map, e, t->stream),
            "nacre_map_maintain: stream");
    OK(t, nacre_map_contains(map, keys_on.data, n, contained.data, NULL, t->stream));
    CUDA(t, cudaStreamEndCapture(t->stream, &graph));
    size_t nodes = 0;
    CUDA(t, cudaGraphGetNodes(graph, NULL, &nodes));
    CHECK(t, nodes == 1, "%zu nodes instead of the lookup alone", nodes);
    CUDA(t, cudaGraphInstantiate(&exec, graph, 0));
    CUDA(t, cudaGraphLaunch(exec, t->stream));
    test_wait(t);
    CUDA(t, cudaGraphExecDestroy(exec));
    CUDA(t, cudaGraphDestroy(graph));
    OK(t, nacre_map_size(map, &size, &t->error, t->stream));
    CHECK(t, size == 0, "%llu keys", (unsigned long long)size);
    test_array_free(t, &keys_on);
    test_array_free(t, &values_on);
    test_array_free(t, &contained);
    test_array_free(t, &counts_on);
    free(keys);
    free(values);
    nacre_map_destroy(map);
}

NACRE_CONTRACT_TEST_ONCE(graphs, replay_fills_a_map_beyond_its_capacity)
{
    /*
     * Goal: a replayed insertion takes exactly as many keys as fit and says FULL for the rest, and
     * later insertions outside know it. Method: a FIXED map of 5000 keys, a graph of 2000 new keys
     * replayed three times.
     */
    if (t->backend != NACRE_BACKEND_CUDA) {
        return;
    }
    enum { N = 2000, CAPACITY = 5000 };
    nacre_map *map = test_map_growing(t, NACRE_GROWTH_FIXED, CAPACITY);
    step s;
    step_capture(t, map, &s, N, CAPACITY);
    for (uint64_t round = 0; round < 3; round++) {
        uint64_t *keys = test_keys(t, round * N, N), active = N, size = 0;
        test_array from = test_array_of_numbers(t, keys, N, t->key_bytes);
        test_array count = test_array_of_numbers(t, &active, 1, 8);
        OK(t,
           nacre_memory_copy(t->device, from.data, from.bytes, s.keys.data, &t->error, t->stream));
        OK(t, nacre_memory_copy(t->device, count.data, 8, s.count.data, &t->error, t->stream));
        CUDA(t, cudaGraphLaunch(s.exec, t->stream));
        nacre_counts counts;
        test_array_read(t, &s.counts, &counts);
        OK(t, nacre_map_size(map, &size, &t->error, t->stream));
        const uint64_t before = round * N, after = before + N < CAPACITY ? before + N : CAPACITY;
        CHECK(t,
              size == after && counts.done == after - before &&
                  counts.refused == N - (after - before),
              "size %llu, done %llu, refused %llu in round %llu", (unsigned long long)size,
              (unsigned long long)counts.done, (unsigned long long)counts.refused,
              (unsigned long long)round);
        test_array_free(t, &from);
        test_array_free(t, &count);
        free(keys);
    }
    uint32_t faults = 0;
    OK(t, nacre_map_faults(map, &faults, 1, &t->error));
    CHECK(t, faults == NACRE_FAULT_FULL, "faults %u", faults);
    OK(t, nacre_map_check(map, &t->error, t->stream));
    step_free(t, &s);
    nacre_map_destroy(map);
}

NACRE_CONTRACT_TEST_VALUES(graphs, reader_on_another_stream_sees_half_a_value)
{
    /*
     * Goal: beside insertions and assignments on one stream, finds on another see keys of earlier
     * batches always, and values whole. Method: values are all zero bytes or all one byte pattern
     * of the round; no wait in between.
     */
    if (t->backend != NACRE_BACKEND_CUDA) {
        return;
    }
    enum { N = 200000, ROUNDS = 20 };
    nacre_map *map = test_map_new(t, 2 * N);
    nacre_stream other;
    OK(t, nacre_stream_create(t->device, &other, &t->error));
    uint64_t *keys = test_keys(t, 0, 2 * N), *found = test_host(t, N * 8);
    test_array known = test_array_of_numbers(t, keys, N, t->key_bytes);
    test_array fresh = test_array_of_numbers(t, keys + N, N, t->key_bytes);
    test_array values = test_array_new(t, (uint64_t)N * t->value_bytes, 8);
    test_array out = test_array_new(t, (uint64_t)N * t->value_bytes, 8);
    nacre_options options;
    nacre_options_init(&options, sizeof options);
    const uint64_t never = UINT64_C(0x0102030405060708);
    options.missing_value = &never;
    options.error = &t->error;
    OK(t, nacre_memory_fill(t->device, values.data, values.bytes, 0, &t->error, t->stream));
    OK(t, nacre_map_insert(map, known.data, values.data, N, &options, t->stream));
    test_wait(t);
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        OK(t, nacre_memory_fill(t->device, values.data, values.bytes, round, &t->error, t->stream));
        OK(t, nacre_map_insert_or_assign(map, known.data, values.data, N, &options, t->stream));
        OK(t, nacre_map_insert(map, fresh.data, values.data, N, &options, t->stream));
        OK(t, nacre_map_find(map, known.data, N, out.data, &options, other));
        OK(t, nacre_stream_wait(t->device, other, &t->error));
        OK(t, nacre_memory_copy(t->device, out.data, out.bytes, found, &t->error, other));
        OK(t, nacre_stream_wait(t->device, other, &t->error));
        const unsigned char *bytes = (const unsigned char *)found;
        for (uint64_t i = 0; i < out.bytes; i += t->value_bytes) {
            for (uint32_t b = 1; b < t->value_bytes; b++) {
                CHECK(t, bytes[i + b] == bytes[i] && bytes[i] <= round,
                      "value %llu is torn or missing: %02x %02x",
                      (unsigned long long)(i / t->value_bytes), bytes[i], bytes[i + b]);
            }
        }
        test_wait(t);
        OK(t, nacre_map_erase(map, fresh.data, N, &options, other)); /* ordered after both */
    }
    OK(t, nacre_stream_wait(t->device, other, &t->error));
    OK(t, nacre_map_check(map, &t->error, t->stream));
    CHECK(t, test_size(t, map) == N, "the size is not %d", N);
    OK(t, nacre_stream_destroy(t->device, other, &t->error));
    test_array_free(t, &known);
    test_array_free(t, &fresh);
    test_array_free(t, &values);
    test_array_free(t, &out);
    free(keys);
    free(found);
    nacre_map_destroy(map);
}

NACRE_CONTRACT_TEST_ONCE(graphs, old_error_of_the_program_fails_a_call)
{
    /* Goal: an error that the program left in CUDA does not make a call fail, and growth still
       happens. Method: a cudaMalloc that cannot work, unread, before an insertion that grows. */
    if (t->backend != NACRE_BACKEND_CUDA) {
        return;
    }
    oracle o;
    oracle_init(&o);
    nacre_map *map = test_map_new(t, 0);
    const uint64_t n = 50000;
    uint64_t *keys = test_keys(t, 0, n), *values = test_values(t, keys, n);
    void *memory = NULL;
    for (int round = 0; round < 3; round++) {
        CHECK(t, cudaMalloc(&memory, (size_t)1 << 60) != cudaSuccess, "an exabyte was given");
        test_do(t, map, &o, round == 1 ? NACREI_ERASE : NACREI_INSERT, keys, values, n);
    }
    (void)cudaGetLastError();
    test_compare(t, map, &o, 1000);
    free(keys);
    free(values);
    nacre_map_destroy(map);
    oracle_free(&o);
}

NACRE_CONTRACT_TEST_ONCE(graphs, replayed_erasures_make_a_map_grow)
{
    /* Goal: where keys leave a map by replays only, insertions outside do not make it grow without
       end, and the size last known stays true. Method: a captured clear, and a captured erase of
       the whole batch, replayed 40 times between insertions of always new keys; WAIT and
       DEFERRED. */
    if (t->backend != NACRE_BACKEND_CUDA) {
        return;
    }
    enum { N = 2000, ROUNDS = 40 };
    for (uint32_t which = 0; which < 4; which++) {
        nacre_map *map =
            test_map_growing(t, which < 2 ? NACRE_GROWTH_WAIT : NACRE_GROWTH_DEFERRED, 3 * N);
        test_array keys_on = test_array_new(t, (uint64_t)N * 8, 8);
        test_array values_on = test_array_new(t, (uint64_t)N * 8, 8);
        cudaGraph_t graph;
        cudaGraphExec_t exec;
        test_wait(t);
        CUDA(t, cudaStreamBeginCapture(t->stream, cudaStreamCaptureModeGlobal));
        if (which % 2 == 0) {
            OK(t, nacre_map_clear(map, &t->error, t->stream));
        } else {
            OK(t, nacre_map_erase(map, keys_on.data, N, NULL, t->stream));
        }
        CUDA(t, cudaStreamEndCapture(t->stream, &graph));
        CUDA(t, cudaGraphInstantiate(&exec, graph, 0));
        for (uint64_t round = 0; round < ROUNDS; round++) {
            uint64_t *keys = test_keys(t, round * N, N), size = 0;
            OK(t, nacre_memory_copy(t->device, keys, keys_on.bytes, keys_on.data, &t->error,
                                    t->stream));
            OK(t, nacre_map_insert(map, keys_on.data, values_on.data, N, NULL, t->stream));
            OK(t, nacre_map_size(map, &size, &t->error, t->stream));
            CHECK(t, size == N, "%llu keys in round %llu", (unsigned long long)size,
                  (unsigned long long)round);
            CUDA(t, cudaGraphLaunch(exec, t->stream));
            test_wait(t);
            free(keys);
        }
        nacre_map_info info;
        nacre_map_info_init(&info, sizeof info);
        OK(t, nacre_map_info_get(map, &info, &t->error));
        CHECK(t, info.growths == 0 && info.size_last_known == 0,
              "%llu growths, %llu keys last known", (unsigned long long)info.growths,
              (unsigned long long)info.size_last_known);
        CUDA(t, cudaGraphExecDestroy(exec));
        CUDA(t, cudaGraphDestroy(graph));
        test_array_free(t, &keys_on);
        test_array_free(t, &values_on);
        nacre_map_destroy(map);
    }
}

NACRE_CONTRACT_TEST_ONCE(graphs, block_shows_an_older_size_last)
{
    /* Goal: once a replay is over, the info tells its size, although each of its blocks shows the
       host what it has read. Method: a captured clear and insertion, of 100 blocks; 200 replays. */
    if (t->backend != NACRE_BACKEND_CUDA) {
        return;
    }
    enum { N = 25600 };
    nacre_map *map = test_map_growing(t, NACRE_GROWTH_FIXED, N);
    uint64_t *keys = test_keys(t, 0, N), *values = test_values(t, keys, N);
    test_array keys_on = test_array_of_numbers(t, keys, N, t->key_bytes);
    test_array values_on = test_array_of_numbers(t, values, N, t->value_bytes);
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    test_wait(t);
    CUDA(t, cudaStreamBeginCapture(t->stream, cudaStreamCaptureModeGlobal));
    OK(t, nacre_map_clear(map, &t->error, t->stream));
    OK(t, nacre_map_insert(map, keys_on.data, values_on.data, N, NULL, t->stream));
    CUDA(t, cudaStreamEndCapture(t->stream, &graph));
    CUDA(t, cudaGraphInstantiate(&exec, graph, 0));
    for (int replay = 0; replay < 200; replay++) {
        nacre_map_info info;
        nacre_map_info_init(&info, sizeof info);
        CUDA(t, cudaGraphLaunch(exec, t->stream));
        test_wait(t);
        OK(t, nacre_map_info_get(map, &info, &t->error));
        CHECK(t, info.size_last_known == N, "%llu keys last known after replay %d",
              (unsigned long long)info.size_last_known, replay);
    }
    CUDA(t, cudaGraphExecDestroy(exec));
    CUDA(t, cudaGraphDestroy(graph));
    test_array_free(t, &keys_on);
    test_array_free(t, &values_on);
    nacre_map_destroy(map);
    free(keys);
    free(values);
}

NACRE_CONTRACT_TEST_ONCE(graphs, missing_value_is_inserted_by_a_retry)
{
    /*
     * Goal: find_or_insert into values_out == values, with a missing_value, inserts each key's own
     * value when elements are refused at first and given again after growth. Method: 2 M different
     * new keys, each twice, into a WAIT map with room for 1.9 M: the lower bound on different keys
     * fits, the keys do not.
     */
    if (t->backend != NACRE_BACKEND_CUDA) {
        return;
    }
    const uint64_t different = 2000000, n = 2 * different, never = 77;
    nacre_map *map = test_map_new(t, 1900000);
    uint64_t *keys = test_host(t, n * 8), *values = test_host(t, n * 8);
    for (uint64_t i = 0; i < n; i++) {
        keys[i] = test_key(t, i % different);
        values[i] = keys[i] + 1;
    }
    test_array keys_on = test_array_of_numbers(t, keys, n, 8);
    test_array values_on = test_array_of_numbers(t, values, n, 8);
    nacre_options options;
    nacre_options_init(&options, sizeof options);
    options.missing_value = &never;
    options.error = &t->error;
    OK(t, nacre_map_find_or_insert(map, keys_on.data, values_on.data, n, values_on.data, &options,
                                   t->stream));
    OK(t, nacre_map_find(map, keys_on.data, n, values_on.data, &options, t->stream));
    test_array_read_numbers(t, &values_on, values, n, 8);
    for (uint64_t i = 0; i < n; i++) {
        CHECK(t, values[i] == keys[i] + 1, "key %llu has the value %llu", (unsigned long long)i,
              (unsigned long long)values[i]);
    }
    test_array_free(t, &keys_on);
    test_array_free(t, &values_on);
    free(keys);
    free(values);
    nacre_map_destroy(map);
}
#else
NACRE_CONTRACT_TEST_ONCE(graphs, not_in_this_build)
{
    /* Goal: say that the rows of this file need CUDA. Method: a line. */
    printf("SKIPPED graphs on %s: this build has no CUDA\n", t->backend_name);
}
#endif
