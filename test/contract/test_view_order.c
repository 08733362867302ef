/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA only: open views beside other calls, on two streams, and in captured graphs. Nothing on
 * other backends.
 */
#include "contract/view_batch.h"

#if NACRE_HAVE_CUDA
static void refused_beside_any_view(test *t, nacre_map *map, uint64_t many)
{
    nacrei_view view;
    STATUS(t, NACRE_ERROR_WOULD_WAIT, nacre_map_clear(map, &t->error, t->stream));
    STATUS(t, NACRE_ERROR_WOULD_WAIT, nacre_map_maintain(map, &t->error, t->stream));
    STATUS(t, NACRE_ERROR_WOULD_WAIT, nacre_map_shrink(map, &t->error, t->stream));
    STATUS(t, NACRE_ERROR_WOULD_WAIT, nacre_map_check(map, &t->error, t->stream));
    STATUS(t, NACRE_ERROR_WOULD_WAIT, nacre_map_reserve(map, many, &t->error, t->stream));
    STATUS(t, NACRE_ERROR_WOULD_WAIT, view_begin(t, map, NACRE_ACCESS_ERASE, 0, &view, t->stream));
}

NACRE_CONTRACT_TEST_ONCE(view_order, call_conflicts_with_an_open_view)
{
    /* Goal: what must not run beside an open view says WOULD_WAIT and does nothing, and the rest
       works; afterwards everything does. Method: each kind of call beside a view of each access, on
       a map that would have to grow for a large batch. */
    if (t->backend != NACRE_BACKEND_CUDA) {
        return;
    }
    const uint64_t n = 1000, many = 300000;
    const bool inserts = view_inserts(t); /* else insertions are exclusive */
    oracle o;
    oracle_init(&o);
    nacre_map *map = test_map_new(t, 4 * n);
    uint64_t *keys = test_keys(t, 0, many), *values = test_values(t, keys, many), size = 0;
    test_do(t, map, &o, NACREI_INSERT, keys, values, n);
    test_array keys_on = test_array_of_numbers(t, keys, many, 8);
    test_array values_on = test_array_of_numbers(t, values, many, 8);
    test_array out = test_array_new(t, many * 8, 8), counts_on = test_array_new(t, 24, 8);
    nacre_options options;
    nacre_options_init(&options, sizeof options);
    options.error = &t->error;
    options.counts = counts_on.data;
    for (uint32_t access = NACRE_ACCESS_READ; access <= NACRE_ACCESS_ERASE; access++) {
        nacrei_view view, second;
        const nacre_status beside =
            access == NACRE_ACCESS_ERASE ? NACRE_ERROR_WOULD_WAIT : NACRE_OK;
        if (access == NACRE_ACCESS_INSERT && !inserts) {
            continue;
        }
        OK(t, view_begin(t, map, access, access == NACRE_ACCESS_INSERT ? n : 0, &view, t->stream));
        uint64_t before[3], after[3];
        OK(t, nacre_memory_fill(t->device, counts_on.data, 24, 0x77, &t->error, t->stream));
        test_array_read(t, &counts_on, before);
        STATUS(t, NACRE_ERROR_WOULD_WAIT,
               nacre_map_erase(map, keys_on.data, n, &options, t->stream));
        STATUS(t, NACRE_ERROR_WOULD_WAIT,
               nacre_map_insert(map, keys_on.data, values_on.data, many, &options, t->stream));
        test_array_read(t, &counts_on, after);
        CHECK(t, memcmp(before, after, sizeof before) == 0, "counts of a refused call are written");
        refused_beside_any_view(t, map, many);
        STATUS(t, inserts ? NACRE_ERROR_WOULD_WAIT : NACRE_ERROR_UNSUPPORTED,
               view_begin(t, map, NACRE_ACCESS_INSERT, many, &second, t->stream));
        STATUS(t, beside, view_begin(t, map, NACRE_ACCESS_READ, 0, &second, t->stream));
        if (beside == NACRE_OK) {
            OK(t, view_end(t, map, &second, t->stream));
        }
        STATUS(t, beside, nacre_map_find(map, keys_on.data, n, out.data, NULL, t->stream));
        STATUS(t, inserts ? beside : NACRE_ERROR_WOULD_WAIT,
               nacre_map_insert(map, keys_on.data, values_on.data, n / 2, NULL, t->stream));
        STATUS(t, beside, nacre_map_size(map, &size, &t->error, t->stream));
        CHECK(t, size == n, "%llu keys", LL(size));
        CHECK(t, test_info(t, map).growths == 0, "the table grew");
        OK(t, view_end(t, map, &view, t->stream));
        test_compare(t, map, &o, 100);
    }
    test_do(t, map, &o, NACREI_INSERT, keys, values, many);
    test_do(t, map, &o, NACREI_ERASE, keys, values, n);
    test_compare(t, map, &o, 100);
    test_array_free(t, &keys_on);
    test_array_free(t, &values_on);
    test_array_free(t, &out);
    test_array_free(t, &counts_on);
    free(keys);
    free(values);
    nacre_map_destroy(map);
    oracle_free(&o);
}

NACRE_CONTRACT_TEST_ONCE(view_order, views_on_two_streams_lose_a_key)
{
    /* Goal: views that insert on two streams at once, and batches beside them, each have their own
       room and add up, more views than there are counters for. Method: 60 rounds with overlapping
       views of keys that are partly the same; every fifth round erases through a view on the other
       stream, ordered by the library. */
    if (t->backend != NACRE_BACKEND_CUDA || !view_inserts(t)) {
        return;
    }
    enum { N = 5000, ROUNDS = 60 };
    oracle o;
    oracle_init(&o);
    nacre_map *map = test_map_new(t, 2 * N);
    nacre_stream other;
    OK(t, nacre_stream_create(t->device, &other, &t->error));
    for (uint64_t round = 0; round < ROUNDS; round++) {
        nacrei_view first, second;
        uint64_t *keys = test_keys(t, round * N, 3 * N);
        test_batch halves[2] = {test_batch_of(NACREI_INSERT, keys, keys, 2 * N),
                                test_batch_of(NACREI_INSERT, keys + N, keys + N, 2 * N)};
        view_arrays on[2] = {view_arrays_of(t, &halves[0]), view_arrays_of(t, &halves[1])};
        test_wait(t); /* the view_arrays are filled on one stream */
        /* Rooms that the host cannot know to overlap; growth, if any, before the first is open. */
        OK(t, nacre_map_reserve(map, (round + 8) * N, &t->error, t->stream));
        OK(t, view_begin(t, map, NACRE_ACCESS_INSERT, 2 * N, &first, t->stream));
        OK(t, view_begin(t, map, NACRE_ACCESS_INSERT, 2 * N, &second, other));
        CUDA(t, views_run(&first, 8, 8, &on[0].batch, t->stream));
        CUDA(t, views_run(&second, 8, 8, &on[1].batch, other));
        OK(t, view_end(t, map, &second, other));
        OK(t, nacre_map_insert(map, on[1].keys.data, on[1].values.data, N, NULL, other));
        OK(t, view_end(t, map, &first, t->stream));
        for (uint64_t i = 0; i < 3 * N; i++) {
            oracle_put(&o, keys[i], keys[i]);
        }
        if (round % 5 == 4) { /* waits on the device for both */
            on[0].batch.operation = NACREI_ERASE;
            OK(t, view_begin(t, map, NACRE_ACCESS_ERASE, 0, &first, other));
            CUDA(t, views_run(&first, 8, 8, &on[0].batch, other));
            OK(t, view_end(t, map, &first, other));
            for (uint64_t i = 0; i < 2 * N; i++) {
                oracle_remove(&o, keys[i]);
            }
        }
        if (round % 20 == 19) {
            test_compare(t, map, &o, 100);
        }
        OK(t, nacre_stream_wait(t->device, other, &t->error));
        view_arrays_free(t, &on[0]);
        view_arrays_free(t, &on[1]);
        free(keys);
    }
    test_compare(t, map, &o, 100);
    OK(t, nacre_stream_destroy(t->device, other, &t->error));
    nacre_map_destroy(map);
    oracle_free(&o);
}

NACRE_CONTRACT_TEST_ONCE(view_order, view_that_begins_beside_an_end_misses_room)
{
    /* Goal: a view that begins while another one ends has all of the room that it was promised.
       Method: 500 rounds (50 where tests are short) of two views on two streams that together fill
       a FIXED map, cleared after each: every key has found room. */
    if (t->backend != NACRE_BACKEND_CUDA || !view_inserts(t)) {
        return;
    }
    enum { N = 500 };
    const uint64_t rounds = test_scale(t, 50, 500);
    nacre_map *map = test_map_growing(t, NACRE_GROWTH_FIXED, 2 * N);
    nacre_stream other;
    OK(t, nacre_stream_create(t->device, &other, &t->error));
    uint64_t *keys = test_keys(t, 0, 2 * N);
    test_batch halves[2] = {test_batch_of(NACREI_INSERT, keys, keys, N),
                            test_batch_of(NACREI_INSERT, keys + N, keys + N, N)};
    view_arrays on[2] = {view_arrays_of(t, &halves[0]), view_arrays_of(t, &halves[1])};
    test_wait(t);
    for (uint64_t round = 0; round < rounds; round++) {
        nacrei_view first, second;
        OK(t, view_begin(t, map, NACRE_ACCESS_INSERT, N, &first, t->stream));
        CUDA(t, views_run(&first, 8, 8, &on[0].batch, t->stream));
        OK(t, view_end(t, map, &first, t->stream));
        OK(t, view_begin(t, map, NACRE_ACCESS_INSERT, N, &second, other));
        CUDA(t, views_run(&second, 8, 8, &on[1].batch, other));
        OK(t, view_end(t, map, &second, other));
        OK(t, nacre_stream_wait(t->device, other, &t->error));
        const uint64_t size = test_size(t, map);
        CHECK(t, size == 2 * N, "round %llu: %llu keys", LL(round), LL(size));
        OK(t, nacre_map_clear(map, &t->error, t->stream));
    }
    view_arrays_free(t, &on[0]);
    view_arrays_free(t, &on[1]);
    free(keys);
    nacre_map_destroy(map);
    OK(t, nacre_stream_destroy(t->device, other, &t->error));
}

NACRE_CONTRACT_TEST_ONCE(view_order, open_view_stops_a_deferred_map)
{
    /* Goal: a DEFERRED map puts off the growth that it expects while a view is open, and takes what
       fits; a view that has ended is not ended again by a copy of it. Method: 2000 keys, which let
       it expect more than a submap holds; 100 more beside a view that reads, which say WOULD_WAIT
       where insertions are exclusive. */
    if (t->backend != NACRE_BACKEND_CUDA) {
        return;
    }
    enum { N = 2000, MORE = 100 };
    const bool inserts = view_inserts(t);
    nacre_map_config config = test_map_config(t);
    config.growth = NACRE_GROWTH_DEFERRED;
    nacre_map *map = test_map_create(t, &config);
    uint64_t *keys = test_keys(t, 0, N + MORE);
    test_array keys_on = test_array_of_numbers(t, keys, N + MORE, 8);
    const uint64_t *more = (const uint64_t *)keys_on.data + N;
    nacrei_view view;
    OK(t, nacre_map_insert(map, keys_on.data, keys_on.data, N, NULL, t->stream));
    test_wait(t);
    OK(t, view_begin(t, map, NACRE_ACCESS_READ, 0, &view, t->stream));
    STATUS(t, inserts ? NACRE_OK : NACRE_ERROR_WOULD_WAIT,
           nacre_map_insert(map, more, more, MORE, NULL, t->stream));
    CHECK(t, test_size(t, map) == (inserts ? N + MORE : N), "the size is wrong");
    nacrei_view copy = view;
    OK(t, view_end(t, map, &view, t->stream));
    STATUS(t, NACRE_ERROR_ARGUMENT, view_end(t, map, &copy, t->stream));
    OK(t, nacre_map_clear(map, &t->error, t->stream)); /* no view is open */
    test_array_free(t, &keys_on);
    free(keys);
    nacre_map_destroy(map);
}

/* A view that was begun in a capture and is ended outside of it, and the other way round. */
static void end_outside(test *t, nacre_map *map)
{
    nacrei_view view;
    cudaGraph_t graph;
    test_wait(t);
    CUDA(t, cudaStreamBeginCapture(t->stream, cudaStreamCaptureModeGlobal));
    OK(t, view_begin(t, map, NACRE_ACCESS_INSERT, 0, &view, t->stream));
    CUDA(t, cudaStreamEndCapture(t->stream, &graph));
    CUDA(t, cudaGraphDestroy(graph));
    STATUS(t, NACRE_ERROR_ARGUMENT, view_end(t, map, &view, t->stream)); /* ended nevertheless */
    OK(t, view_begin(t, map, NACRE_ACCESS_ERASE, 0, &view, t->stream));
    CUDA(t, cudaStreamBeginCapture(t->stream, cudaStreamCaptureModeGlobal));
    STATUS(t, NACRE_ERROR_ARGUMENT, view_end(t, map, &view, t->stream)); /* still open */
    CUDA(t, cudaStreamEndCapture(t->stream, &graph));
    CUDA(t, cudaGraphDestroy(graph));
    OK(t, view_end(t, map, &view, t->stream));
}

NACRE_CONTRACT_TEST_ONCE(view_order, view_without_memory_makes_the_map_grow)
{
    /* Goal: where there cannot be memory for a view's keys the map stays as it is. Method: more new
       keys than memory_limit_bytes, or the GPU's memory, has room for; fewer work after it. */
    if (t->backend != NACRE_BACKEND_CUDA || !view_inserts(t)) {
        return;
    }
    for (uint32_t limited = 0; limited < 2; limited++) {
        nacrei_view view;
        nacre_map_config config = test_map_config(t);
        if (limited) {
            OK(t, nacre_map_estimate(t->device, &config, 0, &config.memory_limit_bytes));
            config.memory_limit_bytes += 8000000;
        }
        nacre_map *map = test_map_create(t, &config);
        const nacre_map_info before = test_info(t, map);
        const uint64_t keys = limited ? 1000000 : (uint64_t)1 << 50;
        STATUS(t, NACRE_ERROR_CAPACITY,
               view_begin(t, map, NACRE_ACCESS_INSERT, keys, &view, t->stream));
        const nacre_map_info after = test_info(t, map);
        CHECK(t, after.growths == before.growths && after.memory_bytes == before.memory_bytes,
              "%llu bytes became %llu", LL(before.memory_bytes), LL(after.memory_bytes));
        OK(t, view_begin(t, map, NACRE_ACCESS_INSERT, 100000, &view, t->stream));
        OK(t, view_end(t, map, &view, t->stream));
        OK(t, nacre_map_check(map, &t->error, t->stream));
        nacre_map_destroy(map);
    }
}

NACRE_CONTRACT_TEST_ONCE(view_order, replayed_view_takes_room_that_is_not_there)
{
    /* Goal: a captured view inserts at each replay as far as there is room then, exactly, and stays
       valid after clear; insertions outside know of it; begin and end belong into one capture.
       Method: 2000 new keys a replay into a FIXED map of 5000, cleared after three; then the ways
       to be outside of the capture. */
    if (t->backend != NACRE_BACKEND_CUDA || !view_inserts(t)) {
        return;
    }
    enum { N = 2000, CAPACITY = 5000 };
    oracle o;
    oracle_init(&o);
    nacre_map_config config = test_map_config(t);
    config.growth = NACRE_GROWTH_FIXED;
    config.capacity_keys = o.capacity_keys = CAPACITY;
    nacre_map *map = test_map_create(t, &config);
    nacrei_view view, second;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    uint64_t *keys = test_keys(t, 0, N);
    test_batch b = test_batch_of(NACREI_INSERT, keys, keys, N);
    view_arrays on = view_arrays_of(t, &b);
    test_wait(t);
    CUDA(t, cudaStreamBeginCapture(t->stream, cudaStreamCaptureModeGlobal));
    OK(t, view_begin(t, map, NACRE_ACCESS_INSERT, N, &view, t->stream));
    STATUS(t, NACRE_ERROR_WOULD_WAIT,
           view_begin(t, map, NACRE_ACCESS_INSERT, N, &second, t->stream));
    CUDA(t, views_run(&view, 8, 8, &on.batch, t->stream));
    OK(t, view_end(t, map, &view, t->stream));
    OK(t, view_begin(t, map, NACRE_ACCESS_READ, 0, &second, t->stream));
    OK(t, view_end(t, map, &second, t->stream));
    CUDA(t, cudaStreamEndCapture(t->stream, &graph));
    CUDA(t, cudaGraphInstantiate(&exec, graph, 0));
    CUDA(t, cudaGraphDestroy(graph));
    CHECK(t, test_size(t, map) == 0, "the capture inserted");
    for (uint64_t round = 0; round < 8; round++) {
        free(keys);
        keys = test_keys(t, round * N, N);
        if (round == 3) {
            OK(t, nacre_map_clear(map, &t->error, t->stream));
            oracle_clear(&o);
        }
        test_array from = test_array_of_numbers(t, keys, N, 8);
        OK(t, nacre_memory_copy(t->device, from.data, N * 8, on.keys.data, &t->error, t->stream));
        OK(t, nacre_memory_copy(t->device, from.data, N * 8, on.values.data, &t->error, t->stream));
        CUDA(t, cudaGraphLaunch(exec, t->stream));
        b = test_batch_of(NACREI_INSERT, keys, keys, N);
        view_fetch(t, &on, &b);
        test_batch_judge(t, map, &b, &o);
        test_batch_free(&b);
        test_compare(t, map, &o, 100);
        test_array_free(t, &from);
        if (round == 4) { /* outside of the graph there is room for 1000 - 500 */
            uint64_t *more = test_keys(t, 100 * N, 500);
            test_do(t, map, &o, NACREI_INSERT, more, more, 500);
            b = test_batch_of(NACREI_INSERT, more, more, 500);
            view_do(t, map, &o, &b, 500);
            free(more);
        }
    }
    end_outside(t, map);
    test_compare(t, map, &o, 100);
    CUDA(t, cudaGraphExecDestroy(exec));
    view_arrays_free(t, &on);
    free(keys);
    nacre_map_destroy(map);
    oracle_free(&o);
}
#else
NACRE_CONTRACT_TEST_ONCE(view_order, not_in_this_build)
{
    /* Goal: say that the rows of this file need CUDA. Method: a line. */
    printf("SKIPPED view_order on %s: this build has no CUDA\n", t->backend_name);
}
#endif
