/* SPDX-License-Identifier: Apache-2.0 */
#include "support/batch.h"

#include "support/reduce.h"

#define LL(x) ((unsigned long long)(x))

const char *test_operation_name(uint32_t operation)
{
    static const char *const names[NACREI_OPERATIONS] = {
        "insert", "insert_or_assign", "insert_or_apply", "find_or_insert",
        "assign", "find",             "contains",        "erase"};
    return operation < NACREI_OPERATIONS ? names[operation] : "unknown";
}

test_batch test_batch_of(uint32_t operation, const uint64_t *keys, const uint64_t *values,
                         uint64_t count)
{
    test_batch b;
    memset(&b, 0, sizeof b);
    b.operation = operation;
    b.keys = keys;
    b.values = values;
    b.count = count;
    return b;
}

void test_batch_free(test_batch *b)
{
    free(b->outcomes);
    free(b->values_out);
    free(b->contained);
    b->outcomes = NULL;
    b->values_out = NULL;
    b->contained = NULL;
}

/* ---- the call ---- */

/* The arrays of one call on the device. */
typedef struct arrays {
    test_array keys, values, values_out, contained, outcomes, counts, mask, count_device;
} arrays;

static test_array mask_array(test *t, const test_batch *b)
{
    bool bits = b->mask_kind == NACRE_MASK_BITS;
    uint64_t bytes = b->mask_offset + b->count;
    bytes = bits ? (bytes + 7) / 8 : bytes;
    uint8_t *mask = test_host(t, bytes);
    for (uint64_t i = 0; i < bytes; i++) { /* what lies outside of the range is noise */
        mask[i] = (uint8_t)test_random(&t->random);
    }
    for (uint64_t i = 0; i < b->count; i++) {
        uint64_t place = b->mask_offset + i;
        if (!bits) {
            mask[place] = b->take[i] ? (uint8_t)(1 + test_random_below(&t->random, 255)) : 0;
        } else if (b->take[i]) {
            mask[place / 8] |= (uint8_t)(1u << (place % 8));
        } else {
            mask[place / 8] &= (uint8_t)~(1u << (place % 8));
        }
    }
    test_array array = test_array_of(t, mask, bytes, 1);
    test_wait(t);
    free(mask);
    return array;
}

static nacre_status call(test *t, nacre_map *map, test_batch *b, const arrays *on,
                         const nacre_options *options)
{
    const void *keys = on->keys.data, *values = on->values.data;
    void *out = b->in_place ? on->values.data : on->values_out.data;
    switch (b->operation) {
    case NACREI_INSERT:
        return nacre_map_insert(map, keys, values, b->count, options, t->stream);
    case NACREI_INSERT_OR_ASSIGN:
        return nacre_map_insert_or_assign(map, keys, values, b->count, options, t->stream);
    case NACREI_INSERT_OR_APPLY:
        return nacre_map_insert_or_apply(map, keys, values, b->count, b->reduction, b->type,
                                         options, t->stream);
    case NACREI_FIND_OR_INSERT:
        return nacre_map_find_or_insert(map, keys, values, b->count, out, options, t->stream);
    case NACREI_ASSIGN:
        return nacre_map_assign(map, keys, values, b->count, options, t->stream);
    case NACREI_FIND:
        return nacre_map_find(map, keys, b->count, out, options, t->stream);
    case NACREI_CONTAINS:
        return nacre_map_contains(map, keys, b->count, on->contained.data, options, t->stream);
    default:
        return nacre_map_erase(map, keys, b->count, options, t->stream);
    }
}

void test_batch_call(test *t, nacre_map *map, test_batch *b)
{
    arrays on;
    nacre_options options;
    memset(&on, 0, sizeof on);
    nacre_options_init(&options, sizeof options);
    options.flags = b->flags;
    options.error = &t->error;
    bool finds = b->operation == NACREI_FIND || b->operation == NACREI_FIND_OR_INSERT;
    on.keys = test_array_of_numbers(t, b->keys, b->count, t->key_bytes);
    on.values = test_array_of_numbers(t, b->values, b->count, t->value_bytes);
    if (finds && t->value_bytes != 0 && !b->in_place) {
        on.values_out = test_array_new(t, b->count * t->value_bytes, t->value_bytes);
    }
    b->untouched = test_cut(UINT64_C(0x0101010101010101) * TEST_FILL, t->value_bytes);
    if (b->operation == NACREI_CONTAINS) {
        on.contained = test_array_new(t, b->count, 1);
    }
    if (!b->without_outcomes && !b->without_options) {
        on.outcomes = test_array_new(t, b->count, 1);
        options.outcomes = on.outcomes.data;
    }
    if (!b->without_counts && !b->without_options) {
        on.counts = test_array_new(t, sizeof b->counts, 8);
        options.counts = on.counts.data;
    }
    if (b->take != NULL) {
        on.mask = mask_array(t, b);
        options.mask = on.mask.data;
        options.mask_kind = b->mask_kind;
        options.mask_offset = b->mask_offset;
    }
    if (b->count_device != NULL) {
        on.count_device = test_array_of(t, b->count_device, 8, 8);
        options.count_device = on.count_device.data;
    }
    uint32_t missing32 = b->missing_value != NULL ? (uint32_t)*b->missing_value : 0;
    if (b->missing_value != NULL) {
        options.missing_value =
            t->value_bytes == 4 ? (const void *)&missing32 : (const void *)b->missing_value;
    }
    b->status = call(t, map, b, &on, b->without_options ? NULL : &options);
    missing32 = 0x5C5C5C5C; /* host memory is the caller's again when the call has returned */
    test_wait(t);
    test_batch_free(b);
    if (on.outcomes.data != NULL) {
        b->outcomes = test_host(t, b->count);
        test_array_read(t, &on.outcomes, b->outcomes);
    }
    if (on.counts.data != NULL) {
        test_array_read(t, &on.counts, &b->counts);
    }
    if (finds && t->value_bytes != 0) {
        b->values_out = test_host(t, b->count * 8);
        test_array_read_numbers(t, b->in_place ? &on.values : &on.values_out, b->values_out,
                                b->count, t->value_bytes);
    }
    if (on.contained.data != NULL) {
        b->contained = test_host(t, b->count);
        test_array_read(t, &on.contained, b->contained);
    }
    test_array *all = (test_array *)&on;
    for (uint64_t i = 0; i < sizeof on / sizeof *all; i++) {
        test_array_free(t, &all[i]);
    }
}

/* ---- the judge ---- */

/* The elements of a batch that share a key: a chain through `next`, ending in UINT64_MAX. */
typedef struct group {
    uint64_t key;
    uint64_t first;
    bool present; /* after the call, by asking the map */
    uint64_t value;
} group;

typedef struct judge {
    test *t;
    test_batch *b;
    oracle *o;
    group *groups;
    uint64_t group_count;
    uint64_t *next;
    uint64_t *group_of; /* per element; UINT64_MAX: it takes no part */
    bool may_be_full;
    uint64_t taking_part;
    uint64_t new_keys;      /* distinct keys that were not there */
    uint64_t inserted_keys; /* and are now */
    uint64_t erased_keys;
} judge;

static void gather(judge *j)
{
    test *t = j->t;
    test_batch *b = j->b;
    uint64_t places = 16;
    while (places < 2 * b->count) {
        places *= 2;
    }
    uint64_t *table = test_host(t, places * 8);
    memset(table, 0xFF, places * 8);
    j->groups = test_host(t, b->count * sizeof *j->groups);
    j->next = test_host(t, b->count * 8);
    j->group_of = test_host(t, b->count * 8);
    uint64_t limit = b->count;
    if (b->count_device != NULL && *b->count_device < limit) {
        limit = *b->count_device;
    }
    for (uint64_t i = 0; i < b->count; i++) {
        uint64_t key = test_cut(b->keys[i], t->key_bytes);
        j->group_of[i] = UINT64_MAX;
        if (i >= limit || (b->take != NULL && b->take[i] == 0)) {
            continue;
        }
        j->taking_part++;
        uint64_t place = test_mix(key) & (places - 1);
        while (table[place] != UINT64_MAX && j->groups[table[place]].key != key) {
            place = (place + 1) & (places - 1);
        }
        if (table[place] == UINT64_MAX) {
            table[place] = j->group_count;
            group fresh = {key, UINT64_MAX, false, 0};
            j->groups[j->group_count++] = fresh;
        }
        group *g = &j->groups[table[place]];
        j->next[i] = g->first;
        g->first = i;
        j->group_of[i] = table[place];
    }
    free(table);
}

/* Which of the batch's keys are there now, with which value. */
static void ask(judge *j, nacre_map *map)
{
    test *t = j->t;
    uint64_t *keys = test_host(t, j->group_count * 8);
    for (uint64_t i = 0; i < j->group_count; i++) {
        keys[i] = j->groups[i].key;
    }
    test_batch find = test_batch_of(t->value_bytes != 0 ? NACREI_FIND : NACREI_CONTAINS, keys, NULL,
                                    j->group_count);
    test_batch_call(t, map, &find);
    CHECK(t, find.status == NACRE_OK, "a find says %s", nacre_status_name(find.status));
    for (uint64_t i = 0; i < j->group_count; i++) {
        j->groups[i].present = find.outcomes[i] == NACRE_OUTCOME_FOUND;
        CHECK(t, j->groups[i].present || find.outcomes[i] == NACRE_OUTCOME_MISSING,
              "outcome %u of a find", find.outcomes[i]);
        j->groups[i].value = t->value_bytes != 0 ? find.values_out[i] : 0;
    }
    test_batch_free(&find);
    free(keys);
}

static uint64_t value_of(const judge *j, uint64_t i)
{
    const test_batch *b = j->b;
    if (j->t->value_bytes == 0) {
        return 0;
    }
    if (b->values == NULL) { /* the number 1 */
        return b->type == NACRE_TYPE_F32   ? test_f32_bits(1.0f)
               : b->type == NACRE_TYPE_F64 ? test_f64_bits(1.0)
                                           : 1;
    }
    return test_cut(b->values[i], j->t->value_bytes);
}

#define JUDGE(condition, ...)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s of %llu elements, key 0x%llx:", test_operation_name(j->b->operation), \
                    LL(j->b->count), LL(g->key));                                                  \
            test_fail(j->t, __FILE__, __LINE__, #condition, __VA_ARGS__);                          \
        }                                                                                          \
    } while (0)

/* A key of an inserting batch: outcomes first, then the value. */
static void judge_insertion(judge *j, const group *g)
{
    test_batch *b = j->b;
    bool was = oracle_has(j->o, g->key);
    bool assigns = b->operation == NACREI_INSERT_OR_ASSIGN || b->operation == NACREI_INSERT_OR_APPLY;
    uint8_t old_outcome = assigns ? NACRE_OUTCOME_ASSIGNED : NACRE_OUTCOME_FOUND;
    uint64_t inserted = 0, full = 0, first = UINT64_MAX;
    JUDGE(!was || g->present, "a key that was there is lost");
    j->new_keys += !was;
    j->inserted_keys += !was && g->present;
    for (uint64_t i = g->first; i != UINT64_MAX && b->outcomes != NULL; i = j->next[i]) {
        if (b->outcomes[i] == NACRE_OUTCOME_INSERTED) {
            inserted++;
            first = i;
        } else if (b->outcomes[i] == NACRE_OUTCOME_FULL) {
            full++;
        } else {
            JUDGE(b->outcomes[i] == old_outcome, "outcome %u of element %llu", b->outcomes[i], LL(i));
        }
    }
    if (b->outcomes != NULL) {
        JUDGE(inserted == (!was && g->present), "%llu elements say INSERTED, the key was %s, is %s",
              LL(inserted), was ? "there" : "not there", g->present ? "there" : "not there");
        JUDGE(full == 0 || (!was && j->may_be_full), "%llu elements say FULL", LL(full));
    }
    JUDGE(g->present || j->may_be_full, "not there after its insertion");
    if (!g->present) {
        return;
    }
    bool keeps = !assigns, known = false;
    uint64_t sum = was ? oracle_value(j->o, g->key) : 0;
    bool begun = was;
    if (keeps && was) {
        known = g->value == sum;
    } else if (keeps && first != UINT64_MAX) {
        known = g->value == value_of(j, first);
    } else {
        for (uint64_t i = g->first; i != UINT64_MAX; i = j->next[i]) {
            uint64_t value = value_of(j, i);
            if (b->outcomes != NULL && b->outcomes[i] == NACRE_OUTCOME_FULL) {
                continue;
            }
            known |= b->operation != NACREI_INSERT_OR_APPLY && g->value == value;
            sum = begun ? test_reduce(sum, value, b->reduction, b->type) : value;
            begun = true;
        }
        if (b->operation == NACREI_INSERT_OR_APPLY) {
            known = test_same(g->value, sum, b->type) != 0;
        }
    }
    JUDGE(known, "its value is 0x%llx, which it may not be (0x%llx?)", LL(g->value), LL(sum));
    oracle_put(j->o, g->key, g->value);
}

static void judge_assignment(judge *j, const group *g)
{
    test_batch *b = j->b;
    bool was = oracle_has(j->o, g->key), known = false;
    JUDGE(was == g->present, "the key was %s, is %s", was ? "there" : "not there",
          g->present ? "there" : "not there");
    for (uint64_t i = g->first; i != UINT64_MAX; i = j->next[i]) {
        known |= g->value == value_of(j, i);
        JUDGE(b->outcomes == NULL ||
                  b->outcomes[i] == (was ? NACRE_OUTCOME_ASSIGNED : NACRE_OUTCOME_MISSING),
              "outcome %u of element %llu", b->outcomes[i], LL(i));
    }
    if (was) {
        JUDGE(known, "its value is 0x%llx, which was not given", LL(g->value));
        oracle_put(j->o, g->key, g->value);
    }
}

static void judge_erasure(judge *j, const group *g)
{
    test_batch *b = j->b;
    bool was = oracle_remove(j->o, g->key);
    uint64_t erased = 0;
    j->erased_keys += was;
    JUDGE(!g->present, "there after its erasure");
    for (uint64_t i = g->first; i != UINT64_MAX && b->outcomes != NULL; i = j->next[i]) {
        erased += b->outcomes[i] == NACRE_OUTCOME_ERASED;
        JUDGE(b->outcomes[i] == NACRE_OUTCOME_ERASED || b->outcomes[i] == NACRE_OUTCOME_MISSING,
              "outcome %u of element %llu", b->outcomes[i], LL(i));
    }
    JUDGE(b->outcomes == NULL || erased == was, "%llu elements say ERASED, the key was %s",
          LL(erased), was ? "there" : "not there");
}

static void judge_search(judge *j, group *g)
{
    test_batch *b = j->b;
    g->present = oracle_has(j->o, g->key);
    g->value = g->present ? oracle_value(j->o, g->key) : 0;
    for (uint64_t i = g->first; i != UINT64_MAX && b->outcomes != NULL; i = j->next[i]) {
        JUDGE(b->outcomes[i] == (g->present ? NACRE_OUTCOME_FOUND : NACRE_OUTCOME_MISSING),
              "outcome %u of element %llu", b->outcomes[i], LL(i));
    }
}

/* Outputs and counts, element by element. */
static void judge_elements(judge *j)
{
    test *t = j->t;
    test_batch *b = j->b;
    nacre_counts counts = {0, 0, b->count - j->taking_part};
    bool sure = b->outcomes != NULL || !j->may_be_full;
    for (uint64_t i = 0; i < b->count; i++) {
        const group *g = j->group_of[i] == UINT64_MAX ? NULL : &j->groups[j->group_of[i]];
        uint8_t outcome = b->outcomes != NULL ? b->outcomes[i] : 0;
        if (b->outcomes != NULL) {
            CHECK(t, (g == NULL) == (outcome == NACRE_OUTCOME_SKIPPED),
                  "outcome %u of element %llu, which takes %s part", outcome, LL(i),
                  g == NULL ? "no" : "");
            counts.refused += outcome == NACRE_OUTCOME_FULL;
        }
        bool has = g != NULL && g->present && outcome != NACRE_OUTCOME_FULL;
        counts.done += has;
        if (b->values_out != NULL) {
            uint64_t wanted = b->in_place ? value_of(j, i) : b->untouched;
            wanted = has ? g->value
                     : g != NULL && b->missing_value != NULL
                         ? test_cut(*b->missing_value, t->value_bytes)
                         : wanted;
            CHECK(t, b->values_out[i] == wanted || !sure,
                  "%s: values_out[%llu] is 0x%llx instead of 0x%llx, key 0x%llx is %s",
                  test_operation_name(b->operation), LL(i), LL(b->values_out[i]), LL(wanted),
                  LL(b->keys[i]), has ? "there" : g == NULL ? "left out" : "missing");
        }
        if (b->contained != NULL) {
            uint8_t wanted = g == NULL ? TEST_FILL : has;
            CHECK(t, b->contained[i] == wanted, "contained[%llu] is %u instead of %u, key 0x%llx",
                  LL(i), b->contained[i], wanted, LL(b->keys[i]));
        }
    }
    if (b->operation == NACREI_ERASE) {
        counts.done = j->erased_keys;
    }
    if (!b->without_counts && !b->without_options && sure) {
        CHECK(t, memcmp(&counts, &b->counts, sizeof counts) == 0,
              "%s: counts {done %llu, refused %llu, skipped %llu} instead of {%llu, %llu, %llu}",
              test_operation_name(b->operation), LL(b->counts.done), LL(b->counts.refused),
              LL(b->counts.skipped), LL(counts.done), LL(counts.refused), LL(counts.skipped));
    }
}

void test_batch_judge(test *t, nacre_map *map, test_batch *b, oracle *o)
{
    judge j;
    memset(&j, 0, sizeof j);
    j.t = t;
    j.b = b;
    j.o = o;
    gather(&j);
    uint64_t room = o->capacity_keys - o->size, size = o->size;
    bool searches = b->operation == NACREI_FIND || b->operation == NACREI_CONTAINS;
    bool inserts = b->operation <= NACREI_FIND_OR_INSERT;
    if (!searches) {
        ask(&j, map);
    }
    if (inserts) { /* FULL needs a reason: more new keys than the map promises to take */
        uint64_t fresh = 0;
        for (uint64_t i = 0; i < j.group_count; i++) {
            fresh += !oracle_has(o, j.groups[i].key);
        }
        j.may_be_full = o->may_be_full || fresh > room;
    }
    for (uint64_t i = 0; i < j.group_count; i++) {
        group *g = &j.groups[i];
        if (searches) {
            judge_search(&j, g);
        } else if (inserts) {
            judge_insertion(&j, g);
        } else if (b->operation == NACREI_ASSIGN) {
            judge_assignment(&j, g);
        } else {
            judge_erasure(&j, g);
        }
    }
    if (inserts && !o->may_be_full) {
        uint64_t wanted = j.new_keys < room ? j.new_keys : room;
        CHECK(t, j.inserted_keys == wanted,
              "%llu of %llu new keys were inserted, %llu fit: size was %llu, capacity %llu",
              LL(j.inserted_keys), LL(j.new_keys), LL(wanted), LL(size), LL(o->capacity_keys));
    }
    judge_elements(&j);
    free(j.groups);
    free(j.next);
    free(j.group_of);
}

void test_batch_run(test *t, nacre_map *map, test_batch *b, oracle *o)
{
    test_batch_call(t, map, b);
    CHECK(t, b->status == NACRE_OK, "%s of %llu elements says %s: %s",
          test_operation_name(b->operation), LL(b->count), nacre_status_name(b->status),
          t->error.message);
    test_batch_judge(t, map, b, o);
}

void test_do(test *t, nacre_map *map, oracle *o, uint32_t operation, const uint64_t *keys,
             const uint64_t *values, uint64_t count)
{
    test_batch b = test_batch_of(operation, keys, values, count);
    b.type = t->value_bytes == 4 ? NACRE_TYPE_U32 : NACRE_TYPE_U64;
    test_batch_run(t, map, &b, o);
    test_batch_free(&b);
}

void test_do_one(test *t, nacre_map *map, oracle *o, uint32_t operation, uint64_t key,
                 uint64_t value)
{
    test_do(t, map, o, operation, &key, &value, 1);
}

/* ---- the whole map ---- */

uint64_t test_size(test *t, nacre_map *map)
{
    uint64_t size = UINT64_MAX, async = UINT64_MAX;
    test_array on = test_array_new(t, 8, 8);
    OK(t, nacre_map_size_async(map, on.data, &t->error, t->stream));
    test_array_read(t, &on, &async);
    test_array_free(t, &on);
    OK(t, nacre_map_size(map, &size, &t->error, t->stream));
    CHECK(t, size == async, "size is %llu, size_async %llu", LL(size), LL(async));
    return size;
}

static void compare_info(test *t, nacre_map *map, const oracle *o)
{
    nacre_map_info info;
    nacre_map_info_init(&info, sizeof info);
    OK(t, nacre_map_info_get(map, &info, &t->error));
    CHECK(t, info.size_last_known == o->size, "info says %llu keys instead of %llu",
          LL(info.size_last_known), LL(o->size));
    CHECK(t, info.key_bytes == t->key_bytes && info.value_bytes == t->value_bytes,
          "info says widths (%u,%u)", info.key_bytes, info.value_bytes);
    CHECK(t, info.memory_bytes <= info.memory_peak_bytes, "%llu bytes now, %llu at the peak",
          LL(info.memory_bytes), LL(info.memory_peak_bytes));
    CHECK(t, info.capacity_slots == 0 || info.load == (double)o->size / (double)info.capacity_slots,
          "load is %g, with %llu of %llu slots", info.load, LL(o->size), LL(info.capacity_slots));
    CHECK(t, info.capacity_keys >= o->size || o->may_be_full, "capacity %llu, but %llu keys",
          LL(info.capacity_keys), LL(o->size));
}

static void compare_retrieved(test *t, nacre_map *map, const oracle *o)
{
    uint64_t needed = UINT64_MAX;
    test_array needed_on = test_array_new(t, 8, 8);
    test_array keys_on = test_array_new(t, o->size * t->key_bytes, t->key_bytes);
    test_array values_on = test_array_new(t, o->size * t->value_bytes, t->value_bytes != 0 ? t->value_bytes : 1);
    OK(t, nacre_map_retrieve(map, keys_on.data, t->value_bytes != 0 ? values_on.data : NULL, o->size,
                             needed_on.data, NULL, t->stream));
    test_array_read(t, &needed_on, &needed);
    CHECK(t, needed == o->size, "retrieve needs %llu, %llu keys are there", LL(needed), LL(o->size));
    uint64_t *keys = test_host(t, o->size * 8), *values = test_host(t, o->size * 8);
    uint8_t *seen = test_host(t, o->places);
    memset(seen, 0, o->places);
    test_array_read_numbers(t, &keys_on, keys, o->size, t->key_bytes);
    if (t->value_bytes != 0) {
        test_array_read_numbers(t, &values_on, values, o->size, t->value_bytes);
    }
    for (uint64_t i = 0; i < o->size; i++) {
        uint64_t place = oracle_place(o, keys[i]);
        CHECK(t, place != UINT64_MAX, "retrieve gives key 0x%llx, which is not there", LL(keys[i]));
        CHECK(t, !seen[place], "retrieve gives key 0x%llx twice", LL(keys[i]));
        seen[place] = 1;
        CHECK(t, t->value_bytes == 0 || values[i] == o->values[place],
              "retrieve gives key 0x%llx the value 0x%llx instead of 0x%llx", LL(keys[i]),
              LL(values[i]), LL(o->values[place]));
    }
    free(keys);
    free(values);
    free(seen);
    test_array_free(t, &needed_on);
    test_array_free(t, &keys_on);
    test_array_free(t, &values_on);
}

void test_compare(test *t, nacre_map *map, const oracle *o, uint64_t misses)
{
    uint64_t size = test_size(t, map);
    CHECK(t, size == o->size, "size is %llu instead of %llu", LL(size), LL(o->size));
    OK(t, nacre_map_check(map, &t->error, t->stream));
    compare_info(t, map, o);
    compare_retrieved(t, map, o);
    uint64_t *keys = realloc(oracle_keys(o), (o->size + misses + 1) * 8);
    CHECK(t, keys != NULL, "no host memory");
    for (uint64_t i = 0; i < misses; i++) {
        keys[o->size + i] = test_cut(test_random(&t->random), t->key_bytes);
    }
    oracle same = *o; /* searches change nothing */
    for (uint32_t operation = NACREI_FIND; operation <= NACREI_CONTAINS; operation++) {
        if (operation == NACREI_CONTAINS || t->value_bytes != 0) {
            test_do(t, map, &same, operation, keys, NULL, o->size + misses);
        }
    }
    free(keys);
}
