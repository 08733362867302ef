/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L

#include "text.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK_BYTES = 1 << 18, LOOK_BYTES = 8192 };

static _Noreturn void fail(const char *path, const char *reason)
{
    fprintf(stderr, "%s: %s\n", path, reason);
    exit(EXIT_FAILURE);
}

static void *grown(void *memory, uint64_t bytes)
{
    void *larger = bytes <= SIZE_MAX ? realloc(memory, (size_t)bytes) : NULL;
    if (!larger) {
        fail("text", "out of memory");
    }
    return larger;
}

/* ---- files ---- */

static text_file *file_added(text_corpus *text, const char *path, uint64_t bytes)
{
    if (text->file_count == text->file_capacity) {
        text->file_capacity = 2 * text->file_capacity + 16;
        text->files = grown(text->files, text->file_capacity * sizeof *text->files);
    }
    text_file *file = &text->files[text->file_count++];
    file->path = strcpy(grown(NULL, strlen(path) + 1), path);
    file->kept = NULL;
    file->bytes = bytes;
    text->bytes += bytes;
    return file;
}

static FILE *opened(const char *path)
{
    FILE *stream = fopen(path, "rb");
    if (!stream) {
        fail(path, strerror(errno));
    }
    return stream;
}

/* Fewer bytes than asked for mean the end of the file. */
static size_t bytes_read(FILE *stream, const char *path, void *bytes, size_t count)
{
    size_t got = fread(bytes, 1, count, stream);
    if (got < count && ferror(stream)) {
        fail(path, strerror(errno));
    }
    return got;
}

/* What cannot be read a second time is kept. */
static void keep(text_corpus *text, FILE *stream, const char *path)
{
    text_file *file = file_added(text, path, 0);
    uint64_t capacity = 0;
    size_t got;
    do {
        if (capacity - file->bytes < BLOCK_BYTES) {
            capacity = 2 * capacity + BLOCK_BYTES;
            file->kept = grown(file->kept, capacity);
        }
        got = bytes_read(stream, path, file->kept + file->bytes, BLOCK_BYTES);
        file->bytes += got;
    } while (got == BLOCK_BYTES);
    text->bytes += file->bytes;
}

static bool looks_like_text(const char *path)
{
    char bytes[LOOK_BYTES];
    FILE *stream = opened(path);
    size_t got = bytes_read(stream, path, bytes, sizeof bytes);
    fclose(stream);
    return memchr(bytes, 0, got) == NULL;
}

static char *joined(const char *folder, const char *name)
{
    size_t bytes = strlen(folder) + strlen(name) + 2;
    char *path = grown(NULL, bytes);
    snprintf(path, bytes, "%s/%s", folder, name);
    return path;
}

static void add_folder(text_corpus *text, const char *folder)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, NULL, alphasort);
    if (count < 0) {
        fail(folder, strerror(errno));
    }
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        if (name[0] != '.') {
            struct stat about;
            char *path = joined(folder, name);
            if (lstat(path, &about) != 0) {
                fail(path, strerror(errno));
            }
            if (S_ISDIR(about.st_mode)) {
                add_folder(text, path);
            } else if (S_ISREG(about.st_mode) && looks_like_text(path)) {
                file_added(text, path, (uint64_t)about.st_size);
            } else {
                text->files_skipped++;
            }
            free(path);
        }
        free(entries[i]);
    }
    free(entries);
}

void text_add(text_corpus *text, const char *path)
{
    struct stat about;
    if (strcmp(path, "-") == 0) {
        keep(text, stdin, "standard input");
        return;
    }
    if (stat(path, &about) != 0) {
        fail(path, strerror(errno));
    }
    if (S_ISDIR(about.st_mode)) {
        add_folder(text, path);
        return;
    }
    FILE *stream = opened(path);
    if (S_ISREG(about.st_mode)) {
        file_added(text, path, (uint64_t)about.st_size);
    } else {
        keep(text, stream, path);
    }
    fclose(stream);
}

void text_free(text_corpus *text)
{
    for (uint64_t i = 0; i < text->file_count; i++) {
        free(text->files[i].path);
        free(text->files[i].kept);
    }
    free(text->files);
    memset(text, 0, sizeof *text);
}

/* ---- progress ---- */

typedef struct text_progress {
    const char *doing;
    uint64_t bytes_done;
    uint64_t bytes_all;
    double next_seconds; /* when to tell again */
    bool terminal;
    bool told;
} text_progress;

static double now_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* A terminal gets one line that changes; a file gets a line a second, from the first second on. */
static double progress_interval(const text_progress *progress)
{
    return progress->terminal ? 0.1 : 1.0;
}

static void progress_begin(text_progress *progress, const char *doing, uint64_t bytes_all)
{
    progress->doing = doing;
    progress->bytes_done = 0;
    progress->bytes_all = bytes_all;
    progress->terminal = isatty(STDERR_FILENO);
    progress->told = false;
    progress->next_seconds = now_seconds() + progress_interval(progress);
}

static void progress_add(text_progress *progress, uint64_t bytes)
{
    progress->bytes_done += bytes;
    double now = now_seconds();
    if (now >= progress->next_seconds) {
        fprintf(stderr, "%s%s: %.1f of %.1f MB%s", progress->terminal ? "\r" : "", progress->doing,
                1e-6 * (double)progress->bytes_done, 1e-6 * (double)progress->bytes_all,
                progress->terminal ? "\033[K" : "\n");
        progress->next_seconds = now + progress_interval(progress);
        progress->told = true;
    }
}

static void progress_end(const text_progress *progress)
{
    if (progress->terminal && progress->told) {
        fprintf(stderr, "\r\033[K");
    }
}

/* ---- words ---- */

typedef struct text_reader {
    text_visit visit;
    void *user;
    unsigned char lower[256]; /* the letter in lower case; 0: not a letter */
    char *letters;            /* of the word that is being read */
    size_t length;
    size_t capacity;
    uint64_t hash;
} text_reader;

#define FNV_BASIS UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)

static void reader_begin(text_reader *reader, text_visit visit, void *user)
{
    static const char capitals[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    static const char smalls[] = "abcdefghijklmnopqrstuvwxyz";
    memset(reader, 0, sizeof *reader);
    reader->visit = visit;
    reader->user = user;
    for (int i = 0; i < 26; i++) {
        reader->lower[(unsigned char)capitals[i]] = (unsigned char)smalls[i];
        reader->lower[(unsigned char)smalls[i]] = (unsigned char)smalls[i];
    }
    reader->hash = FNV_BASIS;
    reader->capacity = 256;
    reader->letters = grown(NULL, reader->capacity);
}

static void reader_end_word(text_reader *reader)
{
    if (reader->length > 0) {
        reader->letters[reader->length] = 0;
        reader->visit(reader->user, reader->letters, reader->length, reader->hash);
        reader->length = 0;
        reader->hash = FNV_BASIS;
    }
}

/* A word may begin in one block and end in another. */
static void reader_feed(text_reader *reader, const unsigned char *bytes, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        unsigned char letter = reader->lower[bytes[i]];
        if (!letter) {
            reader_end_word(reader);
            continue;
        }
        if (reader->length + 1 == reader->capacity) {
            reader->capacity *= 2;
            reader->letters = grown(reader->letters, reader->capacity);
        }
        reader->letters[reader->length++] = (char)letter;
        reader->hash = (reader->hash ^ letter) * FNV_PRIME;
    }
}

static void read_file(const text_file *file, text_reader *reader, text_progress *progress,
                      unsigned char *block)
{
    FILE *stream = opened(file->path);
    size_t got;
    do {
        got = bytes_read(stream, file->path, block, BLOCK_BYTES);
        reader_feed(reader, block, got);
        progress_add(progress, got);
    } while (got == BLOCK_BYTES);
    fclose(stream);
}

static void read_kept(const text_file *file, text_reader *reader, text_progress *progress)
{
    for (uint64_t done = 0; done < file->bytes; done += BLOCK_BYTES) {
        uint64_t left = file->bytes - done;
        uint64_t count = left < BLOCK_BYTES ? left : BLOCK_BYTES;
        reader_feed(reader, file->kept + done, count);
        progress_add(progress, count);
    }
}

void text_words(const text_corpus *text, const char *doing, text_visit visit, void *user)
{
    text_reader reader;
    text_progress progress;
    unsigned char *block = grown(NULL, BLOCK_BYTES);
    reader_begin(&reader, visit, user);
    progress_begin(&progress, doing, text->bytes);
    for (uint64_t i = 0; i < text->file_count; i++) {
        const text_file *file = &text->files[i];
        if (file->kept) {
            read_kept(file, &reader, &progress);
        } else {
            read_file(file, &reader, &progress, block);
        }
        reader_end_word(&reader);
    }
    progress_end(&progress);
    free(reader.letters);
    free(block);
}
