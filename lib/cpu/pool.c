/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/cpu/pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct nacrei_pool {
    uint32_t threads; /* wanted, the caller's included */
    uint32_t started; /* helpers that run */
    pid_t owner;      /* the process that started them; 0: not started */
    pthread_t *helpers;
    pthread_mutex_t taken; /* held by the thread that has taken the pool */

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t wake;  /* a job began, or the end */
    pthread_cond_t idle;  /* the last helper left the job */
    uint64_t job;         /* counts jobs, so that a helper joins each at most once */
    uint32_t busy;        /* helpers inside the job */
    int ending;
    nacrei_pool_task *task;
    void *context;
    uint32_t parts;
    uint32_t next; /* the first part nobody has begun; taken by __atomic */

    void *scratch[NACREI_POOL_SCRATCHES];
    uint64_t scratch_bytes[NACREI_POOL_SCRATCHES];
};

/* Takes parts until none is left. Relaxed: the lock orders the job itself; this only deals out
 * numbers. */
static void work(nacrei_pool *pool, nacrei_pool_task *task, void *context, uint32_t parts)
{
    for (;;) {
        uint32_t part = __atomic_fetch_add(&pool->next, 1, __ATOMIC_RELAXED);
        if (part >= parts) {
            return;
        }
        task(context, part);
    }
}

static void *helper(void *argument)
{
    nacrei_pool *pool = argument;
    uint64_t seen = 0;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (pool->job == seen && !pool->ending) {
            pthread_cond_wait(&pool->wake, &pool->lock);
        }
        if (pool->ending) {
            break;
        }
        seen = pool->job;
        if (pool->task == NULL) {
            continue; /* woke up after the job was over */
        }
        nacrei_pool_task *task = pool->task;
        void *context = pool->context;
        uint32_t parts = pool->parts;
        pool->busy++;
        pthread_mutex_unlock(&pool->lock);
        work(pool, task, context, parts);
        pthread_mutex_lock(&pool->lock);
        if (--pool->busy == 0) {
            pthread_cond_signal(&pool->idle);
        }
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

nacrei_pool *nacrei_pool_create(uint32_t threads)
{
    nacrei_pool *pool = calloc(1, sizeof *pool);
    if (pool == NULL) {
        return NULL;
    }
    pool->threads = threads;
    pool->helpers = calloc(threads, sizeof *pool->helpers);
    if (pool->helpers == NULL) {
        free(pool);
        return NULL;
    }
    pthread_mutex_init(&pool->taken, NULL);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pthread_cond_init(&pool->idle, NULL);
    return pool;
}

void nacrei_pool_destroy(nacrei_pool *pool)
{
    if (pool == NULL) {
        return;
    }
    /* In a forked child there is nobody to join, and the locks may be anybody's. */
    if (pool->owner == 0 || pool->owner == getpid()) {
        pthread_mutex_lock(&pool->lock);
        pool->ending = 1;
        pthread_cond_broadcast(&pool->wake);
        pthread_mutex_unlock(&pool->lock);
        for (uint32_t i = 0; i < pool->started; i++) {
            pthread_join(pool->helpers[i], NULL);
        }
        pthread_cond_destroy(&pool->idle);
        pthread_cond_destroy(&pool->wake);
        pthread_mutex_destroy(&pool->lock);
        pthread_mutex_destroy(&pool->taken);
    }
    for (uint32_t kind = 0; kind < NACREI_POOL_SCRATCHES; kind++) {
        free(pool->scratch[kind]);
    }
    free(pool->helpers);
    free(pool);
}

/* Signals are for the program's own threads: helpers inherit a mask that blocks them all. */
static void start(nacrei_pool *pool)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (pool->started + 1 < pool->threads) {
        if (pthread_create(&pool->helpers[pool->started], NULL, helper, pool) != 0) {
            break; /* fewer do as well */
        }
        pool->started++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

int nacrei_pool_take(nacrei_pool *pool)
{
    /* Read before the lock is tried: a child may have inherited it locked. Acquire: pairs with the
       release below. A pool that was not started yet works in the child as well. */
    pid_t owner = __atomic_load_n(&pool->owner, __ATOMIC_ACQUIRE);
    if (owner != 0 && owner != getpid()) {
        return NACREI_POOL_FORKED;
    }
    if (pthread_mutex_trylock(&pool->taken) != 0) {
        return NACREI_POOL_BUSY;
    }
    if (pool->owner == 0) {
        start(pool);
        __atomic_store_n(&pool->owner, getpid(), __ATOMIC_RELEASE);
    }
    if (pool->started == 0) {
        pthread_mutex_unlock(&pool->taken);
        return NACREI_POOL_BUSY;
    }
    return NACREI_POOL_TAKEN;
}

void nacrei_pool_give(nacrei_pool *pool)
{
    pthread_mutex_unlock(&pool->taken);
}

void nacrei_pool_run(nacrei_pool *pool, nacrei_pool_task *task, void *context, uint32_t parts)
{
    pthread_mutex_lock(&pool->lock);
    pool->task = task;
    pool->context = context;
    pool->parts = parts;
    __atomic_store_n(&pool->next, 0, __ATOMIC_RELAXED); /* published by the lock */
    pool->job++;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);

    work(pool, task, context, parts);

    pthread_mutex_lock(&pool->lock);
    pool->task = NULL; /* a helper that wakes up only now finds nothing to do */
    while (pool->busy != 0) {
        pthread_cond_wait(&pool->idle, &pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
}

uint32_t nacrei_pool_size(const nacrei_pool *pool)
{
    return pool->started + 1;
}

void *nacrei_pool_scratch(nacrei_pool *pool, uint32_t kind, uint64_t bytes)
{
    if (pool->scratch_bytes[kind] < bytes) {
        free(pool->scratch[kind]);
        pool->scratch_bytes[kind] = 0;
        if (posix_memalign(&pool->scratch[kind], 64, (size_t)bytes) != 0) {
            pool->scratch[kind] = NULL;
            return NULL;
        }
        pool->scratch_bytes[kind] = bytes;
    }
    return pool->scratch[kind];
}
