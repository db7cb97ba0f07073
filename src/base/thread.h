/* Threads besides the one that makes the steps. */
#ifndef ISOTHERM_BASE_THREAD_H
#define ISOTHERM_BASE_THREAD_H

#include <pthread.h>

#include "base/status.h"

/* Start a thread with all signals blocked: they must interrupt the main thread. STATUS_MEMORY when
 * the system has none to give, as with a low `ulimit -u`. */
enum status thread_start(pthread_t *thread, void *(*work)(void *argument),
                         void *argument) MUST_CHECK;

#endif
