/* isotherm doctor: the resources of this node, their problems, and how to fix them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/comm.h"
#include "base/log.h"
#include "base/text/table.h"
#include "base/version.h"
#include "doctor/doctor.h"
#include "halo/choose.h"
#include "halo/probe.h"
#include "io/hdf5/h5_about.h"
#include "kernels/backends.h"
#include "machine/machine.h"

/* ---- the transports between two ranks, with the test and the times of halo/ ---- */

/* A test between two ranks with one transport, both directions at once. */
struct doctor_pair {
    int a, b;
    struct halo_trial trial;
};
enum { PAIR_BYTES = 8 << 20, PAIR_RANKS = 8 };

struct doctor {
    const struct backend *backend;
    char backend_reason[256];
    struct device *device;
    struct device_info info;
    struct rank_facts *ranks; /* rank 0 */
    struct doctor_pair *pairs;
    int npairs;
    struct doctor_facts facts;
    struct h5_about hdf5;
    char mpi[MPI_MAX_LIBRARY_VERSION_STRING];
    struct finding findings[DOCTOR_MAX_FINDINGS];
    int nfindings;
    struct screen_result *screened; /* rank 0, with --screen: of all ranks */
};

/* Collective, as are the next two. */
static enum status measure(const struct doctor *doctor, const char *transport,
                           struct doctor_pair *pair)
{
    MPI_Comm two = MPI_COMM_NULL;
    const int rank = comm_rank(MPI_COMM_WORLD);
    const bool mine = rank == pair->a || rank == pair->b;
    enum status status = STATUS_OK;
    TRY_MPI(MPI_Comm_split(MPI_COMM_WORLD, mine ? 0 : MPI_UNDEFINED, rank, &two));
    if (mine) {
        status =
            comm_check(MPI_Comm_set_errhandler(two, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
        if (status == STATUS_OK) {
            status = halo_time_pairs(two, doctor->backend, doctor->device, transport, PAIR_BYTES,
                                     false, &pair->trial);
        }
        comm_free(&two);
    }
    TRY(status_agree(MPI_COMM_WORLD, status));
    TRY_MPI(MPI_Bcast(&pair->trial, (int)sizeof pair->trial, MPI_BYTE, pair->a, MPI_COMM_WORLD));
    pair->trial.transport = transport; /* on another rank it may have another address */
    return STATUS_OK;
}

static bool suits(const struct transport *transport, const struct backend *backend, bool same_node)
{
    const bool supported = transport_supports(transport, backend) == STATUS_OK;
    if (!supported) {
        fail_clear();
    }
    return supported && (same_node || !transport->on_node_only);
}

/* Test and time every transport that the backend supports between all of the first PAIR_RANKS
 * ranks. */
static enum status measure_pairs(struct doctor *doctor)
{
    enum { TRANSPORTS = 8 };
    const int all = comm_size(MPI_COMM_WORLD);
    const int nranks = all < PAIR_RANKS ? all : PAIR_RANKS;
    int nodes[PAIR_RANKS] = {0};
    int node = 0;
    char why[384];
    doctor->pairs = calloc((size_t)PAIR_RANKS * PAIR_RANKS / 2 * TRANSPORTS, sizeof *doctor->pairs);
    TRY(status_agree(MPI_COMM_WORLD,
                     CHECK_MEMORY(doctor->pairs != NULL, "no memory for a list of pairs")));
    TRY(comm_node(MPI_COMM_WORLD, &node));
    for (int rank = 0; rank < nranks; rank++) {
        nodes[rank] = node;
        TRY_MPI(MPI_Bcast(&nodes[rank], 1, MPI_INT, rank, MPI_COMM_WORLD));
    }
    TRY(halo_probe(MPI_COMM_WORLD, doctor->backend, false, why, sizeof why)); /* once for all */
    for (int a = 0; a < nranks; a++) {
        for (int b = a + 1; b < nranks; b++) {
            for (int t = 0; transports[t] != NULL; t++) {
                if (suits(transports[t], doctor->backend, nodes[a] == nodes[b])) {
                    struct doctor_pair *pair = &doctor->pairs[doctor->npairs++];
                    *pair = (struct doctor_pair){.a = a, .b = b};
                    TRY(measure(doctor, transports[t]->name, pair));
                }
            }
        }
    }
    return STATUS_OK;
}

/* Determine from these measurements, and with one rank from a message to itself, if MPI can send
 * device memory. */
static enum status test_device_send(struct doctor *doctor)
{
    struct doctor_facts *facts = &doctor->facts;
    if (backend_has(doctor->backend, BACKEND_HOST_ACCESS)) {
        facts->device_send = DEVICE_SEND_NOT_NEEDED;
        return STATUS_OK;
    }
    TRY(halo_probe(MPI_COMM_WORLD, doctor->backend, false, facts->device_send_error,
                   sizeof facts->device_send_error)); /* cached, so the second call costs nothing */
    facts->device_send = facts->device_send_error[0] == '\0' ? DEVICE_SEND_YES : DEVICE_SEND_NO;
    for (int p = 0; p < doctor->npairs; p++) {
        const struct doctor_pair *pair = &doctor->pairs[p];
        if (transport_find(pair->trial.transport)->gives_mpi_data && !pair->trial.works &&
            facts->device_send == DEVICE_SEND_YES) {
            facts->device_send = DEVICE_SEND_NO;
            snprintf(facts->device_send_error, sizeof facts->device_send_error,
                     "ranks %d and %d: %.340s", pair->a, pair->b, pair->trial.why);
        }
    }
    return STATUS_OK;
}

/* ---- the command ---- */

static struct {
    struct option_name backend;
    const char *json;
    double screen_s;
} options = {.backend = {"auto", backend_names}};

static const struct option option_table[] = {
    {OPTION_NAME, "--backend", "NAME", " (default auto)", &options.backend},
    {OPTION_REAL, "--screen", "SECONDS", "load devices so long, and compare bits",
     &options.screen_s},
    {OPTION_STRING, "--json", "FILE", "also write the results as JSON", &options.json},
    {OPTION_END, NULL, NULL, NULL, NULL},
};

/* Find the first GPU backend that cannot run. */
static void find_dead_backend(struct doctor_facts *facts)
{
    for (int i = 0; i < backend_count(); i++) {
        const struct backend *backend = backend_at(i);
        if (backend_has(backend, BACKEND_GPU) && backend->runtime->probe() != STATUS_OK) {
            snprintf(facts->gpu_fails, sizeof facts->gpu_fails, "%s: %.200s", backend->name,
                     fail_message());
            fail_clear();
            return;
        }
    }
}

/* Lock a file in the current folder, as HDF5 does before it opens one. */
static void try_locking(struct doctor_facts *facts)
{
    const char *locking = getenv("HDF5_USE_FILE_LOCKING");
    facts->locking_off = locking != NULL && strcasecmp(locking, "FALSE") == 0;
    char path[] = "isotherm_doctor_XXXXXX";
    SCOPED_FD const int fd = mkstemp(path);
    if (fd < 0) {
        return; /* not writable: no output goes here */
    }
    if (flock(fd, LOCK_SH | LOCK_NB) != 0) {
        snprintf(facts->lock_fails, sizeof facts->lock_fails, "%s", strerror(errno));
    }
    unlink(path);
}

/* Collective. */
static enum status screen(struct doctor *doctor)
{
    struct screen_result mine;
    const int nranks = comm_size(MPI_COMM_WORLD);
    if (comm_rank(MPI_COMM_WORLD) == 0) {
        doctor->screened = calloc((size_t)nranks, sizeof mine);
    }
    TRY(status_agree(MPI_COMM_WORLD,
                     CHECK_MEMORY(comm_rank(MPI_COMM_WORLD) != 0 || doctor->screened != NULL,
                                  "no memory for the results of %d ranks", nranks)));
    TRY(status_agree(MPI_COMM_WORLD,
                     screen_device(doctor->backend, doctor->device, options.screen_s, &mine)));
    TRY_MPI(MPI_Gather(&mine, (int)sizeof mine, MPI_BYTE, doctor->screened, (int)sizeof mine,
                       MPI_BYTE, 0, MPI_COMM_WORLD));
    return STATUS_OK;
}

static enum status query_mpi(struct doctor *doctor)
{
    int length = 0;
    TRY_MPI(MPI_Get_library_version(doctor->mpi, &length));
    doctor->mpi[strcspn(doctor->mpi, ",\n")] = '\0';
    TRY_MPI(MPI_Query_thread(&doctor->facts.thread_level));
    doctor->facts.hints = mpi_hints_ask();
    return STATUS_OK;
}

static enum status examine(struct doctor *doctor)
{
    struct doctor_facts *facts = &doctor->facts;
    struct machine machine;
    TRY(status_agree(MPI_COMM_WORLD,
                     backend_choose(options.backend.name, &doctor->backend, doctor->backend_reason,
                                    sizeof doctor->backend_reason)));
    TRY(device_open(MPI_COMM_WORLD, doctor->backend, &doctor->device, &doctor->info));
    machine_examine(doctor->info.address, &machine);
    TRY(rank_facts_gather(MPI_COMM_WORLD, &machine, &doctor->info, &doctor->ranks));
    TRY(measure_pairs(doctor));
    TRY(test_device_send(doctor));
    TRY(status_agree(MPI_COMM_WORLD, query_mpi(doctor)));
    if (options.screen_s > 0) {
        TRY(screen(doctor));
    }
    if (comm_rank(MPI_COMM_WORLD) == 0) {
        facts->nranks = comm_size(MPI_COMM_WORLD);
        facts->ranks = doctor->ranks;
        facts->backend = doctor->backend->name;
        doctor->hdf5 = h5_about();
        facts->hdf5_parallel = doctor->hdf5.parallel;
        find_dead_backend(facts);
        try_locking(facts);
        facts->screened = doctor->screened;
        doctor->nfindings = doctor_diagnose(facts, doctor->findings);
    }
    return STATUS_OK;
}

static const char *level_name(int level)
{
    return level >= MPI_THREAD_MULTIPLE     ? "MPI_THREAD_MULTIPLE"
           : level >= MPI_THREAD_SERIALIZED ? "MPI_THREAD_SERIALIZED"
           : level >= MPI_THREAD_FUNNELED   ? "MPI_THREAD_FUNNELED"
                                            : "MPI_THREAD_SINGLE";
}

/* By enum device_send: in the report and in JSON. */
static const char *const send_names[][2] = {{"not needed: fields are in host memory", "not needed"},
                                            {"can be sent, verified byte by byte", "yes"},
                                            {"cannot be sent", "no"}};

static void print_libraries(const struct doctor *doctor)
{
    const struct doctor_facts *facts = &doctor->facts;
    log_info("isotherm %s: %d rank%s", ISOTHERM_VERSION, facts->nranks,
             facts->nranks == 1 ? "" : "s");
    log_info("backend        %s (%s)", facts->backend, doctor->backend_reason);
    log_info("driver         %s", doctor->info.driver[0] != '\0' ? doctor->info.driver : "none");
    log_info("MPI            %s, %s", doctor->mpi, level_name(facts->thread_level));
    log_info("MPI claims     CUDA: %s; ROCm: %s", mpi_hint_name(facts->hints.cuda),
             mpi_hint_name(facts->hints.rocm));
    log_info("device buffers %s%s%s", send_names[facts->device_send][0],
             facts->device_send == DEVICE_SEND_NO ? ": " : "",
             facts->device_send == DEVICE_SEND_NO ? facts->device_send_error : "");
    log_info("HDF5           %s, %s, files here %s", doctor->hdf5.version,
             facts->hdf5_parallel ? "parallel" : "not parallel",
             facts->lock_fails[0] == '\0' ? "can be locked" : "cannot be locked");
}

static void print_ranks(const struct doctor *doctor)
{
    log_info("rank host         device                    PCI           its NUMA  NUMA  cores "
             "threads  CPUs");
    for (int rank = 0; rank < doctor->facts.nranks; rank++) {
        const struct rank_facts *facts = &doctor->ranks[rank];
        char numa[64];
        char near[16] = "-";
        numa_text(facts->machine.numa, numa, sizeof numa);
        if (facts->machine.device_numa >= 0) {
            snprintf(near, sizeof near, "%d", facts->machine.device_numa);
        }
        log_info("%4d %-12.12s %-25.25s %-13s %8s  %4s  %5d %7d  %s", rank, facts->machine.host,
                 facts->device, facts->pci[0] != '\0' ? facts->pci : "-", near, numa,
                 CPU_COUNT(&facts->machine.cores), facts->threads, facts->machine.cpus);
    }
}

static void report_pairs(const struct doctor *doctor, struct json *json)
{
    struct table table = {.has_heading = false};
    if (doctor->npairs > 0) {
        log_info("GB/s each way between two ranks, both at once, %d MiB", PAIR_BYTES >> 20);
    }
    json_begin(json, "pairs", '[');
    for (int p = 0; p < doctor->npairs; p++) {
        const struct doctor_pair *pair = &doctor->pairs[p];
        table_row_begin(&table, json);
        table_int(&table, "a", "rank", 4, pair->a);
        table_int(&table, "b", "rank", 4, pair->b);
        table_text(&table, "transport", "transport", -12, pair->trial.transport);
        json_bool(json, "works", pair->trial.works);
        table_int(&table, "bytes", NULL, 0, PAIR_BYTES);
        table_real(&table, "bandwidth_GBs", "GB/s", 8, 2,
                   pair->trial.seconds > 0 ? PAIR_BYTES / pair->trial.seconds * 1e-9 : 0);
        table_text(&table, NULL, "", -1, pair->trial.works ? "" : "does not work:");
        table_text(&table, "why_not", "", -1, pair->trial.why);
        table_row_end(&table);
    }
    json_end(json, ']');
}

static void report_screen(const struct doctor *doctor, struct json *json)
{
    struct table table = {.has_heading = false};
    if (doctor->screened == NULL) {
        return;
    }
    log_info("screened: a known problem in passes of every length, and in memory meanwhile");
    json_begin(json, "screened", '[');
    for (int rank = 0; rank < doctor->facts.nranks; rank++) {
        const struct screen_result *result = &doctor->screened[rank];
        table_row_begin(&table, json);
        table_int(&table, "rank", "rank", 4, rank);
        table_int(&table, "checks", "checks", 7, result->checks);
        table_int(&table, "wrong", "wrong", 6, result->wrong);
        table_real(&table, "bytes", NULL, 0, 0, (double)result->bytes);
        table_real(&table, NULL, "GB", 8, 2, 1e-9 * (double)result->bytes);
        table_real(&table, "cell_updates_per_s", NULL, 0, 0, result->cells_per_s);
        table_real(&table, NULL, "Gcell/s", 8, 2, 1e-9 * result->cells_per_s);
        table_row_end(&table);
    }
    json_end(json, ']');
}

static int count_wrong(const struct doctor *doctor)
{
    int count = 0;
    for (int f = 0; f < doctor->nfindings; f++) {
        count += doctor->findings[f].wrong;
    }
    return count;
}

static void report_findings(const struct doctor *doctor, struct json *json)
{
    json_begin(json, "findings", '[');
    for (int f = 0; f < doctor->nfindings; f++) {
        const struct finding *finding = &doctor->findings[f];
        log_info("%s %s", finding->wrong ? "WRONG:" : "note: ", finding->what);
        log_info("       %s", finding->fix);
        json_begin(json, NULL, '{');
        json_bool(json, "wrong", finding->wrong);
        json_string(json, "what", finding->what);
        json_string(json, "fix", finding->fix);
        json_end(json, '}');
    }
    json_end(json, ']');
    if (count_wrong(doctor) == 0) {
        log_info("no problems found");
    }
}

static void report_libraries(const struct doctor *doctor, struct json *json)
{
    const struct doctor_facts *facts = &doctor->facts;
    json_string(json, "version", ISOTHERM_VERSION);
    json_int(json, "ranks", facts->nranks);
    json_string(json, "backend", facts->backend);
    json_string(json, "backend_reason", doctor->backend_reason);
    json_string(json, "driver", doctor->info.driver);
    json_string(json, "mpi", doctor->mpi);
    json_string(json, "mpi_threads", level_name(facts->thread_level));
    json_string(json, "mpi_says_cuda", mpi_hint_name(facts->hints.cuda));
    json_string(json, "mpi_says_rocm", mpi_hint_name(facts->hints.rocm));
    json_string(json, "device_buffers_travel", send_names[facts->device_send][1]);
    json_string(json, "device_buffers_fail", facts->device_send_error);
    json_string(json, "hdf5", doctor->hdf5.version);
    json_bool(json, "hdf5_parallel", facts->hdf5_parallel);
    json_string(json, "locking_fails", facts->lock_fails);
    print_libraries(doctor);
}

/* On rank 0. */
static enum status print_report(const struct doctor *doctor)
{
    struct json json;
    TRY(json_open(&json));
    json_begin(&json, NULL, '{');
    report_libraries(doctor, &json);
    print_ranks(doctor);
    rank_facts_json(&json, doctor->ranks, doctor->facts.nranks);
    report_pairs(doctor, &json);
    report_screen(doctor, &json);
    report_findings(doctor, &json);
    json_end(&json, '}');
    TRY(json_finish(&json, STATUS_OK, options.json));
    const int wrong = count_wrong(doctor);
    return wrong == 0 ? STATUS_OK
                      : fail(STATUS_UNFIT, "%d problem%s", wrong, wrong == 1 ? "" : "s");
}

static enum status execute(void)
{
    static struct doctor doctor; /* too large for the stack */
    const bool first = comm_rank(MPI_COMM_WORLD) == 0;
    enum status status = first ? json_check_place(options.json) : STATUS_OK;
    TRY(status_agree(MPI_COMM_WORLD, status));
    TRY_GOTO(examine(&doctor));
    status = status_agree(MPI_COMM_WORLD, first ? print_report(&doctor) : STATUS_OK);
done:
    if (doctor.device != NULL) {
        doctor.backend->runtime->close(doctor.device);
    }
    free(doctor.ranks);
    free(doctor.pairs);
    free(doctor.screened);
    return status;
}

const struct command command_doctor = {
    .name = "doctor",
    .summary = "show the resources of this node, and how to fix problems",
    .uses_mpi = true,
    .line = {.usage = "isotherm doctor [options]",
             .about =
                 "Show the resources of this node: devices, MPI and whether it can send device\n"
                 "memory, threads, HDF5, and the placement of ranks; measure the bandwidth\n"
                 "between ranks; report problems and how to fix them. Start it with the same\n"
                 "launcher options as a run. Exit code 0: no problems found; 1: problems found.",
             .example = "  $ isotherm doctor --screen 20\n"
                        "  $ mpirun -n 2 isotherm doctor\n"
                        "  $ srun -N 2 --ntasks-per-node=8 -c 7 --gpus-per-task=1 isotherm doctor",
             .options = option_table},
    .execute = execute,
};
