#include "app/watchdog.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "app/exit_note.h"
#include "app/watchdog_window.h"
#include "app/writer.h"
#include "base/clock.h"
#include "base/comm.h"
#include "io/h5_broken.h"

/* A rank whose thread has not ticked for this long is stopped, or its node is. */
static const double SILENCE = 2.0; /* s */
static const double SLOWEST_TICK = 0.5;

struct watchdog {
    struct window *window;
    size_t bytes;
    int mates, mine; /* ranks in the window; this one's place in it */
    double patience, factor, grace;
    int neighbour[FACE_COUNT]; /* ranks that this one exchanges halos with */
    int nneighbours;
    char node[64];
    _Atomic int64_t longest[PLACE_COUNT]; /* ns, stays that have ended */
    _Atomic int64_t longest_write[WRITER_KIND_COUNT];
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock; /* of `done` alone */
    pthread_cond_t wake;
    bool done;
};

static int64_t now_ns(void)
{
    return (int64_t)(clock_seconds() * 1e9);
}

double watchdog_limit(double patience, double factor, double longest)
{
    return fmax(patience, factor * longest);
}

void watchdog_at(struct run *run, int place)
{
    struct watchdog *watchdog = run->watchdog;
    if (watchdog == NULL) {
        return;
    }
    struct beat *beat = &watchdog->window->beat[watchdog->mine];
    const int64_t now = now_ns();
    const int64_t stay = now - atomic_load_explicit(&beat->since, memory_order_relaxed);
    const int left = atomic_load_explicit(&beat->place, memory_order_relaxed);
    if (stay > atomic_load_explicit(&watchdog->longest[left], memory_order_relaxed)) {
        atomic_store_explicit(&watchdog->longest[left], stay, memory_order_relaxed);
    }
    atomic_store_explicit(&beat->step, run->step, memory_order_relaxed);
    atomic_store_explicit(&beat->place, place, memory_order_relaxed);
    atomic_store_explicit(&beat->since, now, memory_order_relaxed);
}

void watchdog_writes(struct watchdog *watchdog, int kind)
{
    if (watchdog == NULL) {
        return;
    }
    struct beat *beat = &watchdog->window->beat[watchdog->mine];
    atomic_store(&beat->written, kind);
    atomic_store(&beat->write_since, now_ns());
}

void watchdog_wrote(struct watchdog *watchdog)
{
    if (watchdog == NULL) {
        return;
    }
    struct beat *beat = &watchdog->window->beat[watchdog->mine];
    const int64_t taken = now_ns() - atomic_load(&beat->write_since);
    _Atomic int64_t *longest = &watchdog->longest_write[atomic_load(&beat->written)];
    if (taken > atomic_load(longest)) {
        atomic_store(longest, taken);
    }
    atomic_store(&beat->write_since, 0);
}

/* ---- saying where everybody stands ----------------------------------------------------------- */

static const char *place_name(int place)
{
    static const char *const names[PLACE_COUNT] = {
#define PLACE_NAME(name, key) [PHASE_##name] = key,
        PHASE_LIST(PLACE_NAME)
#undef PLACE_NAME
            [PLACE_START] = "making the initial state",
        [PLACE_AGREE] = "agreeing with all ranks",
        [PLACE_HISTORY] = "history",
        [PLACE_END] = "finishing",
    };
    return place >= 0 && place < PLACE_COUNT ? names[place] : "?";
}

/* Straight to the descriptor: the main thread may hang with a lock of stdio. */
static void say(const char *line)
{
    size_t left = strlen(line);
    while (left > 0) {
        const ssize_t written = write(STDERR_FILENO, line, left);
        if (written <= 0) {
            return;
        }
        line += written;
        left -= (size_t)written;
    }
}

static double seconds_since(int64_t then)
{
    return (double)(now_ns() - then) * 1e-9;
}

static bool is_silent(const struct beat *beat)
{
    return seconds_since(atomic_load(&beat->tick)) > SILENCE;
}

static const struct beat *find_mate(const struct watchdog *watchdog, int rank)
{
    for (int i = 0; i < watchdog->mates; i++) {
        if (watchdog->window->beat[i].rank == rank) {
            return &watchdog->window->beat[i];
        }
    }
    return NULL;
}

static void append_neighbours(const struct watchdog *watchdog, char *text, size_t bytes)
{
    for (int n = 0; n < watchdog->nneighbours; n++) {
        const size_t used = strlen(text);
        const struct beat *mate = find_mate(watchdog, watchdog->neighbour[n]);
        snprintf(text + used, bytes - used, "%s %d%s", n == 0 ? "; it exchanges with ranks" : ",",
                 watchdog->neighbour[n], mate != NULL && is_silent(mate) ? " (silent)" : "");
    }
}

static void tell_mine(const struct watchdog *watchdog)
{
    const struct beat *beat = &watchdog->window->beat[watchdog->mine];
    const int place = atomic_load(&beat->place);
    char text[512];
    snprintf(text, sizeof text,
             "watchdog: rank %d (%.60s, pid %d): step %" PRId64 ", %s for %.1f s", beat->rank,
             watchdog->node, beat->pid, atomic_load(&beat->step), place_name(place),
             seconds_since(atomic_load(&beat->since)));
    if (place == PHASE_HALO_BEGIN || place == PHASE_HALO_END) {
        append_neighbours(watchdog, text, sizeof text - 1);
    }
    const int64_t write_since = atomic_load(&beat->write_since);
    if (write_since > 0) {
        const size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "; writing %s for %.1f s",
                 writer_kind_name((enum writer_kind)atomic_load(&beat->written)),
                 seconds_since(write_since));
    }
    const size_t used = strlen(text);
    snprintf(text + used, sizeof text - used, "\n");
    say(text);
}

/* Silent ranks are told of by the first that is not. */
static void tell_silent(const struct watchdog *watchdog)
{
    const struct window *window = watchdog->window;
    for (int i = 0; i < watchdog->mine; i++) {
        if (!is_silent(&window->beat[i])) {
            return;
        }
    }
    for (int i = 0; i < watchdog->mates; i++) {
        const struct beat *beat = &window->beat[i];
        if (i == watchdog->mine || !is_silent(beat)) {
            continue;
        }
        char text[512];
        snprintf(text, sizeof text,
                 "watchdog: rank %d (%.60s, pid %d) does not answer for %.1f s: that process is "
                 "stopped; last seen at step %" PRId64 ", %s\n",
                 beat->rank, watchdog->node, beat->pid, seconds_since(atomic_load(&beat->tick)),
                 atomic_load(&beat->step), place_name(atomic_load(&beat->place)));
        say(text);
    }
}

/* ---- ending ---------------------------------------------------------------------------------- */

/* _exit, not MPI_Abort: the main thread may be anywhere inside MPI, with its locks held. Every
 * rank that can does it by itself; a launcher that sees one rank go without MPI_Finalize takes
 * the others down too. Stopped processes are woken, so that their threads see that it is over. */
static void end_all(const struct watchdog *watchdog, double limit)
{
    struct window *window = watchdog->window;
    const struct beat *beat = &window->beat[watchdog->mine];
    const bool writes = atomic_load(&beat->write_since) > 0;
    const int code = status_exit_code(STATUS_MPI);
    if (atomic_exchange(&window->ending, code) == 0) {
        char text[256];
        snprintf(text, sizeof text,
                 "watchdog: error: rank %d: no progress %.1f s after the first warning, in %s%s%s: "
                 "ending the run with exit code %d\n",
                 beat->rank, limit, place_name(atomic_load(&beat->place)),
                 writes ? " while writing " : "",
                 writes ? writer_kind_name((enum writer_kind)atomic_load(&beat->written)) : "",
                 code);
        say(text);
    }
    bool woken = false;
    for (int i = 0; i < watchdog->mates; i++) {
        if (i != watchdog->mine && is_silent(&window->beat[i])) {
            kill(window->beat[i].pid, SIGCONT);
            woken = true;
        }
    }
    if (woken) {
        /* as long as their threads need to look */
        const struct timespec pause = {.tv_sec = 2};
        nanosleep(&pause, NULL);
    }
    for (int i = 0; i < watchdog->mates; i++) {
        if (i != watchdog->mine && is_silent(&window->beat[i])) {
            kill(window->beat[i].pid, SIGKILL);
        }
    }
    exit_note(code);
    _exit(code);
}

/* MPI-IO has failed on this rank and still does not return: it will not, so the others, which would
 * wait for the grace, are ended now, and for the right reason. */
static void end_lost_file(const struct watchdog *watchdog)
{
    struct window *window = watchdog->window;
    const int code = status_exit_code(STATUS_FILE);
    const char *trouble = h5_trouble();
    if (trouble == NULL) {
        return;
    }
    if (atomic_exchange(&window->ending, code) == 0) {
        char text[STATUS_MESSAGE_BYTES + 64];
        snprintf(text, sizeof text,
                 "error: rank %d: %s; the call does not return, so the run ends\n",
                 window->beat[watchdog->mine].rank, trouble);
        say(text);
    }
    exit_note(code);
    _exit(code);
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* True when the thread is to end. */
static bool pause_until(struct watchdog *watchdog, double seconds)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    const int64_t ns = until.tv_nsec + (int64_t)(seconds * 1e9);
    until.tv_sec += ns / 1000000000;
    until.tv_nsec = ns % 1000000000;
    pthread_mutex_lock(&watchdog->lock);
    int woken = 0;
    while (!watchdog->done && woken == 0) {
        woken = pthread_cond_timedwait(&watchdog->wake, &watchdog->lock, &until);
    }
    const bool done = watchdog->done;
    pthread_mutex_unlock(&watchdog->lock);
    return done;
}

static double write_limit(const struct watchdog *watchdog, int kind)
{
    return watchdog_limit(watchdog->patience, watchdog->factor,
                          (double)atomic_load(&watchdog->longest_write[kind]) * 1e-9);
}

/* Steps that wait for a file may take as long as that may. */
static double place_limit(const struct watchdog *watchdog, int place)
{
    const struct beat *beat = &watchdog->window->beat[watchdog->mine];
    const double limit = watchdog_limit(watchdog->patience, watchdog->factor,
                                        (double)atomic_load(&watchdog->longest[place]) * 1e-9);
    return atomic_load(&beat->write_since) > 0
               ? fmax(limit, write_limit(watchdog, atomic_load(&beat->written)))
               : limit;
}

/* What the thread remembers from look to look. */
struct alarm {
    int answered;        /* of window->told */
    int64_t told_since;  /* the stay that was told of; 0: none */
    int64_t overdue_at;  /* ns; 0: in time */
    int64_t stuck_since; /* the stay that is overdue */
    int64_t late_write;  /* the write that is overdue, by its beginning; 0: none */
};

/* A write beside the steps that takes too long is told of once. It ends the run only when the steps
 * wait for it. */
static void look_at_writer(const struct watchdog *watchdog, struct alarm *alarm)
{
    struct window *window = watchdog->window;
    const struct beat *beat = &window->beat[watchdog->mine];
    const int64_t since = atomic_load(&beat->write_since);
    if (alarm->late_write > 0 && since != alarm->late_write) {
        char text[96];
        snprintf(text, sizeof text, "watchdog: rank %d has written it\n", beat->rank);
        say(text);
        alarm->late_write = 0;
    }
    if (since > 0 && alarm->late_write == 0 &&
        seconds_since(since) > write_limit(watchdog, atomic_load(&beat->written))) {
        alarm->late_write = since;
        atomic_fetch_add(&window->told, 1);
    }
}

static void look(const struct watchdog *watchdog, struct alarm *alarm)
{
    struct window *window = watchdog->window;
    struct beat *beat = &window->beat[watchdog->mine];
    atomic_store(&beat->tick, now_ns());
    const int ending = atomic_load(&window->ending);
    if (ending != 0) {
        _exit(ending);
    }
    const int place = atomic_load(&beat->place);
    const int64_t since = atomic_load(&beat->since);
    const double limit = place_limit(watchdog, place);
    look_at_writer(watchdog, alarm);
    if (alarm->overdue_at > 0 && since != alarm->stuck_since) {
        char text[96];
        snprintf(text, sizeof text, "watchdog: rank %d goes on\n", beat->rank);
        say(text);
        alarm->overdue_at = 0;
    }
    if (alarm->overdue_at == 0 && seconds_since(since) > limit) {
        alarm->overdue_at = now_ns();
        alarm->stuck_since = since;
        if (alarm->told_since != since) {
            atomic_fetch_add(&window->told, 1);
        }
    }
    const int told = atomic_load(&window->told);
    if (told != alarm->answered) {
        alarm->answered = told;
        if (alarm->told_since != since) {
            alarm->told_since = since;
            tell_mine(watchdog);
            tell_silent(watchdog);
        }
    }
    if (alarm->overdue_at > 0 || alarm->late_write > 0) {
        end_lost_file(watchdog);
    }
    if (alarm->overdue_at > 0 && seconds_since(alarm->overdue_at) > watchdog->grace) {
        tell_silent(watchdog);
        end_all(watchdog, watchdog->grace);
    }
}

static void *watch(void *argument)
{
    struct watchdog *watchdog = argument;
    struct alarm alarm = {.answered = atomic_load(&watchdog->window->told)};
    const double tick = fmin(SLOWEST_TICK, watchdog->patience / 4);
    while (!pause_until(watchdog, tick)) {
        look(watchdog, &alarm);
    }
    return NULL;
}

static enum status start_thread(struct watchdog *watchdog)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&watchdog->lock, NULL);
    pthread_cond_init(&watchdog->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    /* signals are the main thread's */
    sigset_t all;
    sigset_t old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    const int code = pthread_create(&watchdog->thread, NULL, watch, watchdog);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (code != 0) {
        return fail(STATUS_MEMORY, "cannot start the watchdog's thread: %s", strerror(code));
    }
    watchdog->has_thread = true;
    return STATUS_OK;
}

/* ---- setting up -------------------------------------------------------------------------------
 */

static enum status open_window(struct run *run, struct watchdog *watchdog)
{
    MPI_Comm node;
    TRY_MPI(MPI_Comm_split_type(run->comm, MPI_COMM_TYPE_SHARED, run->rank, MPI_INFO_NULL, &node));
    enum status status = watchdog_window_share(node, &watchdog->mates, &watchdog->mine,
                                               &watchdog->window, &watchdog->bytes);
    if (status == STATUS_OK) {
        struct beat *beat = &watchdog->window->beat[watchdog->mine];
        beat->rank = run->rank;
        beat->pid = (int)getpid();
        atomic_store(&beat->place, PLACE_START);
        atomic_store(&beat->since, now_ns());
        atomic_store(&beat->tick, now_ns());
        /* nobody looks before all have written */
        status = comm_check(MPI_Barrier(node), "starting the watchdog");
    }
    comm_free(&node);
    return status;
}

static void list_neighbours(const struct run *run, struct watchdog *watchdog)
{
    for (int m = 0; m < run->plan.nmessages; m++) {
        const int peer = run->plan.message[m].peer;
        bool known = peer == run->rank;
        for (int n = 0; n < watchdog->nneighbours; n++) {
            known = known || watchdog->neighbour[n] == peer;
        }
        if (!known) {
            watchdog->neighbour[watchdog->nneighbours++] = peer;
        }
    }
}

enum status watchdog_create(struct run *run)
{
    const struct settings *settings = run->settings;
    if (settings->run.watchdog_patience == 0) {
        return STATUS_OK;
    }
    struct watchdog *made = calloc(1, sizeof *made);
    TRY(status_agree(run->comm,
                     made == NULL ? fail(STATUS_MEMORY, "no memory for the watchdog") : STATUS_OK));
    made->patience = settings->run.watchdog_patience;
    made->factor = settings->run.watchdog_factor;
    made->grace = settings->run.watchdog_grace;
    gethostname(made->node, sizeof made->node - 1);
    list_neighbours(run, made);
    enum status status = open_window(run, made);
    if (status == STATUS_OK) {
        status = start_thread(made);
    }
    status = status_agree(run->comm, status);
    if (status != STATUS_OK) {
        watchdog_destroy(made);
        return status;
    }
    run->watchdog = made;
    return STATUS_OK;
}

void watchdog_destroy(struct watchdog *watchdog)
{
    if (watchdog == NULL) {
        return;
    }
    if (watchdog->has_thread) {
        pthread_mutex_lock(&watchdog->lock);
        watchdog->done = true;
        pthread_cond_signal(&watchdog->wake);
        pthread_mutex_unlock(&watchdog->lock);
        pthread_join(watchdog->thread, NULL);
        pthread_cond_destroy(&watchdog->wake);
        pthread_mutex_destroy(&watchdog->lock);
    }
    if (watchdog->window != NULL) {
        /* this rank is done: the others shall not take it for a silent one */
        atomic_store(&watchdog->window->beat[watchdog->mine].tick, INT64_MAX);
        munmap(watchdog->window, watchdog->bytes);
    }
    free(watchdog);
}
