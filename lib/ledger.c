/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ledger.h"

#include <pthread.h>
#include <stdlib.h>

struct nacrei_ledger {
    pthread_mutex_t lock;
    nacrei_ledger_entry *entries;
    uint64_t count;
    uint64_t reserved; /* entries promised and not added yet */
    uint64_t room;
};

nacrei_ledger *nacrei_ledger_create(void)
{
    nacrei_ledger *ledger = calloc(1, sizeof *ledger);
    if (ledger != NULL) {
        pthread_mutex_init(&ledger->lock, NULL);
    }
    return ledger;
}

void nacrei_ledger_destroy(nacrei_ledger *ledger)
{
    if (ledger != NULL) {
        pthread_mutex_destroy(&ledger->lock);
        free(ledger->entries);
        free(ledger);
    }
}

int nacrei_ledger_reserve(nacrei_ledger *ledger)
{
    int done = 1;
    pthread_mutex_lock(&ledger->lock);
    if (ledger->count + ledger->reserved == ledger->room) {
        uint64_t room = ledger->room == 0 ? 16 : 2 * ledger->room;
        nacrei_ledger_entry *entries = realloc(ledger->entries, room * sizeof *entries);
        if (entries != NULL) {
            ledger->entries = entries;
            ledger->room = room;
        } else {
            done = 0;
        }
    }
    ledger->reserved += (uint64_t)done;
    pthread_mutex_unlock(&ledger->lock);
    return done;
}

void nacrei_ledger_add(nacrei_ledger *ledger, nacrei_ledger_entry entry)
{
    pthread_mutex_lock(&ledger->lock);
    ledger->reserved--;
    if (entry.pointer != NULL) {
        ledger->entries[ledger->count++] = entry;
    }
    pthread_mutex_unlock(&ledger->lock);
}

nacrei_ledger_entry nacrei_ledger_take(nacrei_ledger *ledger, void *pointer)
{
    nacrei_ledger_entry entry = {NULL, 0, 0};
    pthread_mutex_lock(&ledger->lock);
    uint64_t i = ledger->count; /* backwards: what is released soon was allocated last */
    while (i > 0 && ledger->entries[i - 1].pointer != pointer) {
        i--;
    }
    if (i > 0) {
        entry = ledger->entries[i - 1];
        ledger->entries[i - 1] = ledger->entries[--ledger->count];
    }
    pthread_mutex_unlock(&ledger->lock);
    return entry;
}
