#include "app/hang_monitor.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "app/stop.h"
#include "base/comm.h"
#include "base/log.h"
#include "base/thread.h"
#include "io/hdf5/h5_about.h"

/* A rank whose thread has not ticked for this long is stopped, or its node is. */
static const double SILENCE = 2.0; /* s */
static const double SLOWEST_TICK = 0.5;

/* The state of one rank. */
struct beat {
    _Alignas(64) int rank;
    int pid;
    atomic_int phase;
    _Atomic int64_t step;
    _Atomic int64_t tick; /* ns, monotonic: of the monitor's last check */
};

/* Shared by the ranks of a node. */
struct window {
    atomic_int reports; /* requested reports of all ranks so far */
    atomic_int ending;  /* the exit code with which all ranks end; 0: none */
    struct beat beat[];
};

struct hang_monitor {
    const struct phases *phases;  /* observed, borrowed */
    const struct halo_plan *plan; /* borrowed */
    double patience, factor, grace;
    struct window *window;
    size_t bytes;
    int mates; /* ranks in the window */
    struct beat *mine;
    char node[64];
    pthread_t thread;
    bool has_thread;
    int end; /* an eventfd: ends the thread */
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

static const char *write_name(const struct hang_monitor *monitor)
{
    return phase_name(monitor, PHASE_OUTPUTS + atomic_load(&monitor->phases->written));
}

/* A line. Not through stdio: the main thread may hang with its lock. */
static void say(const char *format, ...) PRINTF_LIKE(1, 2);
static void say(const char *format, ...)
{
    char line[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line - 1, format, args);
    va_end(args);
    const size_t length = strlen(line);
    line[length] = '\n';
    ssize_t written = 0;
    for (size_t done = 0; done <= length && written >= 0; done += (size_t)written) {
        written = write(STDERR_FILENO, line + done, length + 1 - done);
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

static bool is_silent_mate(const struct hang_monitor *monitor, int rank)
{
    bool silent = false;
    for (int i = 0; i < monitor->mates; i++) {
        const struct beat *mate = &monitor->window->beat[i];
        silent = silent || (mate->rank == rank && is_silent(mate));
    }
    return silent;
}

/* The ranks that exchange halos with this one, each once. */
static void list_neighbours(const struct hang_monitor *monitor, char *text, size_t bytes)
{
    const struct halo_message *message = monitor->plan->message;
    for (int m = 0; m < monitor->plan->nmessages; m++) {
        const int peer = message[m].peer;
        bool known = peer == monitor->mine->rank;
        for (int before = 0; before < m; before++) {
            known = known || message[before].peer == peer;
        }
        if (!known) {
            text_add(text, bytes, ", ", "%s%d%s",
                     text[0] == '\0' ? "; it exchanges with ranks " : "", peer,
                     is_silent_mate(monitor, peer) ? " (silent)" : "");
        }
    }
}

static void report_own(const struct hang_monitor *monitor)
{
    const struct phases *phases = monitor->phases;
    const int phase = atomic_load(&phases->present);
    const int64_t write_since = atomic_load(&phases->write_since);
    char others[512] = "";
    char writing[128] = "";
    if (phase == PHASE_HALO_BEGIN || phase == PHASE_HALO_END) {
        list_neighbours(monitor, others, sizeof others);
    }
    if (write_since > 0) {
        snprintf(writing, sizeof writing, "; writing %s for %.1f s", write_name(monitor),
                 seconds_since(write_since));
    }
    say("watchdog: rank %d (%.60s, pid %d): step %" PRId64 ", %s for %.1f s%s%s",
        monitor->mine->rank, monitor->node, monitor->mine->pid, atomic_load(&phases->step),
        phase_name(monitor, phase), seconds_since(atomic_load(&phases->since)), others, writing);
}

/* The first rank that is not silent reports the silent ones. */
static void report_silent(const struct hang_monitor *monitor)
{
    const struct beat *first = monitor->window->beat;
    while (first != monitor->mine && is_silent(first)) {
        first++;
    }
    for (int i = 0; i < monitor->mates && first == monitor->mine; i++) {
        const struct beat *beat = &monitor->window->beat[i];
        if (beat != monitor->mine && is_silent(beat)) {
            say("watchdog: rank %d (%.60s, pid %d) has not answered for %.1f s: its process is "
                "stopped; last seen at step %" PRId64 ", %s",
                beat->rank, monitor->node, beat->pid, seconds_since(atomic_load(&beat->tick)),
                atomic_load(&beat->step), phase_name(monitor, atomic_load(&beat->phase)));
        }
    }
}

/* ---- the end ---- */

/* True for the rank that ends the node first. */
static bool is_first_to_end(const struct hang_monitor *monitor, enum status status)
{
    return atomic_exchange(&monitor->window->ending, status_exit_code(status)) == 0;
}

/* _exit, not MPI_Abort: the main thread may hold locks inside MPI. Every rank exits by itself; a
 * launcher that sees one rank exit without MPI_Finalize kills the others, too. Stopped processes
 * are woken, so that their threads notice the end, and killed if they do not. */
static void end_all(const struct hang_monitor *monitor, enum status status)
{
    static const int signals[] = {SIGCONT, SIGKILL};
    for (int s = 0; s < 2; s++) {
        bool any = false;
        for (int i = 0; i < monitor->mates; i++) {
            const struct beat *beat = &monitor->window->beat[i];
            if (beat != monitor->mine && is_silent(beat)) {
                kill(beat->pid, signals[s]);
                any = true;
            }
        }
        if (any && signals[s] == SIGCONT) {
            nanosleep(&(struct timespec){.tv_sec = 2}, NULL);
        }
    }
    exit_note(status_exit_code(status));
    _exit(status_exit_code(status));
}

/* ---- the thread ---- */

/* A stay of the step loop in a phase, or of the writer's thread in an output. */
struct stay {
    int64_t since;   /* the overdue one, by its start; 0: in time */
    int64_t noticed; /* ns */
};

/* Requests a report of all ranks when a stay becomes overdue. */
static bool is_overdue(const struct hang_monitor *monitor, struct stay *stay, int64_t since,
                       double limit, const char *continues)
{
    if (stay->since > 0 && since != stay->since) {
        say("watchdog: rank %d %s", monitor->mine->rank, continues);
        stay->since = 0;
    }
    if (stay->since == 0 && since > 0 && seconds_since(since) > limit) {
        *stay = (struct stay){since, phases_now()};
        atomic_fetch_add(&monitor->window->reports, 1);
    }
    return stay->since > 0;
}

struct alarm {
    int answered;           /* of window->reports */
    int64_t reported_since; /* the phase that was reported, by its start; 0: none */
    struct stay step, write;
};

static double limit_of(const struct hang_monitor *monitor, const _Atomic int64_t *longest)
{
    return hang_monitor_limit(monitor->patience, monitor->factor,
                              (double)atomic_load(longest) * 1e-9);
}

static void answer(const struct hang_monitor *monitor, int64_t since, struct alarm *alarm)
{
    const int reports = atomic_load(&monitor->window->reports);
    if (reports != alarm->answered && alarm->reported_since != since) {
        alarm->reported_since = since;
        report_own(monitor);
        report_silent(monitor);
    }
    alarm->answered = reports;
}

/* An overdue write in the background is reported. It ends the run only when the steps wait for it;
 * then they have the limit of that file. */
static void check(const struct hang_monitor *monitor, struct alarm *alarm)
{
    const struct phases *phases = monitor->phases;
    struct beat *beat = monitor->mine;
    const int phase = atomic_load(&phases->present);
    const int64_t since = atomic_load(&phases->since);
    const int64_t write_since = atomic_load(&phases->write_since);
    atomic_store(&beat->phase, phase);
    atomic_store(&beat->step, atomic_load(&phases->step));
    atomic_store(&beat->tick, phases_now());
    const int ending = atomic_load(&monitor->window->ending);
    if (ending != 0) {
        _exit(ending);
    }
    double limit = limit_of(monitor, &phases->longest[phase]);
    const double write_limit =
        limit_of(monitor, &phases->longest_write[atomic_load(&phases->written)]);
    limit = write_since > 0 ? fmax(limit, write_limit) : limit;
    const bool write_overdue =
        is_overdue(monitor, &alarm->write, write_since, write_limit, "has completed the write");
    const bool overdue = is_overdue(monitor, &alarm->step, since, limit, "continues");
    answer(monitor, since, alarm);
    const char *trouble = overdue || write_overdue ? h5_trouble() : NULL;
    if (trouble != NULL) { /* MPI-IO has failed on this rank without returning */
        if (is_first_to_end(monitor, STATUS_FILE)) {
            say("error: rank %d: %s; the call does not return, so the run ends", beat->rank,
                trouble);
        }
        end_all(monitor, STATUS_FILE);
    }
    if (overdue && seconds_since(alarm->step.noticed) > monitor->grace) {
        report_silent(monitor);
        if (is_first_to_end(monitor, STATUS_MPI)) {
            say("watchdog: error: rank %d: no progress %.1f s after the first warning, in %s%s%s: "
                "ending the run with exit code %d",
                beat->rank, monitor->grace, phase_name(monitor, phase),
                write_since > 0 ? " while writing " : "",
                write_since > 0 ? write_name(monitor) : "", status_exit_code(STATUS_MPI));
        }
        end_all(monitor, STATUS_MPI);
    }
}

static void *watch(void *argument)
{
    struct hang_monitor *monitor = argument;
    struct alarm alarm = {.answered = atomic_load(&monitor->window->reports)};
    const double tick = fmin(SLOWEST_TICK, monitor->patience / 4);
    struct pollfd end = {.fd = monitor->end, .events = POLLIN};
    while (poll(&end, 1, (int)ceil(1e3 * tick)) == 0) {
        check(monitor, &alarm);
    }
    return NULL;
}

/* ---- creation ---- */

/* The window is an anonymous file, which the other ranks open through its process: nothing is left
 * over. Without it each rank of the node has memory of its own. */
static enum status open_window(const struct team *team, struct hang_monitor *monitor)
{
    MPI_Comm node;
    char path[64] = "";
    TRY_MPI(
        MPI_Comm_split_type(team->comm, MPI_COMM_TYPE_SHARED, team->rank, MPI_INFO_NULL, &node));
    const int place = comm_rank(node);
    monitor->mates = comm_size(node);
    monitor->bytes = sizeof *monitor->window + (size_t)monitor->mates * sizeof *monitor->mine;
    int file = place == 0 ? memfd_create("isotherm", MFD_CLOEXEC) : -1;
    if (file >= 0 && ftruncate(file, (off_t)monitor->bytes) == 0) {
        snprintf(path, sizeof path, "/proc/%ld/fd/%d", (long)getpid(), file);
    }
    enum status status = comm_check(MPI_Bcast(path, sizeof path, MPI_CHAR, 0, node), "MPI_Bcast");
    file = place == 0 ? file : open(path, O_RDWR | O_CLOEXEC);
    int shared = path[0] != '\0' && file >= 0;
    if (status == STATUS_OK) {
        status = comm_check(MPI_Allreduce(MPI_IN_PLACE, &shared, 1, MPI_INT, MPI_MIN, node),
                            "MPI_Allreduce");
    }
    comm_free(&node);
    const int flags = shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
    void *memory = mmap(NULL, monitor->bytes, PROT_READ | PROT_WRITE, flags, shared ? file : -1, 0);
    if (file >= 0) {
        close(file);
    }
    TRY(status);
    TRY(CHECK_MEMORY(memory != MAP_FAILED, "no memory for the watchdog"));
    monitor->window = memory;
    monitor->mates = shared ? monitor->mates : 1;
    monitor->mine = &monitor->window->beat[shared ? place : 0];
    monitor->mine->rank = team->rank;
    monitor->mine->pid = (int)getpid();
    atomic_store(&monitor->mine->phase, PHASE_START);
    atomic_store(&monitor->mine->tick, phases_now());
    return STATUS_OK;
}

static enum status start_thread(struct hang_monitor *monitor)
{
    monitor->end = eventfd(0, EFD_CLOEXEC);
    TRY(CHECK_MEMORY(monitor->end >= 0, "no file descriptor for the watchdog"));
    TRY(thread_start(&monitor->thread, watch, monitor));
    monitor->has_thread = true;
    return STATUS_OK;
}

enum status hang_monitor_create(const struct team *team, const struct run_setting *run,
                                const struct halo_plan *plan, const struct phases *phases,
                                struct hang_monitor **monitor)
{
    *monitor = NULL;
    if (run->watchdog_patience == 0) {
        return STATUS_OK;
    }
    struct hang_monitor *built = calloc(1, sizeof *built);
    TRY(status_agree(team->comm, CHECK_MEMORY(built != NULL, "no memory for the watchdog")));
    built->phases = phases;
    built->plan = plan;
    built->patience = run->watchdog_patience;
    built->factor = run->watchdog_factor;
    built->grace = run->watchdog_grace;
    built->end = -1;
    gethostname(built->node, sizeof built->node - 1);
    enum status status = status_agree(team->comm, open_window(team, built));
    if (status == STATUS_OK) { /* every rank has written its beat: now they may be read */
        status = status_agree(team->comm, start_thread(built));
    }
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
        eventfd_write(monitor->end, 1);
        pthread_join(monitor->thread, NULL);
    }
    if (monitor->end >= 0) {
        close(monitor->end);
    }
    if (monitor->window != NULL) {
        /* this rank has finished and must not count as silent */
        atomic_store(&monitor->mine->tick, INT64_MAX);
        munmap(monitor->window, monitor->bytes);
    }
    free(monitor);
}
