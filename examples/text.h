/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of an example: which files it is in, and its words one after the other. Nothing here
 * knows Nacre.
 *
 * A word is a run of letters A-Z and a-z, as long as it goes on, in lower case: what stands on one
 * line after `tr -cs 'A-Za-z' '\n' | tr 'A-Z' 'a-z'` in the C locale. Where a file ends, its last
 * word ends.
 *
 * Bad input, a file that cannot be read above all, ends the program with a message and
 * EXIT_FAILURE.
 */
#ifndef NACRE_EXAMPLES_TEXT_H
#define NACRE_EXAMPLES_TEXT_H

#include <stddef.h>
#include <stdint.h>

typedef struct text_file {
    char *path;
    unsigned char
        *kept;      /* the bytes of what can be read only once, standard input say; else NULL */
    uint64_t bytes; /* as found when the file was added */
} text_file;

/* Starts as zeros. */
typedef struct text_corpus {
    text_file *files;
    uint64_t file_count;
    uint64_t file_capacity;
    uint64_t bytes;         /* of all files */
    uint64_t files_skipped; /* found in folders, and not text */
} text_corpus;

/* Gets `letters` [length], followed by a zero byte, for the time of the call; and their hash. */
typedef void (*text_visit)(void *user, const char *letters, size_t length, uint64_t hash);

/*
 * Adds `path`: "-" is standard input, and a folder is all text in it and below it. Not taken from a
 * folder: names that begin with a dot, symbolic links, what is not a regular file, and files with a
 * zero byte in their first 8192 bytes. What is named itself is always taken.
 */
void text_add(text_corpus *text, const char *path);

/*
 * Calls `visit` for each word of each file, in order, with the 64-bit FNV-1a hash of its letters.
 * May be called again. `doing` names the work in the progress line on standard error, which appears
 * when that is a terminal or the work takes more than a second.
 */
void text_words(const text_corpus *text, const char *doing, text_visit visit, void *user);

void text_free(text_corpus *text);

#endif
