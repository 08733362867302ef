/* SPDX-License-Identifier: Apache-2.0 */
/* retrieve: every key once, never past the end, the needed count always. */
#include "support/batch.h"

/* One retrieve of at most `capacity` keys, into both arrays, one, or none; checks all that comes
   out. */
static void retrieve(test *t, nacre_map *map, const oracle *o, uint64_t capacity, bool with_keys,
                     bool with_values)
{
    uint64_t needed = UINT64_MAX, filled = capacity < o->size ? capacity : o->size;
    test_array needed_on = test_array_new(t, 8, 8);
    test_array keys_on = test_array_new(t, capacity * t->key_bytes, t->key_bytes);
    test_array values_on =
        test_array_new(t, capacity * t->value_bytes, t->value_bytes != 0 ? t->value_bytes : 1);
    OK(t,
       nacre_map_retrieve(map, with_keys ? keys_on.data : NULL, with_values ? values_on.data : NULL,
                          capacity, needed_on.data, NULL, t->stream));
    test_array_read(t, &needed_on, &needed);
    CHECK(t, needed == o->size, "needed is %llu instead of %llu", (unsigned long long)needed,
          (unsigned long long)o->size);
    uint64_t *keys = test_host(t, capacity * 8), *values = test_host(t, capacity * 8);
    uint64_t fill = UINT64_C(0xA5A5A5A5A5A5A5A5);
    test_array_read_numbers(t, &keys_on, keys, capacity, t->key_bytes);
    if (t->value_bytes != 0) {
        test_array_read_numbers(t, &values_on, values, capacity, t->value_bytes);
    }
    oracle seen;
    oracle_init(&seen);
    uint64_t value_sum = 0, wanted_sum = 0;
    for (uint64_t i = 0; i < capacity; i++) {
        if (with_keys && i < filled) {
            CHECK(t, oracle_has(o, keys[i]), "key 0x%llx is not there",
                  (unsigned long long)keys[i]);
            CHECK(t, !oracle_has(&seen, keys[i]), "key 0x%llx twice", (unsigned long long)keys[i]);
            CHECK(t, !with_values || values[i] == oracle_value(o, keys[i]),
                  "key 0x%llx with value 0x%llx", (unsigned long long)keys[i],
                  (unsigned long long)values[i]);
            oracle_put(&seen, keys[i], 0);
        } else {
            CHECK(t, keys[i] == test_cut(fill, t->key_bytes), "keys_out[%llu] was written",
                  (unsigned long long)i);
        }
        value_sum += with_values && i < filled ? values[i] : 0;
        CHECK(t,
              t->value_bytes == 0 || (with_values && i < filled) ||
                  values[i] == test_cut(fill, t->value_bytes),
              "values_out[%llu] was written", (unsigned long long)i);
    }
    for (uint64_t i = 0; i < o->places; i++) {
        wanted_sum += o->used[i] && with_values ? o->values[i] : 0;
    }
    CHECK(t, filled < o->size || value_sum == wanted_sum, "the values are others");
    oracle_free(&seen);
    test_array_free(t, &needed_on);
    test_array_free(t, &keys_on);
    test_array_free(t, &values_on);
    free(keys);
    free(values);
}

static void retrieve_all_ways(test *t, nacre_map *map, const oracle *o)
{
    const uint64_t capacities[] = {
        0, 1, o->size / 2, o->size - (o->size != 0), o->size, o->size + 100};
    for (uint64_t i = 0; i < sizeof capacities / sizeof *capacities; i++) {
        retrieve(t, map, o, capacities[i], true, t->value_bytes != 0);
        retrieve(t, map, o, capacities[i], true, false);
        if (t->value_bytes != 0) {
            retrieve(t, map, o, capacities[i], false, true);
        }
    }
    retrieve(t, map, o, 0, false, false);
    retrieve(t, map, o, 1000, false, false);
}

NACRE_CONTRACT_TEST(retrieve, output_is_overrun_or_misses_a_key)
{
    /* Goal: with any capacity, no more is written than fits, the needed count is told, and a
       sufficient capacity gets every key once (cases 27, 28). Method: sizes 0, 1, 2, 33, 5,000,
       40,000; then half erased; then all. */
    const uint64_t sizes[] = {0, 1, 2, 33, 5000, 40000};
    oracle o;
    oracle_init(&o);
    nacre_map *map = test_map_new(t, 0);
    for (uint64_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint64_t *keys = test_keys(t, 0, sizes[i]), *values = test_values(t, keys, sizes[i]);
        test_do(t, map, &o, NACREI_INSERT_OR_ASSIGN, keys, values, sizes[i]);
        retrieve_all_ways(t, map, &o);
        free(keys);
        free(values);
    }
    uint64_t *keys = test_keys(t, 0, o.size);
    test_do(t, map, &o, NACREI_ERASE, keys, NULL, o.size / 2);
    retrieve_all_ways(t, map, &o);
    test_do(t, map, &o, NACREI_ERASE, keys, NULL, 2 * o.size);
    CHECK(t, o.size == 0, "%llu keys", (unsigned long long)o.size);
    retrieve_all_ways(t, map, &o);
    nacre_map_destroy(map);
    oracle_free(&o);
    free(keys);
}
