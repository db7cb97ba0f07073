/* One run at a time in an output folder: the file run.lock says which. Its contents decide, not
 * flock, which not every Lustre or NFS has. A run that was killed leaves its file, which no longer
 * counts on the same host once that process is gone; on another host if it belongs to the same
 * Slurm job (requeued), or once it has not been touched for five minutes.
 * Rank 0 alone works here. */
#pragma once

#include "base/file.h"

enum { LOCK_BYTES = 512 };

struct run_lock {
    char path[PATH_BYTES];
    char text[LOCK_BYTES]; /* of the file while it is ours; "": not held */
    double touched_at;     /* clock_seconds */
};

/* STATUS_INPUT when another run is at work in the folder; says which. Changes nothing. */
enum status run_lock_check(const char *directory);

/* The folder is there. STATUS_INPUT as above; STATUS_FILE when the file cannot be made. */
enum status run_lock_take(const char *directory, struct run_lock *lock);

/* Show that the run is alive; call often, it works every 30 s. STATUS_FILE when another run has
 * taken the folder meanwhile: this one was stopped for so long that it counted as dead. */
enum status run_lock_touch(struct run_lock *lock);

/* Does nothing when it is not held. */
void run_lock_release(struct run_lock *lock);
