#include "app/hang_monitor.h"

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
#include "app/hang_window.h"
#include "base/clock.h"
#include "base/comm.h"
#include "base/log.h"
#include "base/thread.h"
#include "io/hdf5/h5_about.h"

/* A rank whose thread has not ticked for this long is stopped, or its node is. */
static const double SILENCE = 2.0; /* s */
static const double SLOWEST_TICK = 0.5;

struct hang_monitor {
    const struct phases *phases; /* observed, borrowed */
    struct hang_window *window;
    size_t bytes;
    int mates, mine; /* ranks in the window; index of this one */
    double patience, factor, grace;
    int neighbour[HALO_MESSAGES_MAX]; /* ranks that exchange halos with this one */
    int nneighbours;
    char node[64];
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock; /* for `done` */
    pthread_cond_t wake;
    bool done;
};

double hang_monitor_limit(double patience, double factor, double longest)
{
    return fmax(patience, factor * longest);
}

/* ---- reports ---- */

static const char *phase_name(const struct hang_monitor *monitor, int phase)
{
    const char *name = phase >= 0 && phase < PHASES ? monitor->phases->name[phase] : NULL;
    return name != NULL ? name : "?";
}

/* Not through stdio: the main thread may hang with its lock. */
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
    return (double)(phases_now() - then) * 1e-9;
}

static bool is_silent(const struct beat *beat)
{
    return seconds_since(atomic_load(&beat->tick)) > SILENCE;
}

static const struct beat *find_mate(const struct hang_monitor *monitor, int rank)
{
    for (int i = 0; i < monitor->mates; i++) {
        if (monitor->window->beat[i].rank == rank) {
            return &monitor->window->beat[i];
        }
    }
    return NULL;
}

static void append_neighbours(const struct hang_monitor *monitor, char *text, size_t bytes)
{
    for (int n = 0; n < monitor->nneighbours; n++) {
        const size_t used = strlen(text);
        const struct beat *mate = find_mate(monitor, monitor->neighbour[n]);
        snprintf(text + used, bytes - used, "%s %d%s", n == 0 ? "; it exchanges with ranks" : ",",
                 monitor->neighbour[n], mate != NULL && is_silent(mate) ? " (silent)" : "");
    }
}

static void report_own(const struct hang_monitor *monitor)
{
    const struct beat *beat = &monitor->window->beat[monitor->mine];
    const struct phases *phases = monitor->phases;
    const int phase = atomic_load(&phases->present);
    char text[512];
    snprintf(text, sizeof text,
             "watchdog: rank %d (%.60s, pid %d): step %" PRId64 ", %s for %.1f s", beat->rank,
             monitor->node, beat->pid, atomic_load(&phases->step), phase_name(monitor, phase),
             seconds_since(atomic_load(&phases->since)));
    if (phase == PHASE_HALO_BEGIN || phase == PHASE_HALO_END) {
        append_neighbours(monitor, text, sizeof text - 1);
    }
    const int64_t write_since = atomic_load(&phases->write_since);
    if (write_since > 0) {
        const size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "; writing %s for %.1f s",
                 phase_name(monitor, PHASE_OUTPUTS + atomic_load(&phases->written)),
                 seconds_since(write_since));
    }
    const size_t used = strlen(text);
    snprintf(text + used, sizeof text - used, "\n");
    say(text);
}

/* The first rank that is not silent reports the silent ones. */
static void report_silent(const struct hang_monitor *monitor)
{
    const struct hang_window *window = monitor->window;
    for (int i = 0; i < monitor->mine; i++) {
        if (!is_silent(&window->beat[i])) {
            return;
        }
    }
    for (int i = 0; i < monitor->mates; i++) {
        const struct beat *beat = &window->beat[i];
        if (i == monitor->mine || !is_silent(beat)) {
            continue;
        }
        char text[512];
        snprintf(text, sizeof text,
                 "watchdog: rank %d (%.60s, pid %d) has not answered for %.1f s: its process is "
                 "stopped; last seen at step %" PRId64 ", %s\n",
                 beat->rank, monitor->node, beat->pid, seconds_since(atomic_load(&beat->tick)),
                 atomic_load(&beat->step), phase_name(monitor, atomic_load(&beat->phase)));
        say(text);
    }
}

/* ---- the end ---- */

/* _exit, not MPI_Abort: the main thread may hold locks inside MPI. Every rank exits by itself; a
 * launcher that sees one rank exit without MPI_Finalize kills the others, too. Stopped processes
 * are woken, so that their threads notice the end. */
static void end_all(const struct hang_monitor *monitor, double limit)
{
    struct hang_window *window = monitor->window;
    const struct beat *beat = &window->beat[monitor->mine];
    const struct phases *phases = monitor->phases;
    const bool writes = atomic_load(&phases->write_since) > 0;
    const int code = status_exit_code(STATUS_MPI);
    if (atomic_exchange(&window->ending, code) == 0) {
        char text[256];
        snprintf(text, sizeof text,
                 "watchdog: error: rank %d: no progress %.1f s after the first warning, in %s%s%s: "
                 "ending the run with exit code %d\n",
                 beat->rank, limit, phase_name(monitor, atomic_load(&phases->present)),
                 writes ? " while writing " : "",
                 writes ? phase_name(monitor, PHASE_OUTPUTS + atomic_load(&phases->written)) : "",
                 code);
        say(text);
    }
    bool woken = false;
    for (int i = 0; i < monitor->mates; i++) {
        if (i != monitor->mine && is_silent(&window->beat[i])) {
            kill(window->beat[i].pid, SIGCONT);
            woken = true;
        }
    }
    if (woken) {
        /* enough for their threads to notice */
        const struct timespec pause = {.tv_sec = 2};
        nanosleep(&pause, NULL);
    }
    for (int i = 0; i < monitor->mates; i++) {
        if (i != monitor->mine && is_silent(&window->beat[i])) {
            kill(window->beat[i].pid, SIGKILL);
        }
    }
    exit_note(code);
    _exit(code);
}

/* MPI-IO has failed on this rank without returning: end all ranks now, with the true reason,
 * instead of after the grace time. */
static void end_lost_file(const struct hang_monitor *monitor)
{
    struct hang_window *window = monitor->window;
    const int code = status_exit_code(STATUS_FILE);
    const char *trouble = h5_trouble();
    if (trouble == NULL) {
        return;
    }
    if (atomic_exchange(&window->ending, code) == 0) {
        char text[STATUS_MESSAGE_BYTES + 64];
        snprintf(text, sizeof text,
                 "error: rank %d: %s; the call does not return, so the run ends\n",
                 window->beat[monitor->mine].rank, trouble);
        say(text);
    }
    exit_note(code);
    _exit(code);
}

/* ---- the thread ---- */

static bool pause_until(struct hang_monitor *monitor, double seconds)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    const int64_t ns = until.tv_nsec + (int64_t)(seconds * 1e9);
    until.tv_sec += ns / 1000000000;
    until.tv_nsec = ns % 1000000000;
    pthread_mutex_lock(&monitor->lock);
    int woken = 0;
    while (!monitor->done && woken == 0) {
        woken = pthread_cond_timedwait(&monitor->wake, &monitor->lock, &until);
    }
    const bool done = monitor->done;
    pthread_mutex_unlock(&monitor->lock);
    return done;
}

static double write_limit(const struct hang_monitor *monitor, int kind)
{
    return hang_monitor_limit(monitor->patience, monitor->factor,
                              (double)atomic_load(&monitor->phases->longest_write[kind]) * 1e-9);
}

/* Steps that wait for a file have the limit of that file. */
static double phase_limit(const struct hang_monitor *monitor, int phase)
{
    const struct phases *phases = monitor->phases;
    const double limit = hang_monitor_limit(monitor->patience, monitor->factor,
                                            (double)atomic_load(&phases->longest[phase]) * 1e-9);
    return atomic_load(&phases->write_since) > 0
               ? fmax(limit, write_limit(monitor, atomic_load(&phases->written)))
               : limit;
}

struct alarm {
    int answered;           /* of window->reports */
    int64_t reported_since; /* the phase that was reported, by its start; 0: none */
    int64_t overdue_at;     /* ns; 0: in time */
    int64_t stuck_since;    /* the overdue phase, by its start */
    int64_t late_write;     /* the overdue write, by its start; 0: none */
};

/* An overdue write in the background is reported once. It ends the run only when the steps wait for
 * it. */
static void check_writer(const struct hang_monitor *monitor, struct alarm *alarm)
{
    struct hang_window *window = monitor->window;
    const struct beat *beat = &window->beat[monitor->mine];
    const int64_t since = atomic_load(&monitor->phases->write_since);
    if (alarm->late_write > 0 && since != alarm->late_write) {
        char text[96];
        snprintf(text, sizeof text, "watchdog: rank %d has completed the write\n", beat->rank);
        say(text);
        alarm->late_write = 0;
    }
    if (since > 0 && alarm->late_write == 0 &&
        seconds_since(since) > write_limit(monitor, atomic_load(&monitor->phases->written))) {
        alarm->late_write = since;
        atomic_fetch_add(&window->reports, 1);
    }
}

static void check(const struct hang_monitor *monitor, struct alarm *alarm)
{
    struct hang_window *window = monitor->window;
    const struct phases *phases = monitor->phases;
    struct beat *beat = &window->beat[monitor->mine];
    const int phase = atomic_load(&phases->present);
    const int64_t since = atomic_load(&phases->since);
    atomic_store(&beat->phase, phase);
    atomic_store(&beat->step, atomic_load(&phases->step));
    atomic_store(&beat->tick, phases_now());
    const int ending = atomic_load(&window->ending);
    if (ending != 0) {
        _exit(ending);
    }
    const double limit = phase_limit(monitor, phase);
    check_writer(monitor, alarm);
    if (alarm->overdue_at > 0 && since != alarm->stuck_since) {
        char text[96];
        snprintf(text, sizeof text, "watchdog: rank %d continues\n", beat->rank);
        say(text);
        alarm->overdue_at = 0;
    }
    if (alarm->overdue_at == 0 && seconds_since(since) > limit) {
        alarm->overdue_at = phases_now();
        alarm->stuck_since = since;
        if (alarm->reported_since != since) {
            atomic_fetch_add(&window->reports, 1);
        }
    }
    const int reports = atomic_load(&window->reports);
    if (reports != alarm->answered) {
        alarm->answered = reports;
        if (alarm->reported_since != since) {
            alarm->reported_since = since;
            report_own(monitor);
            report_silent(monitor);
        }
    }
    if (alarm->overdue_at > 0 || alarm->late_write > 0) {
        end_lost_file(monitor);
    }
    if (alarm->overdue_at > 0 && seconds_since(alarm->overdue_at) > monitor->grace) {
        report_silent(monitor);
        end_all(monitor, monitor->grace);
    }
}

static void *watch(void *argument)
{
    struct hang_monitor *monitor = argument;
    struct alarm alarm = {.answered = atomic_load(&monitor->window->reports)};
    const double tick = fmin(SLOWEST_TICK, monitor->patience / 4);
    while (!pause_until(monitor, tick)) {
        check(monitor, &alarm);
    }
    return NULL;
}

static enum status start_thread(struct hang_monitor *monitor)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&monitor->lock, NULL);
    pthread_cond_init(&monitor->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    TRY(thread_start(&monitor->thread, watch, monitor));
    monitor->has_thread = true;
    return STATUS_OK;
}

/* ---- creation ---- */

static enum status open_window(const struct team *team, struct hang_monitor *monitor)
{
    MPI_Comm node;
    TRY_MPI(
        MPI_Comm_split_type(team->comm, MPI_COMM_TYPE_SHARED, team->rank, MPI_INFO_NULL, &node));
    enum status status =
        hang_window_share(node, &monitor->mates, &monitor->mine, &monitor->window, &monitor->bytes);
    if (status == STATUS_OK) {
        struct beat *beat = &monitor->window->beat[monitor->mine];
        beat->rank = team->rank;
        beat->pid = (int)getpid();
        atomic_store(&beat->phase, PHASE_START);
        atomic_store(&beat->tick, phases_now());
        /* no rank reads before all have written */
        status = comm_check(MPI_Barrier(node), "starting the watchdog");
    }
    comm_free(&node);
    return status;
}

static void list_neighbours(const struct halo_plan *plan, int rank, struct hang_monitor *monitor)
{
    for (int m = 0; m < plan->nmessages; m++) {
        const int peer = plan->message[m].peer;
        bool known = peer == rank;
        for (int n = 0; n < monitor->nneighbours; n++) {
            known = known || monitor->neighbour[n] == peer;
        }
        if (!known) {
            monitor->neighbour[monitor->nneighbours++] = peer;
        }
    }
}

static enum status start(const struct team *team, struct hang_monitor *monitor)
{
    TRY(open_window(team, monitor));
    return start_thread(monitor);
}

enum status hang_monitor_create(const struct team *team, const struct settings *settings,
                                const struct halo_plan *plan, const struct phases *phases,
                                struct hang_monitor **monitor)
{
    *monitor = NULL;
    if (settings->run.watchdog_patience == 0) {
        return STATUS_OK;
    }
    struct hang_monitor *built = calloc(1, sizeof *built);
    TRY(status_agree(team->comm, built == NULL ? fail(STATUS_MEMORY, "no memory for the watchdog")
                                               : STATUS_OK));
    built->phases = phases;
    built->patience = settings->run.watchdog_patience;
    built->factor = settings->run.watchdog_factor;
    built->grace = settings->run.watchdog_grace;
    gethostname(built->node, sizeof built->node - 1);
    list_neighbours(plan, team->rank, built);
    const enum status status = status_agree(team->comm, start(team, built));
    if (status == STATUS_OK) {
        *monitor = built;
        return STATUS_OK;
    }
    hang_monitor_destroy(built);
    if (status == STATUS_MEMORY) {
        log_warn("the watchdog is off, so a run that hangs is not ended: %s", fail_message());
        fail_clear();
        return STATUS_OK;
    }
    return status;
}

void hang_monitor_destroy(struct hang_monitor *monitor)
{
    if (monitor == NULL) {
        return;
    }
    if (monitor->has_thread) {
        pthread_mutex_lock(&monitor->lock);
        monitor->done = true;
        pthread_cond_signal(&monitor->wake);
        pthread_mutex_unlock(&monitor->lock);
        pthread_join(monitor->thread, NULL);
        pthread_cond_destroy(&monitor->wake);
        pthread_mutex_destroy(&monitor->lock);
    }
    if (monitor->window != NULL) {
        /* this rank has finished and must not count as silent */
        atomic_store(&monitor->window->beat[monitor->mine].tick, INT64_MAX);
        munmap(monitor->window, monitor->bytes);
    }
    free(monitor);
}
