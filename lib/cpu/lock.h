/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that read beside calls that change, each in its turn: who waits for the lock holds the turn
 * meanwhile, so that neither a stream of lookups keeps changes out for ever nor the other way round.
 */
#ifndef NACRE_CPU_LOCK_H
#define NACRE_CPU_LOCK_H

#include <pthread.h>

typedef struct nacrei_cpu_lock {
    pthread_mutex_t turn;
    pthread_rwlock_t lock;
} nacrei_cpu_lock;

static inline void nacrei_cpu_lock_init(nacrei_cpu_lock *lock)
{
    pthread_mutex_init(&lock->turn, NULL);
    pthread_rwlock_init(&lock->lock, NULL);
}

static inline void nacrei_cpu_lock_destroy(nacrei_cpu_lock *lock)
{
    pthread_rwlock_destroy(&lock->lock);
    pthread_mutex_destroy(&lock->turn);
}

static inline void nacrei_cpu_lock_to_read(nacrei_cpu_lock *lock)
{
    pthread_mutex_lock(&lock->turn);
    pthread_rwlock_rdlock(&lock->lock);
    pthread_mutex_unlock(&lock->turn);
}

static inline void nacrei_cpu_lock_to_change(nacrei_cpu_lock *lock)
{
    pthread_mutex_lock(&lock->turn);
    pthread_rwlock_wrlock(&lock->lock);
    pthread_mutex_unlock(&lock->turn);
}

static inline void nacrei_cpu_unlock(nacrei_cpu_lock *lock)
{
    pthread_rwlock_unlock(&lock->lock);
}

#endif
