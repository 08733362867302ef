/* SPDX-License-Identifier: Apache-2.0 */
/* The judge: test_batch_judge, see batch.h. */
#include "support/batch.h"
#include "support/reduce.h"

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

#define JUDGE(condition, ...)                                                                 \
    do {                                                                                      \
        if (!(condition)) {                                                                   \
            fprintf(stderr,                                                                   \
                    "%s of %llu elements, key 0x%llx:", test_operation_name(j->b->operation), \
                    LL(j->b->count), LL(g->key));                                             \
            test_fail(j->t, __FILE__, __LINE__, #condition, __VA_ARGS__);                     \
        }                                                                                     \
    } while (0)

/* A key of an inserting batch: outcomes first, then the value. */
static void judge_insertion(judge *j, const group *g)
{
    test_batch *b = j->b;
    bool was = oracle_has(j->o, g->key);
    bool assigns =
        b->operation == NACREI_INSERT_OR_ASSIGN || b->operation == NACREI_INSERT_OR_APPLY;
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
            JUDGE(b->outcomes[i] == old_outcome, "outcome %u of element %llu", b->outcomes[i],
                  LL(i));
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
                  LL(b->keys[i]),
                  has         ? "there"
                  : g == NULL ? "left out"
                              : "missing");
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
