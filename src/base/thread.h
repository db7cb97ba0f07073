/* Threads in addition to the one that makes the steps, and work that is divided among threads. */
#pragma once

#include <pthread.h>
#include <stdint.h>

#include "base/status.h"

/* Start a thread with all signals blocked: they must interrupt the main thread. STATUS_MEMORY when
 * the system refuses, for example with a low `ulimit -u`. */
enum status thread_start(pthread_t *thread, void *(*work)(void *argument), void *argument);

/* Call `work` for the pieces 0 to count - 1, dealt in order to the OpenMP threads of the caller,
 * whose number is its omp_get_max_threads. `work` makes no MPI and no HDF5 call. After a failure no
 * later piece begins; returns the status of the lowest piece that failed, its message recorded on
 * the caller's thread. The file_disk_seconds of the caller grow by the mean over the threads. */
enum status thread_divide(int64_t count, enum status (*work)(void *context, int64_t piece),
                          void *context);
