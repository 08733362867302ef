/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts the words of text files; word_count --help says how. Prints what
 * `sort | uniq -c | sort -k1,1nr -k2` prints of the words in the C locale.
 *
 * 1. The text is read, each word becomes a key (the 64-bit FNV-1a hash of its letters), and batches
 * of keys are counted in a map: nacre_map_insert_or_apply, reduction ADD, values NULL.
 * 2. Hashes and counts are retrieved and the largest counts chosen.
 * 3. The text is read again to name the words chosen. This keeps memory bounded by the distinct
 * words and not by the text, and proves the answer: two words of one hash are noticed, and each
 * word chosen is counted a second time, one by one.
 */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>

#include "common.h"
#include "text.h"

#ifndef WORD_COUNT_REPOSITORY
#define WORD_COUNT_REPOSITORY "." /* the build gives the folder of its sources */
#endif
#define WORD_COUNT_LICENCES "/usr/share/common-licenses"

enum { BATCH_WORDS = 1 << 20 };

static double now_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static _Noreturn void fail(const char *message)
{
    fprintf(stderr, "word_count: %s\n", message);
    exit(EXIT_FAILURE);
}

static void *zeros(uint64_t count, uint64_t bytes)
{
    void *memory = count <= SIZE_MAX / bytes ? calloc(count ? count : 1, bytes) : NULL;
    if (!memory) {
        fail("out of memory");
    }
    return memory;
}

/* ---- 1. counting ---- */

typedef struct word_counter {
    nacre_device *device;
    nacre_stream stream;
    nacre_map *map;
    nacre_options options;
    uint64_t *batch; /* the host fills it; pinned, so that copies need no detour */
    void *batch_on_device;
    uint64_t batch_words;
    uint64_t words;
    double seconds; /* from handing over the batches to their end */
} word_counter;

static void counter_create(word_counter *counter, nacre_device *device)
{
    void *batch;
    nacre_map_config config;
    memset(counter, 0, sizeof *counter);
    counter->device = device;
    CHECK(nacre_stream_create(device, &counter->stream, &error));
    nacre_map_config_init(&config, sizeof config); /* 8-byte keys and values; grows as needed */
    config.error = &error;
    CHECK(nacre_map_create(device, &config, &counter->map));
    nacre_options_init(&counter->options, sizeof counter->options);
    counter->options.error = &error;
    CHECK(nacre_memory_allocate(device, BATCH_WORDS * sizeof(uint64_t), NACRE_SPACE_PINNED, &batch,
                                &error));
    CHECK(nacre_memory_allocate(device, BATCH_WORDS * sizeof(uint64_t), NACRE_SPACE_DEVICE,
                                &counter->batch_on_device, &error));
    counter->batch = batch;
}

static void counter_destroy(word_counter *counter)
{
    nacre_map_destroy(counter->map);
    CHECK(nacre_memory_release(counter->device, counter->batch, &error));
    CHECK(nacre_memory_release(counter->device, counter->batch_on_device, &error));
    CHECK(nacre_stream_destroy(counter->device, counter->stream, &error));
}

/* Waits for the batch, so that the time is that of the counting alone. */
static void counter_flush(word_counter *counter)
{
    double start = now_seconds();
    CHECK(nacre_memory_copy(counter->device, counter->batch,
                            counter->batch_words * sizeof(uint64_t), counter->batch_on_device,
                            &error, counter->stream));
    CHECK(nacre_map_insert_or_apply(counter->map, counter->batch_on_device, NULL,
                                    counter->batch_words, NACRE_REDUCTION_ADD, NACRE_TYPE_U64,
                                    &counter->options, counter->stream));
    CHECK(nacre_stream_wait(counter->device, counter->stream, &error));
    counter->seconds += now_seconds() - start;
    counter->words += counter->batch_words;
    counter->batch_words = 0;
}

static void count_word(void *user, const char *letters, size_t length, uint64_t hash)
{
    word_counter *counter = user;
    (void)letters;
    (void)length;
    counter->batch[counter->batch_words++] = hash;
    if (counter->batch_words == BATCH_WORDS) {
        counter_flush(counter);
    }
}

/* ---- 2. choosing ---- */

typedef struct counted_word {
    uint64_t hash;
    uint64_t count;
    uint64_t recount; /* in the second reading */
    char *word;       /* NULL: not met yet */
} counted_word;

static int by_count(const void *left, const void *right)
{
    const counted_word *a = left;
    const counted_word *b = right;
    return (a->count < b->count) - (a->count > b->count);
}

static int by_count_then_word(const void *left, const void *right)
{
    int order = by_count(left, right);
    return order ? order
                 : strcmp(((const counted_word *)left)->word, ((const counted_word *)right)->word);
}

/* Everything in the map; *count elements, which the caller frees. */
static counted_word *retrieved(const word_counter *counter, uint64_t *count)
{
    nacre_device *device = counter->device;
    uint64_t size, bytes;
    void *keys, *values, *needed;
    CHECK(nacre_map_size(counter->map, &size, &error, counter->stream));
    bytes = size * sizeof(uint64_t);
    CHECK(nacre_memory_allocate(device, bytes, NACRE_SPACE_PINNED, &keys, &error));
    CHECK(nacre_memory_allocate(device, bytes, NACRE_SPACE_PINNED, &values, &error));
    CHECK(nacre_memory_allocate(device, sizeof(uint64_t), NACRE_SPACE_PINNED, &needed, &error));
    CHECK(nacre_map_retrieve(counter->map, keys, values, size, needed, &counter->options,
                             counter->stream));
    CHECK(nacre_stream_wait(device, counter->stream, &error));

    uint64_t sum = 0;
    counted_word *all = zeros(size, sizeof *all);
    for (uint64_t i = 0; i < size; i++) {
        all[i].hash = ((const uint64_t *)keys)[i];
        all[i].count = ((const uint64_t *)values)[i];
        sum += all[i].count;
    }
    if (*(const uint64_t *)needed != size || sum != counter->words) {
        fail("the counts do not add up to the number of words");
    }
    CHECK(nacre_memory_release(device, keys, &error));
    CHECK(nacre_memory_release(device, values, &error));
    CHECK(nacre_memory_release(device, needed, &error));
    *count = size;
    return all;
}

/*
 * Moves the `top` largest counts (0: all) to the front, and tells how many: more than `top` where
 * the last of them has equals, of which the alphabet will choose.
 */
static uint64_t chosen(counted_word *all, uint64_t count, uint64_t top)
{
    qsort(all, count, sizeof *all, by_count);
    if (top == 0 || top >= count) {
        return count;
    }
    uint64_t kept = top;
    while (kept < count && all[kept].count == all[top - 1].count) {
        kept++;
    }
    return kept;
}

/* ---- 3. naming ---- */

/* From a hash to its place among those chosen: open addressing, at most half full. */
typedef struct word_names {
    counted_word *chosen;
    uint64_t *places; /* 1 + index; 0: empty */
    uint64_t mask;
} word_names;

static counted_word *names_find(const word_names *names, uint64_t hash, uint64_t *place)
{
    uint64_t i = (hash ^ hash >> 32) & names->mask;
    while (names->places[i] && names->chosen[names->places[i] - 1].hash != hash) {
        i = (i + 1) & names->mask;
    }
    *place = i;
    return names->places[i] ? &names->chosen[names->places[i] - 1] : NULL;
}

static void names_create(word_names *names, counted_word *chosen, uint64_t count)
{
    uint64_t place;
    names->chosen = chosen;
    names->mask = 15;
    while (names->mask < 2 * count) {
        names->mask = 2 * names->mask + 1;
    }
    names->places = zeros(names->mask + 1, sizeof *names->places);
    for (uint64_t i = 0; i < count; i++) {
        names_find(names, chosen[i].hash, &place);
        names->places[place] = i + 1;
    }
}

static void name_word(void *user, const char *letters, size_t length, uint64_t hash)
{
    uint64_t place;
    counted_word *found = names_find(user, hash, &place);
    if (!found) {
        return;
    }
    found->recount++;
    if (!found->word) {
        found->word = memcpy(zeros(length + 1, 1), letters, length);
    } else if (strcmp(found->word, letters) != 0) {
        fprintf(stderr, "word_count: \"%s\" and \"%s\" have the same hash: no right count\n",
                found->word, letters);
        exit(EXIT_FAILURE);
    }
}

static void name_words(const text_corpus *text, counted_word *chosen, uint64_t count)
{
    word_names names;
    names_create(&names, chosen, count);
    text_words(text, "naming", name_word, &names);
    free(names.places);
    for (uint64_t i = 0; i < count; i++) {
        if (!chosen[i].word || chosen[i].recount != chosen[i].count) {
            fail("the second reading counts otherwise: did a file change meanwhile?");
        }
    }
    qsort(chosen, count, sizeof *chosen, by_count_then_word);
}

/* ---- the program ---- */

typedef struct run_settings {
    uint32_t backend;
    uint64_t top;
} run_settings;

static void print_help(void)
{
    printf("Counts the words of text files on a GPU or on the CPU.\n"
           "\n"
           "    word_count [--device auto|cpu|cuda] [--top N] [FILE or FOLDER ...]\n"
           "\n"
           "    --device NAME  where to count; auto (the default) takes a GPU if there is one\n"
           "    --top N        print the N most frequent words (default 20; 0: all of them)\n"
           "    -              standard input\n"
           "\n"
           "A word is a run of the letters A-Z and a-z; capitals count as small letters. Of a\n"
           "folder, all text in it and below it is read, but for hidden names and symbolic links.\n"
           "Without a file: the text files of the repository, and the licence texts in\n"
           "%s. The words go to standard output, all else to standard error.\n"
           "Exit status: 0 done, 1 failed (a file cannot be read, say; nothing is printed then),\n"
           "2 wrong usage.\n",
           WORD_COUNT_LICENCES);
}

static uint64_t number(const char *text)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || errno) {
        fprintf(stderr, "word_count: --top %s: a number from 0 on is needed\n", text);
        exit(EXIT_USAGE);
    }
    return value;
}

static run_settings read_settings(int argc, char **argv)
{
    static const struct option options[] = {{"device", required_argument, NULL, 'd'},
                                            {"top", required_argument, NULL, 't'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    run_settings settings = {.backend = NACRE_BACKEND_AUTO, .top = 20};
    int option;
    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        switch (option) {
        case 'd':
            settings.backend = backend_named(optarg);
            break;
        case 't':
            settings.top = number(optarg);
            break;
        case 'h':
            print_help();
            exit(EXIT_SUCCESS);
        default:
            fprintf(stderr, "word_count --help says what is allowed\n");
            exit(EXIT_USAGE);
        }
    }
    return settings;
}

static bool is_there(const char *folder)
{
    struct stat about;
    if (stat(folder, &about) == 0) {
        return true;
    }
    fprintf(stderr, "left out: there is no %s here\n", folder);
    return false;
}

static void add_default_text(text_corpus *text)
{
    static const char *const names[] = {
        "CHANGELOG.md", "CMakeLists.txt", "LICENSE", "README.md", "bench", "cmake",
        "device",       "examples",       "include", "lib",       "test"};
    char path[4096];
    bool has_repository = is_there(WORD_COUNT_REPOSITORY);
    for (size_t i = 0; has_repository && i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", WORD_COUNT_REPOSITORY, names[i]);
        text_add(text, path);
    }
    if (is_there(WORD_COUNT_LICENCES)) {
        text_add(text, WORD_COUNT_LICENCES);
    }
    if (text->file_count == 0) {
        fail("no text here: name files");
    }
}

static void report(const text_corpus *text, const word_counter *counter, uint64_t different,
                   double open_seconds, double all_seconds)
{
    nacre_map_info info;
    nacre_map_info_init(&info, sizeof info);
    CHECK(nacre_map_info_get(counter->map, &info, &error));
    double words = (double)counter->words;
    fprintf(stderr, "%" PRIu64 " words, %" PRIu64 " different, in %" PRIu64 " files of %.1f MB",
            counter->words, different, text->file_count, 1e-6 * (double)text->bytes);
    fprintf(stderr, " (%" PRIu64 " in folders skipped)\n", text->files_skipped);
    fprintf(stderr, "map: %.1f MB, load %.2f, growths %" PRIu64 "\n",
            1e-6 * (double)info.memory_bytes, info.load, info.growths);
    fprintf(stderr, "counting: %.4f s, %.1f M keys/s, with the copies to the device\n",
            counter->seconds, counter->words ? 1e-6 * words / counter->seconds : 0);
    fprintf(stderr, "total: %.4f s, %.1f M keys/s; %.4f s of it to open the device\n", all_seconds,
            1e-6 * words / all_seconds, open_seconds);
}

int main(int argc, char **argv)
{
    run_settings settings = read_settings(argc, argv);
    double start = now_seconds();
    nacre_device *device = device_opened(settings.backend, stderr);
    double open_seconds = now_seconds() - start;

    text_corpus text = {0};
    for (int i = optind; i < argc; i++) {
        text_add(&text, argv[i]);
    }
    if (optind == argc) {
        add_default_text(&text);
    }

    word_counter counter;
    counter_create(&counter, device);
    text_words(&text, "counting", count_word, &counter);
    counter_flush(&counter);

    uint64_t count;
    counted_word *all = retrieved(&counter, &count);
    uint64_t kept = chosen(all, count, settings.top);
    name_words(&text, all, kept);
    for (uint64_t i = 0; i < kept && (settings.top == 0 || i < settings.top); i++) {
        printf("%7" PRIu64 " %s\n", all[i].count, all[i].word);
    }
    if (fflush(stdout) != 0) {
        fail("standard output could not be written");
    }
    report(&text, &counter, count, open_seconds, now_seconds() - start);

    for (uint64_t i = 0; i < kept; i++) {
        free(all[i].word);
    }
    free(all);
    text_free(&text);
    counter_destroy(&counter);
    nacre_device_close(device);
    return EXIT_SUCCESS;
}
