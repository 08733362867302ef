/* SPDX-License-Identifier: Apache-2.0 */
#include "support/oracle.h"

#include <stdlib.h>
#include <string.h>

static void *take(uint64_t count, uint64_t bytes)
{
    void *memory = calloc(count ? count : 1, bytes);
    if (memory == NULL) {
        abort();
    }
    return memory;
}

static void make(oracle *o, uint64_t places)
{
    o->keys = take(places, sizeof *o->keys);
    o->values = take(places, sizeof *o->values);
    o->used = take(places, 1);
    o->places = places;
    o->size = 0;
}

void oracle_init(oracle *o)
{
    make(o, 64);
    o->capacity_keys = UINT64_MAX;
    o->may_be_full = false;
}

void oracle_free(oracle *o)
{
    free(o->keys);
    free(o->values);
    free(o->used);
    memset(o, 0, sizeof *o);
}

void oracle_clear(oracle *o)
{
    memset(o->used, 0, o->places);
    o->size = 0;
}

static uint64_t home(const oracle *o, uint64_t key)
{
    key = (key ^ (key >> 33)) * 0xFF51AFD7ED558CCDu;
    return (key ^ (key >> 33)) & (o->places - 1);
}

/* Where the key is, or the hole where it would go. */
static uint64_t seek(const oracle *o, uint64_t key)
{
    uint64_t place = home(o, key);
    while (o->used[place] && o->keys[place] != key) {
        place = (place + 1) & (o->places - 1);
    }
    return place;
}

uint64_t oracle_place(const oracle *o, uint64_t key)
{
    uint64_t place = seek(o, key);
    return o->used[place] ? place : UINT64_MAX;
}

void oracle_put(oracle *o, uint64_t key, uint64_t value)
{
    if (2 * (o->size + 1) > o->places) {
        oracle old = *o;
        make(o, old.places * 4);
        for (uint64_t i = 0; i < old.places; i++) {
            if (old.used[i]) {
                oracle_put(o, old.keys[i], old.values[i]);
            }
        }
        free(old.keys);
        free(old.values);
        free(old.used);
    }
    uint64_t place = seek(o, key);
    o->size += !o->used[place];
    o->used[place] = 1;
    o->keys[place] = key;
    o->values[place] = value;
}

bool oracle_remove(oracle *o, uint64_t key)
{
    uint64_t mask = o->places - 1;
    uint64_t hole = seek(o, key);
    if (!o->used[hole]) {
        return false;
    }
    /* Whatever could not lie before the hole moves into it, so that no search stops too early. */
    for (uint64_t i = (hole + 1) & mask; o->used[i]; i = (i + 1) & mask) {
        if (((i - home(o, o->keys[i])) & mask) >= ((i - hole) & mask)) {
            o->keys[hole] = o->keys[i];
            o->values[hole] = o->values[i];
            hole = i;
        }
    }
    o->used[hole] = 0;
    o->size--;
    return true;
}

uint64_t *oracle_keys(const oracle *o)
{
    uint64_t *keys = take(o->size, sizeof *keys);
    uint64_t n = 0;
    for (uint64_t i = 0; i < o->places; i++) {
        if (o->used[i]) {
            keys[n++] = o->keys[i];
        }
    }
    return keys;
}
