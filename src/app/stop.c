#include "app/stop.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/comm.h"
#include "base/file.h"
#include "base/log.h"
#include "base/status.h"
#include "io/checkpoint/checkpoint.h"

/* An agreement (a reduction and a wait for the device) takes tens of microseconds. */
static const double AGREE_EVERY = 0.25; /* s */
/* A file look-up takes a millisecond on a busy Lustre. */
static const double LOOK_EVERY = 0.5; /* s */
static const double LOOK_SHARE = 1000;

struct stop {
    double end; /* Unix time, s; infinite: no limit */
    bool end_is_slurms;
    double margin;           /* s */
    double checkpoint;       /* estimate, s */
    double walltime;         /* s between checkpoints; 0: off */
    int64_t checkpoint_step; /* of the newest one */
    double checkpoint_at;    /* its time, MPI_Wtime; rank 0 */
    char file[PATH_BYTES];   /* that requests the end */
    bool file_seen;
    double looked_at; /* MPI_Wtime, rank 0 */
    double look_cost;
    int64_t next_step;  /* of the next agreement */
    int64_t steps;      /* between the last two agreements */
    double agreed_at;   /* MPI_Wtime */
    double longest;     /* between two agreements, s */
    int64_t event_step; /* of the last call of stop_handle_requests */
    double event_at;    /* MPI_Wtime of that call */
    double worst_step;  /* s, largest mean between two calls, with outputs */
};

static atomic_int checkpoint_requested;
static atomic_int stop_requested; /* the number of the signal */

static atomic_bool deferred;

/* One line: the launcher passes its own end on to the other ranks. */
static void end_at_once(const siginfo_t *info)
{
    static const char text[] = "stopped by a signal before the first step: there is nothing to "
                               "save; submit again\n";
    const int code = status_exit_code(STATUS_STOPPED);
    if (log_rank() == 0 || info->si_pid != getppid()) {
        (void)!write(STDOUT_FILENO, text, sizeof text - 1);
    }
    exit_note(code);
    _exit(code);
}

/* At a terminal: the checkpoint of a large field takes a while. */
static void announce_end(void)
{
    static const char text[] = "\ninterrupted: the run ends with a checkpoint; interrupt again to "
                               "end at once without one\n";
    if (log_rank() == 0) {
        (void)!write(STDOUT_FILENO, text, sizeof text - 1);
    }
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    if (number == SIGUSR1) {
        atomic_store(&checkpoint_requested, 1);
    } else if (!atomic_load(&deferred)) {
        end_at_once(info);
    } else {
        atomic_store(&stop_requested, number);
        if (number == SIGINT) {
            announce_end();
        }
    }
}

static const struct {
    int number;
    const char *name;
} signals[] = {{SIGUSR1, "USR1"}, {SIGUSR2, "USR2"}, {SIGTERM, "TERM"},
               {SIGINT, "INT"},   {SIGXCPU, "XCPU"}, {SIGHUP, "HUP"}};
enum { SIGNAL_COUNT = sizeof signals / sizeof signals[0] };

void stop_listen(void)
{
    sigset_t all;
    sigemptyset(&all);
    for (int i = 0; i < SIGNAL_COUNT; i++) {
        const int number = signals[i].number;
        struct sigaction before;
        struct sigaction action = {.sa_sigaction = on_signal};
        sigemptyset(&action.sa_mask);
        /* a signal must not interrupt a write */
        action.sa_flags = SA_RESTART | SA_SIGINFO;
        if (number == SIGINT) {
            action.sa_flags |= (int)SA_RESETHAND; /* the second one ends the program */
        }
        sigaction(number, &action, &before);
        if (number == SIGHUP && before.sa_handler == SIG_IGN) {
            sigaction(number, &before, NULL); /* nohup has set it */
        }
        sigaddset(&all, number);
    }
    sigprocmask(SIG_UNBLOCK, &all, NULL); /* those that came while the program was loaded */
}

void stop_defer(void)
{
    atomic_store(&deferred, true);
}

int64_t stop_next_interval(int64_t steps, double seconds)
{
    const double each = fmax(seconds, 1e-9) / (double)steps;
    const double wanted = fmin(AGREE_EVERY / each, 2.0 * (double)steps);
    return (int64_t)fmax(wanted, 1.0);
}

double stop_reserve(double interval, double checkpoint, double margin)
{
    /* the factor: a shared file system is slower at times */
    return interval + 1.5 * checkpoint + margin;
}

double stop_guess_checkpoint(double bytes, int nodes)
{
    return 5.0 + bytes / (0.5e9 * (double)nodes);
}

bool stop_parse_end(const char *text, double *end)
{
    char *rest = NULL;
    *end = strtod(text, &rest);
    return rest != text && *rest == '\0' && isfinite(*end) && *end > 0;
}

static double unix_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static enum status set_end(struct stop *stop, const struct run_setting *run)
{
    stop->end = HUGE_VAL;
    if (!run->walltime_auto) {
        stop->end = unix_time() + run->walltime;
        return STATUS_OK;
    }
    const char *text = getenv("SLURM_JOB_END_TIME");
    if (text == NULL) {
        return STATUS_OK;
    }
    FAIL_IF(!stop_parse_end(text, &stop->end),
            fail(STATUS_INPUT,
                 "SLURM_JOB_END_TIME is '%s', not a Unix time in s; unset it or give run.walltime",
                 text));
    stop->end_is_slurms = true;
    return STATUS_OK;
}

static enum status count_nodes(MPI_Comm comm, int *nodes)
{
    int node_rank = 0;
    int node_size = 1;
    TRY(comm_node_rank(comm, &node_rank, &node_size));
    *nodes = node_rank == 0 ? 1 : 0;
    return comm_check(MPI_Allreduce(MPI_IN_PLACE, nodes, 1, MPI_INT, MPI_SUM, comm),
                      "counting nodes");
}

static enum status prepare(const struct problem *problem, struct stop *stop)
{
    TRY(set_end(stop, &problem->run));
    return path_join(problem->output.directory, "stop", stop->file);
}

/* A limit that ends the run before its first step would do so after each restart. */
static enum status check_walltime(const struct stop *stop, const struct problem *problem)
{
    const struct run_setting *run = &problem->run;
    const double least = stop_reserve(0, stop->checkpoint, stop->margin);
    return run->walltime_auto || run->walltime > least
               ? STATUS_OK
               : settings_fail_at(problem->origin, "run.walltime",
                                  "%g s leave no time for a step; give more than %.3g s: the "
                                  "first checkpoint may take %.3g s, and run.walltime_margin is "
                                  "%g s",
                                  run->walltime, least, stop_reserve(0, stop->checkpoint, 0),
                                  stop->margin);
}

enum status stop_create(const struct team *team, const struct problem *problem, struct stop **stop)
{
    *stop = NULL;
    int nodes = 1;
    struct stop *built = calloc(1, sizeof *built);
    enum status status = built != NULL ? prepare(problem, built)
                                       : fail(STATUS_MEMORY, "no memory for the signals' state");
    TRY_GOTO(status_agree(team->comm, status));
    TRY_GOTO(count_nodes(team->comm, &nodes));
    const uint64_t bytes = checkpoint_file_bytes(&problem->grid, problem->precision);
    built->checkpoint = stop_guess_checkpoint((double)bytes, nodes);
    built->margin = problem->run.walltime_margin;
    TRY_GOTO(status_agree(team->comm, check_walltime(built, problem)));
    built->walltime = problem->output.checkpoints.walltime;
    built->checkpoint_step = -1;
    built->checkpoint_at = MPI_Wtime();
    built->looked_at = -HUGE_VAL;
    built->steps = 1;
    *stop = built;
    return STATUS_OK;
done:
    stop_destroy(built);
    return status;
}

void stop_destroy(struct stop *stop)
{
    free(stop);
}

/* The requests that the ranks exchange; the maximum of all ranks counts. */
enum {
    REQUEST_CHECKPOINT,
    REQUEST_CLOCK, /* for a checkpoint */
    REQUEST_SIGNAL,
    REQUEST_FILE,
    REQUEST_TIME,
    REQUEST_INTERVAL,
    REQUEST_FAILED,
    REQUEST_COUNT
};

static double checkpoint_seconds(const struct stop *stop, const struct outputs *outputs)
{
    const double measured = outputs_checkpoint_seconds(outputs);
    return measured > 0 ? measured : stop->checkpoint;
}

/* Only on rank 0: thousands of look-ups would burden the file system. */
static bool stop_file_exists(struct stop *stop)
{
    const double now = MPI_Wtime();
    if (!stop->file_seen &&
        now - stop->looked_at >= fmax(LOOK_EVERY, LOOK_SHARE * stop->look_cost)) {
        /* not file_exists: a file system that fails for a moment requests nothing */
        stop->file_seen = access(stop->file, F_OK) == 0;
        stop->looked_at = MPI_Wtime();
        stop->look_cost = stop->looked_at - now;
    }
    return stop->file_seen;
}

static bool time_is_up(const struct stop *stop, const struct outputs *outputs)
{
    return unix_time() +
               stop_reserve(stop->longest, checkpoint_seconds(stop, outputs), stop->margin) >
           stop->end;
}

/* By the clock of rank 0. */
static bool checkpoint_is_due(struct stop *stop, const struct outputs *outputs, double now)
{
    const int64_t step = outputs_checkpoint_step(outputs);
    if (step != stop->checkpoint_step) {
        stop->checkpoint_step = step;
        stop->checkpoint_at = now;
    }
    return stop->walltime > 0 && now - stop->checkpoint_at >= stop->walltime;
}

/* Collective. Returns the same requests on all ranks. */
static enum status agree(struct stop *stop, const struct stepper *stepper, struct outputs *outputs,
                         int64_t request[REQUEST_COUNT])
{
    const struct team *team = stepper->team;
    /* queued steps must be complete: otherwise the measured times would be too short */
    enum status status = engine_wait(stepper->level->engine);
    status = status == STATUS_OK ? outputs_keep_folder(outputs) : status;
    const double now = MPI_Wtime();
    if (stop->agreed_at > 0) {
        stop->longest = fmax(stop->longest, now - stop->agreed_at);
        request[REQUEST_INTERVAL] = stop_next_interval(stop->steps, now - stop->agreed_at);
    } else {
        request[REQUEST_INTERVAL] = 1;
    }
    stop->agreed_at = now;
    request[REQUEST_CHECKPOINT] = atomic_load(&checkpoint_requested);
    request[REQUEST_CLOCK] = team->rank == 0 && checkpoint_is_due(stop, outputs, now);
    request[REQUEST_SIGNAL] = atomic_load(&stop_requested);
    request[REQUEST_FILE] = team->rank == 0 && stop_file_exists(stop);
    request[REQUEST_TIME] = team->rank == 0 && time_is_up(stop, outputs);
    request[REQUEST_FAILED] = status != STATUS_OK;
    TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, request, REQUEST_COUNT, MPI_INT64_T, MPI_MAX, team->comm));
    return request[REQUEST_FAILED] ? status_agree(team->comm, status) : STATUS_OK;
}

static void describe_reason(const struct stop *stop, const struct outputs *outputs,
                            const int64_t request[REQUEST_COUNT], char *text, size_t bytes)
{
    if (request[REQUEST_SIGNAL]) {
        const char *name = "";
        for (int i = 0; i < SIGNAL_COUNT; i++) {
            name = signals[i].number == request[REQUEST_SIGNAL] ? signals[i].name : name;
        }
        snprintf(text, bytes, "signal %s", name);
    } else if (request[REQUEST_FILE]) {
        snprintf(text, bytes, "the file %.4000s requests it; remove it before you continue",
                 stop->file);
    } else {
        snprintf(text, bytes,
                 "%.0f s are left of %s; a checkpoint takes %.1f s%s, the longest step took %.3g s",
                 stop->end - unix_time(), stop->end_is_slurms ? "the Slurm job" : "run.walltime",
                 checkpoint_seconds(stop, outputs),
                 outputs_checkpoint_seconds(outputs) > 0 ? "" : " (estimated)", stop->worst_step);
    }
}

static enum status act(const struct stop *stop, const struct stepper *stepper,
                       struct outputs *outputs, const int64_t request[REQUEST_COUNT])
{
    const struct state *state = stepper->state;
    const bool ends = request[REQUEST_SIGNAL] || request[REQUEST_FILE] || request[REQUEST_TIME];
    if (!ends && !request[REQUEST_CHECKPOINT]) {
        return request[REQUEST_CLOCK] ? outputs_checkpoint(outputs, false) : STATUS_OK;
    }
    char reason[PATH_BYTES + 128] = "signal USR1";
    if (ends) {
        describe_reason(stop, outputs, request, reason, sizeof reason);
    }
    TRY(outputs_checkpoint(outputs, true));
    /* requests during the writing are served by it */
    atomic_store(&checkpoint_requested, 0);
    if (!ends) {
        log_info("checkpoint of step %" PRId64 " written (%s)", state->step, reason);
        return STATUS_OK;
    }
    const enum status status =
        fail(STATUS_STOPPED,
             "stopped at step %" PRId64 " of %" PRId64 ", t = %.6g s, with a valid checkpoint "
             "(%.1500s); resume with --restart auto",
             state->step, stepper->problem->timeline.steps, state->time, reason);
    return status_agree(stepper->team->comm, status);
}

int64_t stop_next(const struct stop *stop)
{
    return stop->next_step;
}

enum status stop_handle_requests(struct stop *stop, struct stepper *stepper,
                                 struct outputs *outputs)
{
    const int64_t step = stepper->state->step;
    const double now = MPI_Wtime();
    if (step > stop->event_step) {
        const int64_t steps = step - stop->event_step - stepper->problem->timeline.between;
        const double each = (now - stop->event_at) / (double)steps;
        stop->worst_step = fmax(stop->worst_step, each);
    }
    stop->event_at = now;
    stop->event_step = step;
    if (step < stop->next_step || step >= stepper->problem->timeline.steps) {
        return STATUS_OK;
    }
    int64_t request[REQUEST_COUNT];
    SCOPED_PHASE(stepper->level->phases, PHASE_AGREE);
    TRY(agree(stop, stepper, outputs, request));
    stop->next_step = stepper_round_up(stepper, step + request[REQUEST_INTERVAL]);
    stop->steps = stop->next_step - step;
    TRY(act(stop, stepper, outputs, request));
    stop->event_at = MPI_Wtime();
    stop->agreed_at = stop->event_at;
    return STATUS_OK;
}

void exit_note(int code)
{
    const char *path = getenv("ISOTHERM_EXIT_FILE");
    if (path == NULL) {
        return;
    }
    SCOPED_FD const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) {
        return;
    }
    char text[16];
    const int length = snprintf(text, sizeof text, "%d\n", code);
    if (write(fd, text, (size_t)length) != length) {
        unlink(path);
    }
}
