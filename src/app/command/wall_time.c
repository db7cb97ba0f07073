#include "app/command/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/comm.h"
#include "base/log.h"
#include "machine/machine.h"

enum {
    REHEARSAL_CELLS = 1 << 22, /* 64 MB in float64: more than caches hold */
    SECONDS_AT_MOST = 120,     /* MPI may hang where no job runs */
};

struct answer {
    struct failure failure;
    struct rehearsal rehearsal;
};

/* Halve the longest axis until the grid is small enough: thin ones keep their cells. */
static void coarsen(int64_t cells[AXIS_COUNT], int64_t most_cells)
{
    while ((double)cells[AXIS_X] * (double)cells[AXIS_Y] * (double)cells[AXIS_Z] >
           (double)most_cells) {
        int longest = AXIS_X;
        for (int axis = AXIS_Y; axis < AXIS_COUNT; axis++) {
            longest = cells[axis] >= cells[longest] ? axis : longest;
        }
        cells[longest] /= 2;
    }
}

static enum status simulate_alone(const struct settings *settings, const char *folder,
                                  int64_t most_cells, struct rehearsal *rehearsal)
{
    char path[PATH_BYTES];
    int provided = MPI_THREAD_SINGLE;
    struct settings changed = *settings;
    const struct simulate_options options = {.folder = OUTPUT_FRESH, .rehearsal = rehearsal};
    snprintf(path, sizeof path, "%s", folder);
    changed.output.directory = path;
    changed.run.decomposition_auto = true;
    coarsen(changed.grid.cells, most_cells);
    for (int axis = 0; axis < AXIS_COUNT; axis++) { /* equal cells take as long */
        if (changed.grid.cells[axis] != settings->grid.cells[axis]) {
            changed.grid.axis[axis].cells = (struct axis_cells){.edges = NULL};
            changed.grid.geometry = GEOMETRY_CARTESIAN;
        }
    }
    TRY_MPI(MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided));
    TRY_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    const enum status status = simulate(MPI_COMM_SELF, &changed, &options);
    MPI_Finalize();
    return status;
}

/* The rehearsal's own process. */
static void answer(const struct settings *settings, const char *folder, int64_t most_cells, int to)
{
    struct answer said = {.rehearsal.budget_s = 0.7};
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    signal(SIGINT, SIG_DFL);
    alarm(SECONDS_AT_MOST);
    fail_keep(simulate_alone(settings, folder, most_cells, &said.rehearsal), &said.failure);
    /* it fails only when the caller is gone */
    const ssize_t written = write(to, &said, sizeof said);
    _exit(written == sizeof said ? EXIT_SUCCESS : EXIT_FAILURE);
}

static enum status ask(const struct settings *settings, const char *folder, int64_t most_cells,
                       struct answer *answered, bool *interrupted)
{
    int ends[2];
    FAIL_IF(pipe(ends) != 0, fail(STATUS_MEMORY, "no pipe: %s", strerror(errno)));
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        answer(settings, folder, most_cells, ends[1]);
    }
    close(ends[1]);
    /* in one piece: shorter than PIPE_BUF */
    const bool complete =
        child > 0 && read(ends[0], answered, sizeof *answered) == sizeof *answered;
    close(ends[0]);
    int ended = 0;
    *interrupted = child > 0 && waitpid(child, &ended, 0) == child && WIFSIGNALED(ended) &&
                   WTERMSIG(ended) == SIGINT;
    return complete ? STATUS_OK : fail(STATUS_MPI, "a rehearsal of the run ended without a result");
}

static enum status rehearse(const struct settings *settings, int64_t most_cells,
                            struct rehearsal *rehearsal)
{
    char parent[PATH_BYTES];
    char folder[PATH_BYTES];
    struct answer answered;
    bool interrupted = false;
    directory_existing(settings->output.directory, parent);
    TRY(path_print(folder, sizeof folder, "%s/isotherm_plan.%ld", parent, (long)getpid()));
    /* Ctrl-C ends the rehearsal, and this process when the folder is removed */
    void (*const before)(int) = signal(SIGINT, SIG_IGN);
    enum status status = directory_make(folder);
    status =
        status == STATUS_OK ? ask(settings, folder, most_cells, &answered, &interrupted) : status;
    directory_remove(folder);
    signal(SIGINT, before);
    if (interrupted) {
        raise(SIGINT);
    }
    TRY(status);
    *rehearsal = answered.rehearsal;
    return fail_restore(&answered.failure);
}

void wall_time_measure(const struct settings *settings, int64_t nranks, int64_t ranks_per_node,
                       struct wall_time *wall_time)
{
    const int64_t *n = settings->grid.cells;
    const int64_t most = ranks_per_node < INT32_MAX ? ranks_per_node : cores_count();
    const int64_t together = nranks < most ? nranks : most;
    const double share = (double)n[AXIS_X] * (double)n[AXIS_Y] * (double)n[AXIS_Z] *
                         (double)together / (double)nranks;
    *wall_time = (struct wall_time){.together = (int)together};
    if (rehearse(settings, share < REHEARSAL_CELLS ? (int64_t)ceil(share) : REHEARSAL_CELLS,
                 &wall_time->rehearsal) != STATUS_OK) {
        snprintf(wall_time->unknown, sizeof wall_time->unknown, "%s", fail_message());
        fail_clear();
    }
}

void wall_time_print(const struct wall_time *wall_time, const struct plan *plan)
{
    const struct rehearsal *rehearsal = &wall_time->rehearsal;
    const struct timeline *timeline = &plan->problem.timeline;
    const int nranks = plan->decomp.nranks;
    const int together = wall_time->together;
    const int nodes = (nranks + together - 1) / together;
    const double times = (double)plan->max_cells * (rehearsal->threads > 0 ? together : 1) /
                         (double)rehearsal->cells;
    const double steps = (double)timeline->steps * rehearsal->steps_share;
    double outputs = rehearsal->once_s;
    double load = 0; /* running processes, mean of the last minute */
    char whole[DURATION_TEXT];
    char each[DURATION_TEXT];
    char where[64] = "";
    if (rehearsal->cells == 0) {
        printf("wall time      unknown: %s\n", wall_time->unknown);
        return;
    }
    for (int k = 0; k < OUTPUT_KINDS; k++) {
        const double count = (double)output_count(&plan->problem, k, timeline->steps);
        outputs += count * rehearsal->output_s[k];
    }
    if (rehearsal->threads > 0 && nodes > 1) {
        snprintf(where, sizeof where, ", for %d nodes like this one", nodes);
    }
    const struct time_setting *setting = &plan->problem.time;
    const bool until = setting->until_rate > 0 || setting->until_distance > 0;
    printf("wall time      %s %s%s: %.0f step%s of %s",
           until ? "if time.until does not end the run, about" : "about",
           duration_text(times * (steps * rehearsal->step_s + outputs), whole),
           nranks > 1 ? " without halo exchange" : "", steps, steps == 1 ? "" : "s",
           duration_text(times * rehearsal->step_s, each));
    printf(", %s for outputs; measured here on %s, with %.2g million cells%s%s\n",
           duration_text(times * outputs, each), rehearsal->device, 1e-6 * (double)rehearsal->cells,
           where,
           getloadavg(&load, 1) == 1 && load > cores_count()
               ? " (it is busy with other programs: perhaps too long)"
               : "");
}
