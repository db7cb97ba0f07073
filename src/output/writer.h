/* The writer: files are written in the background (docs/developers/files_design.md).
 *
 * The capture half of an output runs on the step loop, which makes all calls to the device and none
 * of HDF5, and submits a job. The job is the write half: it uses host memory only, on a
 * communicator of the writer's own. It is collective: every rank submits the same jobs in the same
 * order, and the outcome of each is agreed before it returns. HDF5 is not thread-safe: only the
 * writer's thread uses it between writer_create and the end of writer_finish. A job whose values
 * are still being copied is held back on this rank; if the copy fails on one rank, the job fails on
 * all before anything is written. A job's context belongs to the loop before writer_submit and to
 * the writer after it. */
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "kernels/backend.h"
#include "model/field/copy_out.h"
#include "solve/phases.h"

enum { WRITER_SLOTS = 2 };

/* A kind of output is its index in the table of output.h. */

struct writer_job {
    int kind;
    /* The write half: collective over `comm`, its outcome agreed. Rank 0 sets *bytes to the total
     * written by all ranks. */
    enum status (*write)(MPI_Comm comm, void *context, uint64_t *bytes);
    void (*destroy)(void *context); /* may be NULL; always called once */
    void *context;
};

/* The cost of one kind so far, on this rank. */
struct writer_figures {
    int64_t count;
    uint64_t bytes;   /* of jobs: on rank 0 only */
    double write_s;   /* in the write halves */
    double disk_s;    /* thereof in system calls that write and flush (base/file.h) */
    double longest_s; /* the longest one */
    double exposed_s; /* in the step loop: capture, waits, and foreground writing */
};

struct writer;

/* Collective. `wanted_background`: the settings allow it; writer_reason gives the result. The
 * thread records its jobs in `phases`, borrowed. On failure *writer is NULL. */
enum status writer_create(MPI_Comm comm, const struct backend *backend, struct device *device,
                          bool wanted_background, struct phases *phases, struct writer **writer);
/* Takes NULL. Ends the thread after the submitted jobs; does not report their failures. */
void writer_destroy(struct writer *writer);

struct writer_about {
    bool in_background;
    bool copies_in_background; /* see writer_copy_in_background */
    const char *reason;        /* of in_background */
    MPI_Comm comm; /* for objects that are opened before the first job and used by jobs only */
    int64_t waits; /* for a slot, on this rank ... */
    double wait_s; /* ... and their time */
};
struct writer_about writer_about(const struct writer *writer);

/* Allocate memory for jobs of `bytes`, before the first step. Not collective: agree on the
 * outcome. */
enum status writer_prepare(struct writer *writer, size_t bytes);

/* Collective, before the first job. Copy captures of up to `bytes` concurrently with the time
 * steps, through as much device memory; `steps` as for copy_out_create. No effect in the
 * foreground, or if a rank lacks the memory, which is reported. `has_room`: the memory is known to
 * be free. */
enum status writer_copy_in_background(struct writer *writer, struct queue *steps, size_t bytes,
                                      bool has_room);

/* The destination of a capture. */
struct writer_room {
    void *h_memory;            /* pinned, valid until the job is done */
    struct copy_out *copy_out; /* begun; NULL: the values must be complete at writer_submit */
};

/* Memory for the next job (`bytes` 0: only a slot). Waits for the previous copy and for a free
 * slot; waits that matter are reported once. Not collective: agree on the outcome. */
enum status writer_reserve(struct writer *writer, size_t bytes, struct writer_room *room);

/* Collective. After writer_reserve on all ranks. The writer owns the context from now on, also on
 * failure. In the foreground returns the job's outcome, agreed; in the background STATUS_OK at
 * once. */
enum status writer_submit(struct writer *writer, const struct writer_job *job);

/* Collective, at every step boundary: the agreed failure of a job that is done on all ranks. While
 * jobs are in flight it makes one small reduction, started at one boundary and completed at the
 * next, and polls the copy. */
enum status writer_poll(struct writer *writer);

/* Whether a job was in flight at the last writer_poll: then poll at the next step boundary. The
 * same on all ranks. */
bool writer_is_busy(const struct writer *writer);

/* Collective. Wait for all jobs; returns the first failure, agreed. Jobs may follow. */
enum status writer_finish(struct writer *writer);

/* Add the time since `since` (MPI_Wtime) to the exposed time of a kind. */
void writer_expose(struct writer *writer, int kind, double since);

/* Count `count` outputs of `bytes` in total, of a kind that the step loop writes itself, since
 * `since` (MPI_Wtime) and `disk_since` (file_disk_seconds). */
void writer_count(struct writer *writer, int kind, int64_t count, uint64_t bytes, double since,
                  double disk_since);

struct writer_figures writer_figures(struct writer *writer, int kind);
/* Whether waits are worth a message: more than 5 s and 10 % of the run so far. */
bool writer_waits_matter(double wait_s, double run_s);
