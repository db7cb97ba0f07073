#include "app/stop.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/comm.h"
#include "base/file.h"
#include "base/log.h"
#include "io/checkpoint/checkpoint.h"

/* An agreement (a reduction, and the host waits for the device) takes tens of microseconds. */
static const double AGREE_EVERY = 0.25; /* s */
/* Looking for a file takes a millisecond on a busy Lustre. */
static const double LOOK_EVERY = 0.5; /* s */
static const double LOOK_SHARE = 1000;

struct stop {
    double end; /* Unix time, s; infinite: no limit */
    bool end_is_slurms;
    double margin;           /* s */
    double checkpoint;       /* the guess, s */
    double walltime;         /* s from one checkpoint to the next; 0: the clock asks for none */
    int64_t checkpoint_step; /* the newest one known of, */
    double checkpoint_at;    /* and when that was, MPI_Wtime; rank 0 */
    char file[PATH_BYTES];   /* that asks for the end */
    bool file_seen;
    double looked_at; /* MPI_Wtime, rank 0 */
    double look_cost;
    int64_t next_step;  /* of the next agreement */
    int64_t steps;      /* between the last two */
    double agreed_at;   /* MPI_Wtime */
    double longest;     /* from one agreement to the next, s */
    int64_t event_step; /* at the last call of stop_obey */
    double event_at;    /* MPI_Wtime, then */
    double worst_step;  /* s, the mean of the slowest steps between two calls, outputs included */
};

/* ---- signals --------------------------------------------------------------------------------- */

static atomic_int checkpoint_wanted;
static atomic_int stop_wanted; /* the signal's number */

static void on_signal(int number)
{
    if (number == SIGUSR1) {
        atomic_store(&checkpoint_wanted, 1);
    } else {
        atomic_store(&stop_wanted, number);
    }
}

static const int heard[] = {SIGUSR1, SIGUSR2, SIGTERM};
enum { HEARD = sizeof heard / sizeof heard[0] };

void stop_listen(void)
{
    for (int i = 0; i < HEARD; i++) {
        struct sigaction action = {.sa_handler = on_signal};
        sigemptyset(&action.sa_mask);
        /* a second signal in the middle of a write must not cut the write short */
        action.sa_flags = SA_RESTART;
        sigaction(heard[i], &action, NULL);
    }
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

int64_t stop_next_interval(int64_t steps, double seconds)
{
    const double each = fmax(seconds, 1e-9) / (double)steps;
    const double wanted = fmin(AGREE_EVERY / each, 2.0 * (double)steps);
    return (int64_t)fmax(wanted, 1.0);
}

double stop_reserve(double interval, double checkpoint, double margin)
{
    /* half as long again: a shared file system is slower at times */
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

/* ---- setting up ------------------------------------------------------------------------------ */

static enum status set_end(struct stop *stop, const struct settings *settings)
{
    stop->end = HUGE_VAL;
    if (!settings->run.walltime_auto) {
        stop->end = unix_time() + settings->run.walltime;
        return STATUS_OK;
    }
    const char *text = getenv("SLURM_JOB_END_TIME");
    if (text == NULL) {
        return STATUS_OK;
    }
    if (!stop_parse_end(text, &stop->end)) {
        return fail(STATUS_INPUT,
                    "SLURM_JOB_END_TIME is '%s', no Unix time in s; unset it or give run.walltime",
                    text);
    }
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

enum status stop_create(const struct team *team, const struct problem *problem, struct stop **stop)
{
    const struct settings *settings = problem->settings;
    *stop = NULL;
    struct stop *made = calloc(1, sizeof *made);
    enum status status = STATUS_OK;
    if (made == NULL) {
        status = fail(STATUS_MEMORY, "no memory for the signals' state");
    } else {
        status = set_end(made, settings);
    }
    if (status == STATUS_OK) {
        status = path_join(settings->output.directory, "stop", made->file);
    }
    status = status_agree(team->comm, status);
    int nodes = 1;
    if (status == STATUS_OK) {
        status = count_nodes(team->comm, &nodes);
    }
    if (status != STATUS_OK) {
        stop_destroy(made);
        return status;
    }
    const uint64_t bytes = checkpoint_file_bytes(&problem->grid, settings->run.precision);
    made->checkpoint = stop_guess_checkpoint((double)bytes, nodes);
    made->margin = settings->run.walltime_margin;
    made->walltime = settings->output.checkpoints.walltime;
    made->checkpoint_step = -1;
    made->checkpoint_at = MPI_Wtime();
    made->looked_at = -HUGE_VAL;
    made->steps = 1;
    *stop = made;
    return STATUS_OK;
}

void stop_destroy(struct stop *stop)
{
    free(stop);
}

/* ---- agreeing -------------------------------------------------------------------------------- */

/* What the ranks tell each other; the greatest of all counts. */
enum {
    ASK_CHECKPOINT,
    ASK_CLOCK, /* for a checkpoint */
    ASK_SIGNAL,
    ASK_FILE,
    ASK_TIME,
    ASK_INTERVAL,
    ASK_FAILED,
    ASK_COUNT
};

static double checkpoint_seconds(const struct stop *stop, const struct outputs *outputs)
{
    const double measured = outputs_checkpoint_seconds(outputs);
    return measured > 0 ? measured : stop->checkpoint;
}

/* Rank 0 alone looks: thousands of ranks that ask for one name are a burden to the file system. */
static bool file_is_there(struct stop *stop)
{
    const double now = MPI_Wtime();
    if (!stop->file_seen &&
        now - stop->looked_at >= fmax(LOOK_EVERY, LOOK_SHARE * stop->look_cost)) {
        stop->file_seen = file_exists(stop->file);
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

/* Rank 0's clock counts. */
static bool checkpoint_is_due(struct stop *stop, const struct outputs *outputs, double now)
{
    const int64_t step = outputs_checkpoint_step(outputs);
    if (step != stop->checkpoint_step) {
        stop->checkpoint_step = step;
        stop->checkpoint_at = now;
    }
    return stop->walltime > 0 && now - stop->checkpoint_at >= stop->walltime;
}

/* Collective. `asked` is the same on all ranks afterwards. */
static enum status agree(struct stop *stop, const struct stepper *stepper, struct outputs *outputs,
                         int64_t asked[ASK_COUNT])
{
    const struct team *team = stepper->team;
    /* what is queued counts as done only when it is: else the measured times would be too short */
    enum status status = engine_wait(stepper->engine);
    status = status == STATUS_OK ? outputs_keep_folder(outputs) : status;
    const double now = MPI_Wtime();
    if (stop->agreed_at > 0) {
        stop->longest = fmax(stop->longest, now - stop->agreed_at);
        asked[ASK_INTERVAL] = stop_next_interval(stop->steps, now - stop->agreed_at);
    } else {
        asked[ASK_INTERVAL] = 1;
    }
    stop->agreed_at = now;
    asked[ASK_CHECKPOINT] = atomic_load(&checkpoint_wanted);
    asked[ASK_CLOCK] = team->rank == 0 && checkpoint_is_due(stop, outputs, now);
    asked[ASK_SIGNAL] = atomic_load(&stop_wanted);
    asked[ASK_FILE] = team->rank == 0 && file_is_there(stop);
    asked[ASK_TIME] = team->rank == 0 && time_is_up(stop, outputs);
    asked[ASK_FAILED] = status != STATUS_OK;
    TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, asked, ASK_COUNT, MPI_INT64_T, MPI_MAX, team->comm));
    return asked[ASK_FAILED] ? status_agree(team->comm, status) : STATUS_OK;
}

/* ---- obeying --------------------------------------------------------------------------------- */

static void describe_reason(const struct stop *stop, const struct outputs *outputs,
                            const int64_t asked[ASK_COUNT], char *text, size_t bytes)
{
    if (asked[ASK_SIGNAL]) {
        snprintf(text, bytes, "signal %s", asked[ASK_SIGNAL] == SIGTERM ? "TERM" : "USR2");
    } else if (asked[ASK_FILE]) {
        snprintf(text, bytes, "the file %.4000s asks for it; remove it before you continue",
                 stop->file);
    } else {
        snprintf(text, bytes,
                 "%.0f s are left of %s; a checkpoint takes %.1f s%s, the longest step took %.3g s",
                 stop->end - unix_time(), stop->end_is_slurms ? "the Slurm job" : "run.walltime",
                 checkpoint_seconds(stop, outputs),
                 outputs_checkpoint_seconds(outputs) > 0 ? "" : " (a guess)", stop->worst_step);
    }
}

static enum status obey(const struct stop *stop, const struct stepper *stepper,
                        struct outputs *outputs, const int64_t asked[ASK_COUNT])
{
    const struct state *state = stepper->state;
    const bool ends = asked[ASK_SIGNAL] || asked[ASK_FILE] || asked[ASK_TIME];
    if (!ends && !asked[ASK_CHECKPOINT]) {
        return asked[ASK_CLOCK] ? outputs_checkpoint(outputs, false) : STATUS_OK;
    }
    char reason[PATH_BYTES + 128] = "signal USR1";
    if (ends) {
        describe_reason(stop, outputs, asked, reason, sizeof reason);
    }
    TRY(outputs_checkpoint(outputs, true));
    /* asked for again while this one was being written: it has been served */
    atomic_store(&checkpoint_wanted, 0);
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

enum status stop_obey(struct stop *stop, struct stepper *stepper, struct outputs *outputs)
{
    const int64_t step = stepper->state->step;
    const double now = MPI_Wtime();
    if (step > stop->event_step) {
        const double each = (now - stop->event_at) / (double)(step - stop->event_step);
        stop->worst_step = fmax(stop->worst_step, each);
    }
    stop->event_at = now;
    stop->event_step = step;
    if (step < stop->next_step || step >= stepper->problem->timeline.steps) {
        return STATUS_OK;
    }
    int64_t asked[ASK_COUNT];
    const int before = phases_enter(stepper->phases, PHASE_AGREE);
    TRY(agree(stop, stepper, outputs, asked));
    stop->steps = asked[ASK_INTERVAL];
    stop->next_step = step + stop->steps;
    TRY(obey(stop, stepper, outputs, asked));
    phases_enter(stepper->phases, before);
    stop->event_at = MPI_Wtime();
    stop->agreed_at = stop->event_at;
    return STATUS_OK;
}
