/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the library takes from the system by itself, without the caller's allocator: every n-th
 * malloc, mmap or thread is refused, for every n. The linker turns these calls into the __wrap_
 * functions below (test/CMakeLists.txt). CPU only.
 */
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>

#include "nacre/core/hash.h"
#include "support/harness.h"
#include "support/hash_inverse.h"

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *pointer, size_t bytes);
void __real_free(void *pointer);
int __real_posix_memalign(void **pointer, size_t alignment, size_t bytes);
void *__real_mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset);
int __real_munmap(void *address, size_t bytes);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument);

/* Counts only while the library runs on the test's thread: `inside` is set around its calls. */
static uint64_t calls, refuse_at, refused;
static _Thread_local bool inside;

/* What the library holds: pointers that it got and has not given back. */
enum { HELD_MAX = 1024 };
static void *held[HELD_MAX];
static pthread_mutex_t held_lock = PTHREAD_MUTEX_INITIALIZER;

static bool refuse(void)
{
    if (!inside || refuse_at == 0 || ++calls != refuse_at) {
        return false;
    }
    refused++;
    errno = ENOMEM;
    return true;
}

static void replace(const void *old, void *new)
{
    pthread_mutex_lock(&held_lock);
    for (int i = 0; i < HELD_MAX; i++) {
        if (held[i] == old) {
            held[i] = new;
            break;
        }
    }
    pthread_mutex_unlock(&held_lock);
}

static void *hold(void *pointer)
{
    if (inside && pointer != NULL) {
        replace(NULL, pointer);
    }
    return pointer;
}

static void drop(void *pointer)
{
    if (pointer != NULL) {
        replace(pointer, NULL);
    }
}

void *__wrap_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes)
{
    return refuse() ? NULL : hold(__real_malloc(bytes));
}

void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes)
{
    return refuse() ? NULL : hold(__real_calloc(count, bytes));
}

void *__wrap_realloc(void *pointer, size_t bytes);
void *__wrap_realloc(void *pointer, size_t bytes)
{
    if (refuse()) {
        return NULL;
    }
    drop(pointer);
    return hold(__real_realloc(pointer, bytes));
}

void __wrap_free(void *pointer);
void __wrap_free(void *pointer)
{
    drop(pointer);
    __real_free(pointer);
}

int __wrap_posix_memalign(void **pointer, size_t alignment, size_t bytes);
int __wrap_posix_memalign(void **pointer, size_t alignment, size_t bytes)
{
    int result = refuse() ? ENOMEM : __real_posix_memalign(pointer, alignment, bytes);
    if (result == 0) {
        hold(*pointer);
    }
    return result;
}

/* Parts of a mapping may be given back by themselves, so mappings are counted in bytes. */
static int64_t mapped_bytes;

void *__wrap_mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset);
void *__wrap_mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset)
{
    void *pointer =
        refuse() ? MAP_FAILED : __real_mmap(address, bytes, protection, flags, file, offset);
    mapped_bytes += inside && pointer != MAP_FAILED ? (int64_t)bytes : 0;
    return pointer;
}

int __wrap_munmap(void *address, size_t bytes);
int __wrap_munmap(void *address, size_t bytes)
{
    mapped_bytes -= inside ? (int64_t)bytes : 0;
    return __real_munmap(address, bytes);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument)
{
    return refuse() ? EAGAIN : __real_pthread_create(thread, attributes, start, argument);
}

/* ---- the script ---- */

enum { N = 43500, CROWD = 4350 };

typedef struct script {
    uint64_t keys[N];
    uint64_t values[N];
    uint64_t found[N];
    uint8_t outcomes[N];
} script;

/* A status under refusal: OK, or memory was refused, and then the test's wrapper did it. */
static bool worked(test *t, const char *call, nacre_status status)
{
    inside = false;
    CHECK(t, status == NACRE_OK || (status == NACRE_ERROR_OUT_OF_MEMORY && refused != 0),
          "%s: %s: %s", call, nacre_status_name(status), t->error.message);
    inside = true;
    return status == NACRE_OK;
}
#define WORKED(call) worked(t, #call, (call))

static void use_map(test *t, script *s, nacre_device *device, nacre_map *map)
{
    nacre_options options;
    nacre_options_init(&options, sizeof options);
    options.outcomes = s->outcomes;
    options.error = &t->error;
    nacre_map_statistics statistics;
    nacre_map_statistics_init(&statistics, sizeof statistics);
    nacre_stream stream = NULL;
    void *memory = NULL;
    /* Growth from nothing, threads, then keys that crowd the stash, then growth around them. */
    WORKED(nacre_map_insert(map, s->keys, s->values, N / 2, &options, NULL));
    WORKED(nacre_map_erase(map, s->keys, N / 8, &options, NULL));
    WORKED(nacre_map_insert_or_assign(map, s->keys, s->values, N, &options, NULL));
    WORKED(nacre_map_reserve(map, 2 * N, &t->error, NULL));
    WORKED(nacre_map_find(map, s->keys, N, s->found, &options, NULL));
    WORKED(nacre_map_check(map, &t->error, NULL));
    WORKED(nacre_map_statistics_get(map, &statistics, &t->error, NULL));
    WORKED(nacre_memory_allocate(device, 1000, NACRE_SPACE_DEVICE, &memory, &t->error));
    WORKED(nacre_memory_release(device, memory, &t->error));
    WORKED(nacre_stream_create(device, &stream, &t->error));
    /* Works again: nothing is refused any more. */
    refuse_at = 0;
    uint64_t size = 0;
    nacre_status inserted = nacre_map_insert(map, s->keys, s->values, N, &options, NULL);
    nacre_status found = nacre_map_find(map, s->keys, N, s->found, NULL, NULL);
    nacre_status counted = nacre_map_size(map, &size, &t->error, NULL);
    nacre_status checked = nacre_map_check(map, &t->error, NULL);
    inside = false;
    CHECK(t,
          inserted == NACRE_OK && found == NACRE_OK && counted == NACRE_OK && checked == NACRE_OK,
          "%s", t->error.message);
    CHECK(t, size == N, "%llu keys", LL(size));
    for (uint64_t i = 0; i < N; i++) {
        CHECK(t, s->found[i] == s->values[i], "key %llu has another value", LL(i));
    }
    inside = true;
}

/* True if the n-th call to the system was refused. */
static bool run(test *t, script *s, uint64_t n)
{
    nacre_device *device = NULL;
    nacre_map *map = NULL;
    nacre_device_config device_config;
    nacre_map_config config = test_map_config(t);
    nacre_device_config_init(&device_config, sizeof device_config);
    device_config.backend = NACRE_BACKEND_CPU;
    device_config.threads = 3;
    device_config.error = &t->error;
    config.load_max = 0.1;
    config.seed = 99;
    test_note(t, "call %llu to the system is refused", LL(n));
    memset(held, 0, sizeof held);
    mapped_bytes = 0;
    calls = 0;
    refused = 0;
    refuse_at = n;
    inside = true;
    if (WORKED(nacre_device_open(&device_config, &device))) {
        if (WORKED(nacre_map_create(device, &config, &map))) {
            use_map(t, s, device, map);
        }
        nacre_map_destroy(map);
        nacre_device_close(device);
    }
    inside = false;
    for (int i = 0; i < HELD_MAX; i++) {
        CHECK(t, held[i] == NULL, "memory was not given back");
    }
    CHECK(t, mapped_bytes == 0, "%lld bytes are still mapped", (long long)mapped_bytes);
    return refused != 0;
}

NACRE_CONTRACT_TEST_ONCE(fault, refused_system_call_loses_or_leaks)
{
    /* Goal: as the file says: a status, nothing lost, nothing leaked, works again. Method: n = 1 ..
       24, then a fifth more each time, over a script that opens, creates, grows with threads and
       with keys in the stash, inspects, closes. */
    if (t->backend != NACRE_BACKEND_CPU) {
        return;
    }
    script *s = test_host(t, sizeof *s);
    for (uint64_t i = 0; i < N; i++) {
        s->keys[i] =
            i % (N / CROWD) == 1
                ? test_hash_inverse(UINT64_C(0xABCDEF0123000000) | (i * 787 & 0xFFFFFF), 99)
                : test_key(t, i);
        s->values[i] = test_value(t, s->keys[i]);
    }
    uint64_t n = 1;
    while (run(t, s, n)) {
        n += n < 24 ? 1 : n / 5;
        CHECK(t, n < 100000, "no end of calls");
    }
    CHECK(t, n > 5, "fewer than %llu calls to the system", LL(n));
    printf("fault cpu: fewer than %llu calls to the system\n", LL(n));
    free(s);
}
