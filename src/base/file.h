/* Safe reading and writing of files and folders. Not collective: call on one rank and agree. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

enum { PATH_BYTES = 4096 };

/* Join with '/'. STATUS_INPUT when it does not fit PATH_BYTES. */
enum status path_join(const char *directory, const char *name, char path[PATH_BYTES]);

/* Print a name or a path. STATUS_INPUT when it does not fit. */
enum status path_print(char *text, size_t bytes, const char *format, ...) PRINTF_LIKE(3, 4);

/* A path is longer than its ending. */
bool path_ends_in(const char *path, const char *ending);

/* Open an existing file with flags such as O_RDONLY. STATUS_FILE, and *fd < 0, when it fails, and
 * for a pipe or a device. */
enum status file_open(const char *path, int flags, int *fd);

/* Write all bytes to an open file; `path` is for the message. */
enum status file_write(int fd, const char *path, const char *bytes, size_t nbytes);

/* Write at an offset. Starts the write-back at once, so that the later fsync waits less. */
enum status file_write_at(int fd, const char *path, const void *bytes, size_t nbytes,
                          uint64_t offset);

/* A file that is written in large blocks. Whole pages bypass the page cache where the file system
 * supports O_DIRECT: no copy, a tenth of the processor time, and nothing left to flush. */
struct file_output {
    const char *path;   /* borrowed */
    int fd;             /* readable and writable */
    int direct_fd;      /* -1: not open yet */
    atomic_bool direct; /* requested, and not refused so far */
    bool in_memory;     /* on tmpfs: written by mapping, which threads can do at the same time */
    _Atomic uint64_t direct_bytes;
};

enum { FILE_PAGE_BYTES = 4096 };

/* Open an existing file. `direct`: bypass the page cache where that works. */
enum status file_output_open(const char *path, bool direct, struct file_output *file);
/* Write all bytes at an offset, as file_write_at does. Data bypass the page cache if they are at
 * least 2 MiB and if address and offset are equal modulo FILE_PAGE_BYTES. No page is written both
 * ways, even when other threads or processes write the neighbouring bytes. */
enum status file_output_write(struct file_output *file, const void *bytes, size_t nbytes,
                              uint64_t offset);
/* Takes a file that is not open. */
enum status file_output_close(struct file_output *file);

/* Close; returns `status`, or STATUS_FILE when that is STATUS_OK and closing fails. */
enum status file_close(int fd, const char *path, enum status status);

/* STATUS_FILE when the file ends before `nbytes`. */
enum status file_read_at(int fd, const char *path, void *bytes, size_t nbytes, uint64_t offset);
/* fsync; and fsync by name. */
enum status file_sync(int fd, const char *path);
enum status file_sync_named(const char *path);

/* Drop a flushed file from the page cache. */
void file_forget(int fd);

/* Get the time in s that this thread has spent in system calls that write to a file or wait for the
 * disk; and set it, for a thread that others have helped (base/thread.h). */
double file_disk_seconds(void);
void file_disk_reset(double seconds);

/* Create a file that no process reads before it is flushed and renamed. A file, link or pipe of its
 * name is removed: a link is not followed. */
enum status file_create(const char *path, const char *bytes, size_t nbytes);

/* Write the beginning of an existing file, and 64 KiB of zeros after it; the rest of the file
 * stays. */
enum status file_overwrite(const char *path, const char *bytes, size_t nbytes);

/* Write a whole small file: temporary name, fsync, rename, fsync of the folder. Readers see the old
 * file or the new one, never a part. */
enum status file_replace(const char *path, const char *bytes, size_t nbytes);

/* Write a small file that the user has named: as file_replace does, but into a device, a pipe or
 * the target of a link. */
enum status file_save(const char *path, const char *bytes, size_t nbytes);

/* STATUS_FILE when it cannot be removed. A file that does not exist is fine. */
enum status file_remove(const char *path);

/* STATUS_FILE when file_save could not create that file now. The test leaves no file. Call it
 * before work whose result goes there. */
enum status file_check_place(const char *path);

/* Rename, and fsync the folder so that the new name survives a power failure. STATUS_FILE if `path`
 * is a pipe or a device. */
enum status file_publish(const char *temporary, const char *path);

/* Open for reading, as file_open does; the caller closes the stream. */
enum status file_open_stream(const char *path, FILE **stream);
/* Read a whole file of at most `limit` bytes into a fresh buffer, zero-terminated; caller frees. */
enum status file_read_all(const char *path, size_t limit, char **bytes, size_t *nbytes);

/* Create a folder and its parents; STATUS_OK when it exists. */
enum status directory_make(const char *path);
/* Remove a folder with all its files, if it exists; warns where it cannot. */
void directory_remove(const char *path);
/* STATUS_FILE, with the reason, unless it is a folder that can be accessed. */
enum status directory_check(const char *path);

/* Paths or names. Zeroed memory is an empty list. */
struct path_list {
    char **path;
    int count;
};
enum status path_list_add(struct path_list *list, const char *path);
void path_list_free(struct path_list *list);
/* The names in a folder, in alphabetical order; none when there is no such folder. */
enum status directory_list(const char *directory, struct path_list *names);

/* The folder, or its nearest parent that exists. */
void directory_existing(const char *path, char found[PATH_BYTES]);
/* True if files can be written there, once it is made. */
bool directory_is_possible(const char *path);

/* STATUS_FILE, with the amounts, when the file system of `directory` has less than `bytes` free.
 * STATUS_OK where it does not report its size, as ramfs. */
enum status directory_check_room(const char *directory, uint64_t bytes);

/* Also true when this cannot be determined: the function that opens the file then reports why. */
bool file_exists(const char *path);
uint64_t file_size(const char *path); /* 0 when it does not exist */
