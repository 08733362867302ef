/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger of a device: what nacre_memory_allocate handed out, so that a release can be told from
 * a wrong pointer, and the allocator be told the size. Used from any thread.
 */
#ifndef NACRE_LIB_LEDGER_H
#define NACRE_LIB_LEDGER_H

#include <stdint.h>

typedef struct nacrei_ledger nacrei_ledger;

typedef struct nacrei_ledger_entry {
    void *pointer;
    uint64_t bytes;
    uint32_t space;
} nacrei_ledger_entry;

nacrei_ledger *nacrei_ledger_create(void); /* NULL: refused */
void nacrei_ledger_destroy(nacrei_ledger *ledger);

/*
 * Promises room for one entry more, so that adding it cannot fail once memory is there; 0: refused.
 * Each promise is redeemed by one nacrei_ledger_add, with a NULL pointer where the memory was
 * refused.
 */
int nacrei_ledger_reserve(nacrei_ledger *ledger);
void nacrei_ledger_add(nacrei_ledger *ledger, nacrei_ledger_entry entry);

/* Takes the entry of a pointer out; its pointer is NULL where there is none. */
nacrei_ledger_entry nacrei_ledger_take(nacrei_ledger *ledger, void *pointer);

#endif
