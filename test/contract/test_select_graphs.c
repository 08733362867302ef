/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA only: selections, match and compaction in captured graphs. Nothing on other backends. */
#include "nacre/core/slot.h"
#include "support/array.h"
#include "support/batch.h"

#if NACRE_HAVE_CUDA
#include "support/cuda.h"

enum { ROOM = 300000, LOOKED_UP = 1000 };

/* What the graph writes. */
typedef struct outputs {
    test_array keys[2], needed[2], matched, match_needed, looked_up, compacted, compact_needed;
    test_array counts;
    void *workspace;
} outputs;

static nacre_options options_of(test *t, uint32_t algorithm)
{
    nacre_options options;
    nacre_options_init(&options, sizeof options);
    options.algorithm = algorithm;
    options.error = &t->error;
    return options;
}

/* Retrieves in both orders, matches, compacts what was retrieved, and erases by `select`. */
static void issue(test *t, nacre_map *map, const nacre_select *select, outputs *out)
{
    const uint32_t algorithms[2] = {NACRE_COMPACT_AUTO, NACRE_COMPACT_STABLE};
    for (uint32_t i = 0; i < 2; i++) {
        nacre_options options = options_of(t, algorithms[i]);
        OK(t, nacre_map_retrieve(map, out->keys[i].data, NULL, ROOM, out->needed[i].data, &options,
                                 t->stream));
    }
    nacre_options options = options_of(t, NACRE_COMPACT_AUTO);
    OK(t, nacre_map_match(map, out->looked_up.data, LOOKED_UP, out->matched.data, 4, NULL,
                          LOOKED_UP, out->match_needed.data, &options, t->stream));
    nacre_compaction what;
    nacre_compaction_init(&what, sizeof what);
    options = options_of(t, NACRE_COMPACT_STABLE);
    options.count_device = out->needed[1].data;
    what.item_bytes = t->key_bytes;
    what.items = out->keys[1].data;
    what.items_out = out->compacted.data;
    what.capacity = ROOM;
    what.needed = out->compact_needed.data;
    what.condition = select->condition;
    what.workspace = out->workspace;
    OK(t, nacre_compact_workspace(t->device, ROOM, NACRE_COMPACT_STABLE, &what.workspace_bytes,
                                  &t->error));
    OK(t, nacre_compact(t->device, &what, ROOM, &options, t->stream));
    options = options_of(t, NACRE_COMPACT_AUTO);
    options.counts = out->counts.data;
    OK(t, nacre_map_erase_if(map, select, &options, t->stream));
}

/* What cannot be captured says so, and leaves the capture alone. */
static void refuse(test *t, nacre_map *map, outputs *out)
{
    nacre_select select;
    nacre_select_init(&select, sizeof select);
    nacre_options options = options_of(t, NACRE_COMPACT_DEVICE_SELECT);
    STATUS(t, NACRE_ERROR_UNSUPPORTED,
           nacre_map_retrieve(map, NULL, NULL, 0, out->needed[0].data, &options, t->stream));
    options.algorithm = NACRE_COMPACT_AUTO;
    select.slot_count = 1000;
    STATUS(t, NACRE_ERROR_UNSUPPORTED,
           nacre_map_count_if(map, &select, out->needed[0].data, &options, t->stream));
}

/* Compares what a replay has written with the oracle, and erases there too. */
static void judge(test *t, outputs *out, oracle *o, uint64_t bit, const uint64_t *looked_up)
{
    uint64_t needed[2], match_needed, compact_needed, hits = 0, kept = 0;
    nacre_counts counts;
    uint64_t *keys = test_host(t, ROOM * 8), *compacted = test_host(t, ROOM * 8);
    test_array_read(t, &out->match_needed, &match_needed);
    test_array_read(t, &out->compact_needed, &compact_needed);
    test_array_read(t, &out->counts, &counts);
    for (uint32_t i = 0; i < 2; i++) {
        oracle seen;
        oracle_init(&seen);
        test_array_read(t, &out->needed[i], &needed[i]);
        test_array_read_numbers(t, &out->keys[i], keys, ROOM, t->key_bytes);
        CHECK(t, needed[i] == o->size, "%llu keys instead of %llu", LL(needed[i]), LL(o->size));
        for (uint64_t k = 0; k < needed[i]; k++) {
            CHECK(t, oracle_has(o, keys[k]) && !oracle_has(&seen, keys[k]), "key 0x%llx",
                  LL(keys[k]));
            oracle_put(&seen, keys[k], 0);
        }
        oracle_free(&seen);
    }
    test_array_read_numbers(t, &out->compacted, compacted, ROOM, t->key_bytes);
    for (uint64_t k = 0; k < needed[1]; k++) {
        if ((keys[k] & bit) != 0) {
            CHECK(t, compacted[kept] == keys[k], "compacted key %llu is another", LL(kept));
            oracle_remove(o, keys[k]);
            kept++;
        }
    }
    CHECK(t, compact_needed == kept && counts.done == kept,
          "%llu compacted, %llu erased instead of %llu", LL(compact_needed), LL(counts.done),
          LL(kept));
    for (uint64_t i = 0; i < LOOKED_UP; i++) {
        hits += oracle_has(o, looked_up[i]) || (looked_up[i] & bit) != 0;
    }
    CHECK(t, match_needed == hits, "%llu matches instead of %llu", LL(match_needed), LL(hits));
    free(keys);
    free(compacted);
}

/* Inserts keys first .. first + count - 1. */
static void add(test *t, nacre_map *map, oracle *o, uint64_t first, uint64_t count)
{
    uint64_t *keys = test_keys(t, first, count), *values = test_values(t, keys, count);
    test_do(t, map, o, NACREI_INSERT, keys, values, count);
    free(keys);
    free(values);
}

NACRE_CONTRACT_TEST(select_graphs, replay_after_growth_sees_a_part)
{
    /* Goal: captured retrieval (in both orders), match, compaction and erasure see the whole map
       when they are replayed, however it grew; what cannot be captured is refused. Method:
       captured over 1,000 keys, replayed over 1,000, 200,000, and what is left. */
    if (t->backend != NACRE_BACKEND_CUDA) {
        return;
    }
    nacre_map *map = test_map_new(t, 0);
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    oracle o;
    outputs out;
    uint64_t bytes = 0;
    oracle_init(&o);
    add(t, map, &o, 0, 1000);
    uint64_t *looked_up = test_keys(t, 0, LOOKED_UP);
    OK(t, nacre_compact_workspace(t->device, ROOM, NACRE_COMPACT_STABLE, &bytes, &t->error));
    OK(t, nacre_memory_allocate(t->device, bytes, NACRE_SPACE_DEVICE, &out.workspace, &t->error));
    out.looked_up = test_array_of_numbers(t, looked_up, LOOKED_UP, t->key_bytes);
    out.matched = test_array_new(t, LOOKED_UP * 4, 4);
    out.compacted = test_array_new(t, ROOM * (uint64_t)t->key_bytes, t->key_bytes);
    out.counts = test_array_new(t, sizeof(nacre_counts), 8);
    test_array *const numbers[] = {&out.needed[0], &out.needed[1], &out.match_needed,
                                   &out.compact_needed};
    for (uint32_t i = 0; i < 4; i++) {
        *numbers[i] = test_array_new(t, 8, 8);
    }
    for (uint32_t i = 0; i < 2; i++) {
        out.keys[i] = test_array_new(t, ROOM * (uint64_t)t->key_bytes, t->key_bytes);
    }
    nacre_select select;
    nacre_select_init(&select, sizeof select);
    select.condition.test = NACRE_TEST_BITS;
    select.condition.mask = select.condition.bits = 4;
    CUDA(t, cudaStreamBeginCapture(t->stream, cudaStreamCaptureModeGlobal));
    refuse(t, map, &out);
    issue(t, map, &select, &out);
    CUDA(t, cudaStreamEndCapture(t->stream, &graph));
    CUDA(t, cudaGraphInstantiate(&exec, graph, 0));
    CUDA(t, cudaGraphDestroy(graph));
    for (uint32_t round = 0; round < 3; round++) {
        test_note(t, "round %u, %llu keys", round, LL(o.size));
        /* Looked up before the replay erases: the first thousand keys are all there. */
        add(t, map, &o, 0, round == 1 ? 200000 : 1000);
        CUDA(t, cudaGraphLaunch(exec, t->stream));
        judge(t, &out, &o, 4, looked_up);
        OK(t, nacre_map_check(map, &t->error, t->stream));
        const uint64_t size = test_size(t, map);
        CHECK(t, size == o.size, "size %llu instead of %llu", LL(size), LL(o.size));
    }
    CUDA(t, cudaGraphExecDestroy(exec));
    OK(t, nacre_memory_release(t->device, out.workspace, &t->error));
    test_array *const arrays[] = {
        &out.keys[0],      &out.keys[1],   &out.needed[0], &out.needed[1],      &out.matched,
        &out.match_needed, &out.looked_up, &out.compacted, &out.compact_needed, &out.counts};
    for (uint32_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        test_array_free(t, arrays[i]);
    }
    nacre_map_destroy(map);
    oracle_free(&o);
    free(looked_up);
}

/* ---- tables of several tiles for each block of a fixed grid ---- */

enum { SCATTERED = 60000 };

/* One retrieval that is captured, and what it writes. */
typedef struct retrieval {
    uint32_t algorithm;
    test_array keys, values, needed;
} retrieval;

/* Captures these retrievals, then an erasure by `select`. */
static cudaGraphExec_t capture_all(test *t, nacre_map *map, const nacre_select *select,
                                   retrieval *all, uint32_t count)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    test_wait(t);
    CUDA(t, cudaStreamBeginCapture(t->stream, cudaStreamCaptureModeGlobal));
    for (uint32_t i = 0; i < count; i++) {
        nacre_options options = options_of(t, all[i].algorithm);
        OK(t, nacre_map_retrieve(map, all[i].keys.data, all[i].values.data, SCATTERED,
                                 all[i].needed.data, &options, t->stream));
    }
    nacre_options options = options_of(t, NACRE_COMPACT_AUTO);
    OK(t, nacre_map_erase_if(map, select, &options, t->stream));
    CUDA(t, cudaStreamEndCapture(t->stream, &graph));
    CUDA(t, cudaGraphInstantiate(&exec, graph, 0));
    CUDA(t, cudaGraphDestroy(graph));
    return exec;
}

/* A replay of one retrieval has written every key of the oracle once, with its value. */
static void judge_retrieval(test *t, const retrieval *r, const oracle *o)
{
    uint64_t needed, *keys = test_host(t, SCATTERED * 8), *values = test_host(t, SCATTERED * 8);
    oracle seen;
    oracle_init(&seen);
    test_array_read(t, &r->needed, &needed);
    CHECK(t, needed == o->size, "algorithm %u: %llu keys instead of %llu", r->algorithm, LL(needed),
          LL(o->size));
    test_array_read_numbers(t, &r->keys, keys, SCATTERED, t->key_bytes);
    if (t->value_bytes != 0) {
        test_array_read_numbers(t, &r->values, values, SCATTERED, t->value_bytes);
    }
    for (uint64_t i = 0; i < needed; i++) {
        CHECK(t, oracle_has(o, keys[i]) && !oracle_has(&seen, keys[i]), "algorithm %u: key 0x%llx",
              r->algorithm, LL(keys[i]));
        CHECK(t, t->value_bytes == 0 || values[i] == oracle_value(o, keys[i]),
              "algorithm %u: key 0x%llx has value 0x%llx", r->algorithm, LL(keys[i]),
              LL(values[i]));
        oracle_put(&seen, keys[i], 0);
    }
    oracle_free(&seen);
    free(keys);
    free(values);
}

/* A table so large that a block of a fixed grid, of up to eight a multiprocessor, has three tiles
   on average, or one and a half. */
static nacre_map *large_map(test *t)
{
    const uint64_t blocks = 8 * test_gpu_attribute(t, cudaDevAttrMultiProcessorCount);
    const uint64_t tiles = (test_short() ? 3 : 6) * blocks / 2, tile_bytes = 16384;
    nacre_map *map =
        test_map_new(t, tiles * tile_bytes / nacrei_slot_bytes(t->key_bytes, t->value_bytes));
    const uint64_t slots = test_info(t, map).capacity_slots;
    CHECK(t, slots >= 2000000 || test_short(), "only %llu slots", LL(slots));
    return map;
}

NACRE_CONTRACT_TEST(select_graphs, second_tile_of_a_block_is_wrong)
{
    /* Goal: captured retrievals, by every algorithm, and erasures give what they should where a
       block of their fixed grid has several tiles, in each replay. Method: keys scattered over a
       large table; half of them are erased by the first replay, and others put in before the
       second. */
    if (t->backend != NACRE_BACKEND_CUDA) {
        return;
    }
    const bool few = nacrei_slot_bytes(t->key_bytes, t->value_bytes) == 4;
    retrieval all[NACRE_COMPACT_STABLE + 1];
    uint32_t count = 0;
    for (uint32_t algorithm = 0; algorithm <= NACRE_COMPACT_STABLE; algorithm++) {
        if (algorithm == NACRE_COMPACT_DEVICE_SELECT ||
            (few && algorithm != NACRE_COMPACT_AUTO && algorithm != NACRE_COMPACT_STABLE)) {
            continue;
        }
        retrieval *r = &all[count++];
        *r = (retrieval){.algorithm = algorithm};
        r->keys = test_array_new(t, SCATTERED * (uint64_t)t->key_bytes, t->key_bytes);
        if (t->value_bytes != 0) {
            r->values = test_array_new(t, SCATTERED * (uint64_t)t->value_bytes, t->value_bytes);
        }
        r->needed = test_array_new(t, 8, 8);
    }
    CHECK(t, count == (few ? 2 : 10), "%u algorithms", count);
    nacre_select select;
    nacre_select_init(&select, sizeof select);
    select.condition.test = NACRE_TEST_BITS;
    select.condition.mask = select.condition.bits = 4;
    nacre_map *map = large_map(t);
    oracle o;
    oracle_init(&o);
    cudaGraphExec_t exec = capture_all(t, map, &select, all, count);
    for (uint32_t round = 0; round < 2; round++) {
        test_note(t, "round %u", round);
        add(t, map, &o, round * (SCATTERED / 2), SCATTERED / 2);
        CUDA(t, cudaGraphLaunch(exec, t->stream));
        for (uint32_t i = 0; i < count; i++) {
            judge_retrieval(t, &all[i], &o);
        }
        uint64_t *keys = oracle_keys(&o);
        for (uint64_t i = 0, size = o.size; i < size; i++) {
            if ((keys[i] & 4) != 0) {
                oracle_remove(&o, keys[i]);
            }
        }
        free(keys);
        const uint64_t size = test_size(t, map);
        CHECK(t, size == o.size, "size %llu instead of %llu", LL(size), LL(o.size));
    }
    CUDA(t, cudaGraphExecDestroy(exec));
    test_compare(t, map, &o, 1000);
    for (uint32_t i = 0; i < count; i++) {
        test_array_free(t, &all[i].keys);
        test_array_free(t, &all[i].values);
        test_array_free(t, &all[i].needed);
    }
    nacre_map_destroy(map);
    oracle_free(&o);
}

#else

NACRE_CONTRACT_TEST_ONCE(select_graphs, not_in_this_build)
{
    /* Goal: say that the rows of this file need CUDA. Method: a line. */
    printf("SKIPPED select_graphs on %s: this build has no CUDA\n", t->backend_name);
}

#endif
