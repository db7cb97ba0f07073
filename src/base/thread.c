#include "base/thread.h"

#include <omp.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include "base/file.h"

enum status thread_start(pthread_t *thread, void *(*work)(void *argument), void *argument)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int code = pthread_create(thread, NULL, work, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code == 0 ? STATUS_OK
                     : fail(STATUS_MEMORY, "a thread cannot be started: %s", strerror(code));
}

/* Few pieces do not wake other threads. */
static int threads_for(int64_t count)
{
    const int most = omp_get_max_threads();
    return count < 1 ? 1 : count < most ? (int)count : most;
}

enum status thread_divide(int64_t count, enum status (*work)(void *context, int64_t piece),
                          void *context)
{
    struct failure failure = {.code = STATUS_OK};
    _Atomic int64_t failed = count; /* the lowest piece that has failed */
    const double since = file_disk_seconds();
    double disk_s = 0;
#pragma omp parallel num_threads(threads_for(count)) reduction(+ : disk_s)
    {
        const double mine_since = file_disk_seconds();
#pragma omp for schedule(dynamic) nowait
        for (int64_t n = 0; n < count; n++) {
            const enum status mine = n < atomic_load(&failed) ? work(context, n) : STATUS_OK;
            if (mine != STATUS_OK) {
#pragma omp critical(thread_divide)
                if (n < atomic_load(&failed)) {
                    atomic_store(&failed, n);
                    fail_keep(mine, &failure);
                }
            }
        }
        disk_s = (file_disk_seconds() - mine_since) / omp_get_num_threads();
    }
    file_disk_reset(since + disk_s);
    return fail_restore(&failure);
}
