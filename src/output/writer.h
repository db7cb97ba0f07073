/* The writer: files are written while the steps go on.
 *
 * Every kind of output has two halves.
 *   The capture half runs on the step loop. It asks for memory (writer_reserve), copies what is to
 *   be written from the device into it, or sends it on its way (model/copy_out.h), and hands in a
 *   job (writer_submit). It makes no HDF5 call.
 *   The write half is the job: it works from host memory alone, on a communicator of the writer's
 *   own, and makes all the HDF5 calls. It is collective: every rank hands in the same jobs in the
 *   same order, and the outcome of each is agreed on all ranks before it returns.
 * In the background the write half runs on the writer's thread; HDF5, which knows no threads, is
 * used by that thread alone between writer_create and the end of writer_finish. Where MPI does not
 * grant MPI_THREAD_MULTIPLE, or the settings say so, the same job runs inside writer_submit. So
 * both ways make the same calls with the same bytes.
 *
 * At most WRITER_SLOTS jobs are in flight; writer_reserve waits for a free place.
 *
 * A job whose values are on their way is held back, on this rank, until they have come: the loop
 * asks at every step boundary (writer_poll), and waits before the next capture. So all calls to the
 * device are the loop's: a thread of its own would need the device for itself, on some a context.
 * When the copy fails on one rank the job fails on all, before anything is written.
 *
 * What the two threads share: the ring of jobs and the counters in struct writer, under one mutex
 * with one condition. A job's context belongs to the loop before writer_submit and to the writer
 * after it. The recorded failure message (base/status.h) is each thread's own. */
#ifndef ISOTHERM_OUTPUT_WRITER_H
#define ISOTHERM_OUTPUT_WRITER_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "kernels/backend.h"
#include "model/copy_out.h"
#include "solve/phases.h"

enum { WRITER_SLOTS = 2 };

/* Kinds of output are numbers here: their places in the table of output.h. */

struct writer_job {
    int kind;
    /* The write half: collective over `comm`, its outcome agreed there. Rank 0 says how many *bytes
     * all ranks together left on the disk. */
    enum status (*write)(MPI_Comm comm, void *context, uint64_t *bytes);
    void (*destroy)(void *context); /* may be NULL; called once, whatever happens */
    void *context;
};

/* What one kind has cost so far, on this rank. */
struct writer_figures {
    int64_t count;
    uint64_t bytes;   /* of jobs: on rank 0 only */
    double write_s;   /* in the write halves */
    double disk_s;    /* of it: in system calls that write and flush (base/file.h) */
    double longest_s; /* of one of them */
    double exposed_s; /* of the step loop's time: capture, waits, and foreground writing */
};

struct writer;

/* Collective. `wanted_background` is what the settings allow; writer_reason gives the result. The
 * thread notes its jobs in `phases`, borrowed. On failure *writer is NULL. */
enum status writer_create(MPI_Comm comm, const struct backend *backend, struct device *device,
                          bool wanted_background, struct phases *phases,
                          struct writer **writer) MUST_CHECK;
/* Takes NULL. Ends the thread once the jobs handed in are done; their failures are not told. */
void writer_destroy(struct writer *writer);

bool writer_in_background(const struct writer *writer);
const char *writer_reason(const struct writer *writer); /* why, in words; for report.json */
/* For objects that are opened before the first job and are then used by write halves alone. */
MPI_Comm writer_comm(const struct writer *writer);

/* Memory for jobs of so many bytes at once, so that no step waits for the system to find it. Not
 * collective: agree on the outcome. */
enum status writer_prepare(struct writer *writer, size_t bytes) MUST_CHECK;

/* Collective, before the first job. Let captures of up to `bytes` travel beside the steps, through
 * as much device memory; `steps` as for copy_out_create. Nothing changes in the
 * foreground, and where a rank has no memory for it, which is said. `has_room`: what is known of
 * that. */
enum status writer_send_beside(struct writer *writer, struct queue *steps, size_t bytes,
                               bool has_room) MUST_CHECK;
bool writer_sends_beside(const struct writer *writer);

/* Where a capture goes. */
struct writer_room {
    void *h_memory;            /* pinned, valid until the job is done */
    struct copy_out *copy_out; /* begun; NULL: the values must be there at writer_submit */
};

/* Room for the next job, `bytes` long (0: only a place). Waits for the copy before it, and while
 * all places are taken, which it says once if the waits matter. Not collective: agree on the
 * outcome. */
enum status writer_reserve(struct writer *writer, size_t bytes,
                           struct writer_room *room) MUST_CHECK;

/* Collective. After writer_reserve on all ranks. The context is the writer's from now on, on
 * failure too. In the foreground it returns the job's outcome, agreed; in the background
 * STATUS_OK at once. */
enum status writer_submit(struct writer *writer, const struct writer_job *job) MUST_CHECK;

/* Collective, at every step boundary: the agreed failure of a job that is done on all ranks. One
 * small reduction, begun at one boundary and finished at the next, while jobs are in flight; and a
 * look whether values have come. */
enum status writer_poll(struct writer *writer) MUST_CHECK;

/* Is a job in flight, as far as writer_poll knows? Then the next step boundary is to poll. The same
 * on all ranks. */
bool writer_is_busy(const struct writer *writer);

/* Collective. Wait for all jobs; the first failure, agreed. May be called again, and jobs may
 * follow. */
enum status writer_finish(struct writer *writer) MUST_CHECK;

/* Add to the exposed time of a kind: what the step loop spent on it since `since` (MPI_Wtime). */
void writer_expose(struct writer *writer, int kind, double since);

/* Count `count` outputs of `bytes` together, of a kind that the step loop writes itself, without
 * jobs, since `since` (MPI_Wtime) and `disk_since` (file_disk_seconds). */
void writer_count(struct writer *writer, int kind, int64_t count, uint64_t bytes, double since,
                  double disk_since);

struct writer_figures writer_figures(struct writer *writer, int kind);
/* Are waits worth a message? More than 5 s and 10 % of the run so far. */
bool writer_waits_matter(double wait_s, double run_s);
/* How often, and how long (s), writer_reserve found all places taken, on this rank. */
void writer_waits(struct writer *writer, int64_t *count, double *seconds);

#endif
