/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA only: selections, match and compaction in captured graphs. Nothing on other backends. */
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

#else

NACRE_CONTRACT_TEST_ONCE(select_graphs, not_in_this_build)
{
    /* Goal: say that the rows of this file need CUDA. Method: a line. */
    printf("SKIPPED select_graphs on %s: this build has no CUDA\n", t->backend_name);
}

#endif
