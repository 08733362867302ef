/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads of a device. They are started at the first large batch, stay until the device goes,
 * and receive no signals. One job at a time: who finds the pool taken works on alone.
 *
 * pthreads and not C11 threads, because ThreadSanitizer does not know those.
 */
#ifndef NACRE_LIB_CPU_POOL_H
#define NACRE_LIB_CPU_POOL_H

#include <stdint.h>

typedef struct nacrei_pool nacrei_pool;

/* One share of a job: called once for each part, by any of the threads. */
typedef void nacrei_pool_task(void *context, uint32_t part);

/* Threads that this process may use at a time, by its affinity mask and the quota of its cgroup. */
uint32_t nacrei_pool_threads_allowed(void);

/*
 * The processors of the quota in force for the groups that the file `groups` names, as
 * /proc/self/cgroup does, and whose folders lie under `root`, /sys/fs/cgroup; 0: unlimited.
 */
uint32_t nacrei_pool_quota(const char *groups, const char *root);

/* A pool of `threads` threads, the caller's included; none is started yet. NULL: no memory. */
nacrei_pool *nacrei_pool_create(uint32_t threads);
void nacrei_pool_destroy(nacrei_pool *pool);

enum { NACREI_POOL_TAKEN, NACREI_POOL_BUSY, NACREI_POOL_FORKED };

/*
 * Takes the pool for the calling thread and starts its threads if they are not there. BUSY: another
 * thread has it, or none could be started. FORKED: the threads were started by the parent process
 * and do not exist in this one.
 */
int nacrei_pool_take(nacrei_pool *pool);
void nacrei_pool_give(nacrei_pool *pool);

/* Runs parts 0 .. parts - 1 on all threads, the caller's included, and returns when all are done.
 */
void nacrei_pool_run(nacrei_pool *pool, nacrei_pool_task *task, void *context, uint32_t parts);

/* Threads that a run uses, the caller's included. Only while the pool is taken. */
uint32_t nacrei_pool_size(const nacrei_pool *pool);

/*
 * Memory for the one who has taken the pool: one piece of each kind, whose content lasts until it
 * is given back or asked for again. NULL: refused.
 */
enum { NACREI_POOL_COPIES, NACREI_POOL_SPLITS, NACREI_POOL_SCRATCHES };
void *nacrei_pool_scratch(nacrei_pool *pool, uint32_t kind, uint64_t bytes);

#endif
