/* Small files and folders, the safe way. Not collective: call on one rank and agree. */
#ifndef ISOTHERM_BASE_FILE_H
#define ISOTHERM_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { PATH_BYTES = 4096 };

/* Join with '/'. STATUS_INPUT when it does not fit PATH_BYTES. */
enum status path_join(const char *directory, const char *name, char path[PATH_BYTES]) MUST_CHECK;

/* Write all bytes to an open file, in as many calls as it takes; `path` is for the message. */
enum status file_write(int fd, const char *path, const char *bytes, size_t nbytes) MUST_CHECK;

/* The same to a place in the file. The disk is told to begin at once, so that the later fsync has
 * less to wait for. */
enum status file_write_at(int fd, const char *path, const void *bytes, size_t nbytes,
                          uint64_t offset) MUST_CHECK;

/* A file that is written in large pieces. Whole pages go past the cache where the file system lets
 * them (O_DIRECT): no copy, a tenth of the processor's time, and nothing left to flush. */
struct file_output {
    const char *path; /* borrowed */
    int fd;           /* for reading, too */
    int direct_fd;    /* -1: not opened so far */
    bool direct;      /* wanted, and not refused so far */
    uint64_t direct_bytes;
};

enum { FILE_PAGE_BYTES = 4096 };

/* The file is there. `direct`: past the cache, where that works. */
enum status file_output_open(const char *path, bool direct, struct file_output *file) MUST_CHECK;
/* Write all bytes to a place in the file, as file_write_at does. Past the cache goes what is at
 * least 2 MiB and lies in memory as it does in the file: address and offset equal modulo
 * FILE_PAGE_BYTES. No page goes both ways, also when others write what lies before and behind. */
enum status file_output_write(struct file_output *file, const void *bytes, size_t nbytes,
                              uint64_t offset) MUST_CHECK;
enum status file_output_close(struct file_output *file) MUST_CHECK; /* takes one that is not open */

/* All of them, or STATUS_FILE. */
enum status file_read_at(int fd, const char *path, void *bytes, size_t nbytes,
                         uint64_t offset) MUST_CHECK;
/* fsync; and fsync by name. */
enum status file_sync(int fd, const char *path) MUST_CHECK;
enum status file_sync_named(const char *path) MUST_CHECK;

/* Of a file that is flushed and that nobody is about to read: give the memory that caches it back,
 * for the next one. */
void file_forget(int fd);

/* How long, in s, this thread has been in the system calls above and below that write to a file or
 * wait for the disk: what output costs without the program's own part. */
double file_disk_seconds(void);

/* A new file, or a new content of an old one, that nobody reads before it is flushed and renamed.
 */
enum status file_create(const char *path, const char *bytes, size_t nbytes) MUST_CHECK;

/* Write a whole small file: temporary name, fsync, rename, fsync of the folder. Readers see the
 * old one or the new one, never a part. */
enum status file_replace(const char *path, const char *bytes, size_t nbytes) MUST_CHECK;

/* STATUS_FILE when it cannot be removed. */
enum status file_remove(const char *path) MUST_CHECK;

/* Could file_replace make that file now? STATUS_FILE when not. Leaves nothing behind: for work
 * whose result would have no place. */
enum status file_check_place(const char *path) MUST_CHECK;

/* Rename and fsync the folder, so that the new name survives a power cut. */
enum status file_publish(const char *temporary, const char *path) MUST_CHECK;

/* Read a whole file of at most `limit` bytes into a fresh buffer, zero-terminated; caller frees. */
enum status file_read_all(const char *path, size_t limit, char **bytes, size_t *nbytes) MUST_CHECK;

/* Make a folder and its parents; fine when it is there already. */
enum status directory_make(const char *path) MUST_CHECK;

/* "65.5 kB": three digits in the unit that fits. Returns `text`. */
enum { BYTES_TEXT = 32 };
const char *bytes_text(double bytes, char text[BYTES_TEXT]);

/* STATUS_FILE when the file system of `directory` has less than `bytes` free, with the numbers.
 * STATUS_OK where it does not tell its size, as ramfs. */
enum status directory_check_room(const char *directory, uint64_t bytes) MUST_CHECK;

bool file_exists(const char *path);
uint64_t file_size(const char *path); /* its length; 0 when it is not there */

#endif
