#include "halo/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/comm.h"
#include "kernels/backends.h"

static const char word[] = "halo-probe";

/* The reports of the probe through its pipe, one character each. */
enum { SAYS_BEGUN = 'b', SAYS_GOOD = 'g', SAYS_WRONG = 'w' };

/* ---- the probe itself ------------------------------------------------------------------------ */

/* argv: program, word, backend, node rank, node size, file descriptor of the pipe */
enum { PROBE_WORDS = 6 };

bool halo_probe_is_asked(int argc, char **argv)
{
    return argc == PROBE_WORDS && strcmp(argv[1], word) == 0;
}

static void say(int to, char letter)
{
    /* it fails only when the other end is closed, and then does not matter */
    const ssize_t written = write(to, &letter, 1);
    (void)written;
}

static enum status send_to_self(void *d_to, const void *d_from, size_t bytes)
{
    MPI_Request requests[2];
    TRY_MPI(MPI_Irecv(d_to, (int)bytes, MPI_BYTE, 0, 0, MPI_COMM_SELF, &requests[0]));
    TRY_MPI(MPI_Isend(d_from, (int)bytes, MPI_BYTE, 0, 0, MPI_COMM_SELF, &requests[1]));
    return comm_check(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), "MPI_Waitall");
}

struct probe {
    const struct backend *backend;
    struct device *device;
    struct queue *queue;
    void *d_from, *d_to;
    unsigned char *from, *to;
};

/* Send `bytes` bytes of device memory and compare them. */
static enum status try_size(struct probe *probe, size_t bytes)
{
    const struct runtime *runtime = probe->backend->runtime;
    for (size_t at = 0; at < bytes; at++) {
        probe->from[at] = (unsigned char)(at * 7 + at / 251 + bytes);
        probe->to[at] = (unsigned char)~probe->from[at];
    }
    TRY(runtime->copy_to_device(probe->queue, probe->d_from, probe->from, bytes));
    TRY(runtime->copy_to_device(probe->queue, probe->d_to, probe->to, bytes));
    TRY(runtime->queue_wait(probe->queue));
    TRY(send_to_self(probe->d_to, probe->d_from, bytes));
    TRY(runtime->copy_to_host(probe->queue, probe->to, probe->d_to, bytes));
    TRY(runtime->queue_wait(probe->queue));
    return memcmp(probe->from, probe->to, bytes) == 0
               ? STATUS_OK
               : fail(STATUS_DEVICE, "%zu bytes were received wrong", bytes);
}

enum { SMALL_BYTES = 64, LARGE_BYTES = 1 << 20 };

static enum status probe_open(struct probe *probe, const char *name, int node_rank, int node_size)
{
    void *h_memory = NULL;
    probe->backend = backend_find(name);
    FAIL_IF(probe->backend == NULL, fail(STATUS_INPUT, "no backend %s", name));
    const struct runtime *runtime = probe->backend->runtime;
    TRY(runtime->open(node_rank, node_size, &probe->device));
    TRY(runtime->queue_create(probe->device, QUEUE_NORMAL, &probe->queue));
    TRY(runtime->memory_alloc(probe->device, LARGE_BYTES, &probe->d_from));
    TRY(runtime->memory_alloc(probe->device, LARGE_BYTES, &probe->d_to));
    TRY(runtime->pinned_alloc(probe->device, LARGE_BYTES, &h_memory));
    probe->from = h_memory;
    TRY(runtime->pinned_alloc(probe->device, LARGE_BYTES, &h_memory));
    probe->to = h_memory;
    return STATUS_OK;
}

int halo_probe_main(int argc, char **argv)
{
    const int to = (int)strtol(argv[5], NULL, 10);
    struct probe probe = {0};
    /* the device first: some MPI libraries look for it in MPI_Init */
    enum status status =
        probe_open(&probe, argv[2], (int)strtol(argv[3], NULL, 10), (int)strtol(argv[4], NULL, 10));
    status = status == STATUS_OK ? comm_check(MPI_Init(&argc, &argv), "MPI_Init") : status;
    if (status != STATUS_OK) {
        return status_exit_code(status);
    }
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    say(to, SAYS_BEGUN);
    status = try_size(&probe, SMALL_BYTES);
    status = status == STATUS_OK ? try_size(&probe, LARGE_BYTES) : status;
    say(to, status == STATUS_OK ? SAYS_GOOD : SAYS_WRONG);
    MPI_Finalize();
    return status_exit_code(status);
}

/* ---- the process that starts it -------------------------------------------------------------- */

static bool begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* Variables that launchers set for their processes, and with which the probe would act as this
 * rank. Settings of users in OMPI_MCA_... are kept. */
static bool is_launchers(const char *variable)
{
    static const char *const theirs[] = {
        "OMPI_MCA_ess",  "OMPI_MCA_orte", "OMPI_MCA_pmix", "OMPI_MCA_initial_wdir",
        "OMPI_MCA_prte", "PMIX_",         "PMI_",          "PMI2_",
        "PALS_",         "SLURM_",        "PRTE_",         "HYDRA_",
    };
    for (size_t n = 0; n < sizeof theirs / sizeof theirs[0]; n++) {
        if (begins_with(variable, theirs[n])) {
            return true;
        }
    }
    return begins_with(variable, "OMPI_") && !begins_with(variable, "OMPI_MCA_") &&
           !begins_with(variable, "OMPI_ALLOW_");
}

/* For free(); the strings are the environment's own. */
static char **probe_environment(void)
{
    static char alone[] = "OMPI_MCA_ess_singleton_isolated=1";
    int count = 0;
    int kept = 0;
    while (environ[count] != NULL) {
        count++;
    }
    char **list = calloc((size_t)count + 2, sizeof *list);
    for (int n = 0; n < count && list != NULL; n++) {
        if (!is_launchers(environ[n])) {
            list[kept++] = environ[n];
        }
    }
    if (list != NULL) {
        list[kept] = alone;
    }
    return list;
}

static enum status spawn(const struct backend *backend, int node_rank, int node_size, int to,
                         pid_t *child)
{
    char program[4096];
    char numbers[3][16];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    FAIL_IF(length < 0, fail(STATUS_DEVICE, "/proc/self/exe: %s", strerror(errno)));
    program[length] = '\0';
    snprintf(numbers[0], sizeof numbers[0], "%d", node_rank);
    snprintf(numbers[1], sizeof numbers[1], "%d", node_size);
    snprintf(numbers[2], sizeof numbers[2], "%d", to);
    char name[32];
    char asked[sizeof word];
    snprintf(name, sizeof name, "%s", backend->name);
    memcpy(asked, word, sizeof word);
    char *words[PROBE_WORDS + 1] = {program, asked, name, numbers[0], numbers[1], numbers[2], NULL};
    SCOPED_FREE char **environment = probe_environment();
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    /* hide the messages of a library that crashes */
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    const int error = posix_spawn(child, program, &actions, NULL, words, environment);
    posix_spawn_file_actions_destroy(&actions);
    return error == 0 ? STATUS_OK : fail(STATUS_DEVICE, "%s: %s", program, strerror(error));
}

/* The last character from the probe; 0: none. False on a timeout. */
static bool listen_to(int from, char *letter)
{
    enum { LIMIT_MS = 60000 };
    struct pollfd pipe_end = {.fd = from, .events = POLLIN};
    *letter = 0;
    for (;;) {
        const int ready = poll(&pipe_end, 1, LIMIT_MS);
        if (ready < 0 && errno == EINTR) {
            continue;
        }
        if (ready <= 0) {
            return false;
        }
        const ssize_t got = read(from, letter, 1);
        if (got <= 0) {
            return true;
        }
    }
}

static enum status judge(bool in_time, char letter, int ended)
{
    if (letter == SAYS_GOOD) {
        return STATUS_OK;
    }
    FAIL_IF(!in_time, fail(STATUS_DEVICE, "MPI hung in a trial process with device memory"));
    FAIL_IF(letter == SAYS_WRONG,
            fail(STATUS_DEVICE, "MPI transferred device memory wrong in a trial process"));
    return WIFSIGNALED(ended)
               ? fail(STATUS_DEVICE,
                      "MPI crashed in a trial process when it was given device memory (%s)",
                      strsignal(WTERMSIG(ended)))
               : fail(STATUS_DEVICE,
                      "MPI crashed in a trial process when it was given device memory (it ended "
                      "with exit code %d)",
                      WEXITSTATUS(ended));
}

/* *known: true if the trial began. */
static enum status run_probe(const struct backend *backend, int node_rank, int node_size,
                             bool *known)
{
    int ends[2];
    pid_t child = -1;
    *known = false;
    FAIL_IF(pipe(ends) != 0, fail(STATUS_DEVICE, "pipe: %s", strerror(errno)));
    (void)fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    enum status status = spawn(backend, node_rank, node_size, ends[1], &child);
    close(ends[1]);
    if (status == STATUS_OK) {
        char letter = 0;
        int ended = 0;
        const bool in_time = listen_to(ends[0], &letter);
        if (!in_time) {
            kill(child, SIGKILL);
        }
        while (waitpid(child, &ended, 0) < 0 && errno == EINTR) {
        }
        *known = letter != 0;
        status = *known ? judge(in_time, letter, ended) : STATUS_OK;
    }
    close(ends[0]);
    return status;
}

static bool site_enables_gpus(void)
{
    const char *setting = getenv("MPICH_GPU_SUPPORT_ENABLED");
    return setting != NULL && strcmp(setting, "1") == 0;
}

/* Run once per process and backend; the outcome is kept. */
static struct {
    const char *backend;
    bool known;
    enum status verdict;
    char why[256];
} kept = {.backend = ""};

static void keep(const struct backend *backend, enum status verdict, bool known)
{
    kept.backend = backend->name;
    kept.known = known;
    kept.verdict = verdict;
    snprintf(kept.why, sizeof kept.why, "%s", verdict == STATUS_OK ? "" : fail_message());
}

static enum status probe(const struct backend *backend, int node_size, bool trusted)
{
    if (strcmp(kept.backend, backend->name) != 0) {
        bool known = false;
        const enum status verdict = run_probe(backend, 0, node_size, &known);
        keep(backend, verdict, known);
    }
    FAIL_IF(kept.verdict == STATUS_OK && !kept.known && !trusted && !site_enables_gpus(),
            fail(STATUS_DEVICE,
                 "device memory could not be tested in a separate process, since MPI does not "
                 "start without a launcher here; run.halo.transport: gpu-aware skips that "
                 "test"));
    return kept.verdict == STATUS_OK ? STATUS_OK : fail(kept.verdict, "%s", kept.why);
}

enum status halo_probe(MPI_Comm comm, const struct backend *backend, bool trusted, char *why,
                       size_t why_bytes)
{
    int node_rank = 0;
    int node_size = 1;
    why[0] = '\0';
    if (backend_has(backend, BACKEND_HOST_ACCESS)) {
        return STATUS_OK;
    }
    TRY(comm_node_rank(comm, &node_rank, &node_size));
    const enum status status =
        status_agree(comm, node_rank == 0 ? probe(backend, node_size, trusted) : STATUS_OK);
    if (status == STATUS_MPI && !fail_is_agreed()) {
        return status;
    }
    if (strcmp(kept.backend, backend->name) != 0) {
        keep(backend, status, true);
    }
    if (status != STATUS_OK) {
        snprintf(why, why_bytes, "%s", fail_message());
        fail_clear();
    }
    return STATUS_OK;
}
