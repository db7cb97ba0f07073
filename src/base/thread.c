#include "base/thread.h"

#include <signal.h>
#include <string.h>

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
