/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The oracle: what a map should hold. Open addressing, one key after another, erasing by moving
 * back; written from scratch, so that it shares no mistake with the library. It says nothing on
 * errors: when memory runs out it aborts.
 */
#ifndef NACRE_TEST_ORACLE_H
#define NACRE_TEST_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct oracle {
    uint64_t *keys;
    uint64_t *values;
    uint8_t *used;
    uint64_t places; /* a power of two */
    uint64_t size;
    uint64_t capacity_keys; /* a FIXED map: exactly so many keys fit; UINT64_MAX: any number */
    bool may_be_full;       /* new keys may report FULL though there seems to be room */
} oracle;

void oracle_init(oracle *o);
void oracle_free(oracle *o);
void oracle_clear(oracle *o);

/* The place of a key, or UINT64_MAX. */
uint64_t oracle_place(const oracle *o, uint64_t key);

static inline bool oracle_has(const oracle *o, uint64_t key)
{
    return oracle_place(o, key) != UINT64_MAX;
}

/* The value of a key that is there. */
static inline uint64_t oracle_value(const oracle *o, uint64_t key)
{
    return o->values[oracle_place(o, key)];
}

/* Inserts or overwrites. */
void oracle_put(oracle *o, uint64_t key, uint64_t value);

/* True if the key was there. */
bool oracle_remove(oracle *o, uint64_t key);

/* All keys, in a fresh array of o->size; the caller frees it. */
uint64_t *oracle_keys(const oracle *o);

#endif
