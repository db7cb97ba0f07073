/* isotherm: starts MPI, runs a command, prints the last message and ends the program. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "app/about.h"
#include "app/command/commands.h"
#include "app/stop.h"
#include "base/comm.h"
#include "base/log.h"
#include "base/version.h"
#include "bench/bench.h"
#include "doctor/doctor.h"
#include "halo/probe.h"
#include "io/hdf5/h5_about.h"
#include "plot/plot.h"

static const struct command *const commands[] = {COMMANDS};
enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

static void print_overview(FILE *stream)
{
    fprintf(stream,
            "isotherm %s: heat and diffusion on structured grids, on many ranks\n\n"
            "Usage: isotherm COMMAND ...\n"
            "  or:  mpirun -n N isotherm run CONFIG\n\n",
            ISOTHERM_VERSION);
    for (int i = 0; i < COMMAND_COUNT; i++) {
        fprintf(stream, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    }
    fprintf(stream, "\nSee isotherm COMMAND --help for details; isotherm --version [--verbose]\n"
                    "prints the version and how it was built.\n\n"
                    "Exit codes: 0 success, 1 files differ (compare) or problems found (doctor),\n"
                    "2 wrong input, 3 file, 4 device, memory or MPI, 5 invalid values in the\n"
                    "solution, 75 stopped early: submit again to resume.\n");
}

/* Before MPI_Init only the launcher's environment has the rank; NULL without a launcher. */
static const char *launcher_rank(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK",
                                        "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);
        if (value != NULL) {
            return value;
        }
    }
    return NULL;
}

static bool is_first_process(void)
{
    const char *rank = launcher_rank();
    return rank == NULL || strcmp(rank, "0") == 0;
}

static const struct command *find_command(const char *name)
{
    for (int i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(commands[i]->name, name) == 0) {
            return commands[i];
        }
    }
    return NULL;
}

/* Options may come first. */
static const struct command_word *find_word(const struct command *command, int argc, char **argv)
{
    for (int i = 2; i < argc && command->words != NULL; i++) {
        for (const struct command_word *word = command->words; word->name != NULL; word++) {
            if (strcmp(word->name, argv[i]) == 0) {
                return word;
            }
        }
    }
    return NULL;
}

static enum status unknown_word(const struct command *command, const char *given)
{
    char known[256] = "";
    for (const struct command_word *word = command->words; word->name != NULL; word++) {
        text_add(known, sizeof known, ", ", "%s", word->name);
    }
    return fail(STATUS_INPUT, "isotherm %s: there is no '%s'; valid are: %s", command->name, given,
                known);
}

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            return true;
        }
    }
    return false;
}

/* --help, --version and a missing command need no MPI. Returns the exit code, or -1 to continue
 * with *command. */
static int answer_at_once(int argc, char **argv, const struct command **command)
{
    FILE *out = is_first_process() ? stdout : NULL;
    if (argc < 2) {
        print_overview(stderr);
        return status_exit_code(STATUS_INPUT);
    }
    if (strcmp(argv[1], "--version") == 0) {
        if (out != NULL) {
            about_print(out, argc > 2 && strcmp(argv[2], "--verbose") == 0);
        }
        return 0;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        if (out != NULL) {
            print_overview(out);
        }
        return 0;
    }
    *command = find_command(argv[1]);
    if (*command != NULL && asks_for_help(argc, argv)) {
        if (out != NULL) {
            const struct command_word *word = find_word(*command, argc, argv);
            options_help(word != NULL ? &word->page : &(*command)->line, out);
        }
        return 0;
    }
    return -1;
}

/* The number of ranks; 0 before MPI_Init has succeeded. */
static int count_ranks(bool uses_mpi)
{
    int started = 0;
    const bool has_started = uses_mpi && MPI_Initialized(&started) == MPI_SUCCESS && started != 0;
    return has_started ? comm_size(MPI_COMM_WORLD) : 0;
}

/* Reports incomplete standard output. A stopped run keeps its exit code. Collective over all
 * ranks. */
static enum status finish_output(enum status status, int nranks)
{
    struct failure reason = {.code = STATUS_OK};
    if (status != STATUS_OK && status != STATUS_DIFFERENT && status != STATUS_UNFIT) {
        return status;
    }
    fail_keep(status, &reason);
    enum status written = log_finish();
    if (nranks > 0) {
        written = status_agree(MPI_COMM_WORLD, written);
    }
    return written == STATUS_OK ? fail_restore(&reason) : written;
}

static int end_mpi(enum status status, int code, int nranks)
{
    const bool alone = comm_is_broken() || (!fail_is_agreed() && nranks > 1);
    if (log_rank() == 0 || (status != STATUS_OK && alone)) {
        exit_note(code);
    }
    /* a file that HDF5 could not close would make MPI_Finalize fail */
    if (status != STATUS_OK && (alone || h5_is_broken())) {
        if (!alone && log_rank() > 0) {
            nanosleep(&(struct timespec){.tv_sec = 2}, NULL); /* rank 0 prints first */
        }
        comm_abort(code);
    }
    if (comm_check(MPI_Finalize(), "MPI_Finalize") != STATUS_OK) {
        log_error("%s", fail_message());
        comm_abort(status_exit_code(STATUS_MPI));
        return status_exit_code(STATUS_MPI); /* if that returned */
    }
    return code;
}

/* Prints one message. A failure known only to this rank aborts the others, which would wait for it
 * forever. */
static int end(enum status status, bool uses_mpi)
{
    log_transient("%s", "");
    stop_defer();
    const int nranks = count_ranks(uses_mpi);
    if (comm_is_broken()) {
        status = comm_cause(); /* what else failed came of it */
    }
    status = finish_output(status, nranks);
    const bool is_error =
        status != STATUS_OK && status != STATUS_DIFFERENT && status != STATUS_UNFIT;
    if (status == STATUS_STOPPED) {
        log_info("%s", fail_message()); /* requested, not an error */
    } else if (is_error && (!uses_mpi || !fail_is_agreed() || log_rank() == 0)) {
        log_error("%s", fail_message());
    }
    const int code = status_exit_code(status);
    if (nranks > 0) {
        return end_mpi(status, code, nranks);
    }
    if (uses_mpi) {
        exit_note(code);
    }
    return code;
}

/* MPI libraries crash in less: Open MPI 4.1 in one of three starts with 90 to 240 MB. */
static enum status check_address_space(void)
{
    enum { LEAST_MB = 300 };
    struct rlimit limit;
    FAIL_IF(getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur < (rlim_t)LEAST_MB << 20,
            fail(STATUS_MEMORY,
                 "the system allows %ld MB of address space (`ulimit -v`), with which MPI cannot "
                 "start; allow at least %d MB",
                 (long)(limit.rlim_cur >> 20), LEAST_MB));
    return STATUS_OK;
}

static enum status start_mpi(int *argc, char ***argv)
{
    int provided = MPI_THREAD_SINGLE;
    TRY(check_address_space());
    /* the writer uses a thread if MPI allows it */
    TRY_MPI(MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided));
    TRY_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    log_init(comm_rank(MPI_COMM_WORLD), comm_size(MPI_COMM_WORLD));
    FAIL_IF(
        provided < MPI_THREAD_FUNNELED,
        fail(STATUS_MPI, "this MPI does not support threads (MPI_THREAD_FUNNELED is required)"));
    return STATUS_OK;
}

static enum status parse_arguments(const struct command *command, int argc, char **argv)
{
    FAIL_IF(
        command == NULL,
        fail(STATUS_INPUT, "unknown command '%s'; isotherm --help lists the commands", argv[1]));
    const struct command_word *word = find_word(command, argc, argv);
    struct command_line line = command->line;
    if (command->words != NULL && word == NULL && argc > 2) {
        return unknown_word(command, argv[argv[2][0] != '-' ? 2 : argc - 1]);
    }
    line.only = word != NULL ? word->page.only : line.only;
    TRY(options_parse(&line, argc - 2, argv + 2));
    return word == NULL || strcmp(word->name, line.operands[0]) == 0
               ? STATUS_OK
               : unknown_word(command, line.operands[0]);
}

static bool needs_mpi(const struct command *command, int argc, char **argv)
{
    const struct command_word *word = find_word(command, argc, argv);
    return command->uses_mpi || (word != NULL && word->uses_mpi);
}

static enum status run(const struct command *command, bool uses_mpi, int argc, char **argv)
{
    if (command == &command_run) {
        stop_listen(); /* MPI takes seconds to start on many nodes */
    }
    TRY(uses_mpi ? start_mpi(&argc, &argv) : STATUS_OK);
    const enum status status = parse_arguments(command, argc, argv);
    TRY(uses_mpi ? status_agree(MPI_COMM_WORLD, status) : status);
    return command->execute();
}

int main(int argc, char **argv)
{
    if (halo_probe_is_asked(argc, argv)) {
        return halo_probe_main(argc, argv);
    }
    log_open_streams();
    const struct command *command = NULL;
    const int answered = answer_at_once(argc, argv, &command);
    if (answered == 0) {
        return end(STATUS_OK, false);
    }
    if (answered > 0) {
        return answered;
    }
    /* also for an unknown command: a launcher kills the rank that would report it when another ends
     * first */
    const bool uses_mpi =
        command != NULL ? needs_mpi(command, argc, argv) : launcher_rank() != NULL;
    return end(run(command, uses_mpi, argc, argv), uses_mpi);
}
