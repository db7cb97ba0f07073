/* From facts to findings: uses only the C library, so that tests can define machines. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "doctor/doctor.h"
#include "machine/host.h"

struct report {
    const struct doctor_facts *facts;
    struct finding *findings;
    int count;
};

static void say(struct report *report, bool wrong, const char *fix, const char *format, ...)
    PRINTF_LIKE(4, 5);
static void say(struct report *report, bool wrong, const char *fix, const char *format, ...)
{
    va_list args;
    if (report->count == DOCTOR_MAX_FINDINGS) {
        return;
    }
    struct finding *finding = &report->findings[report->count++];
    finding->wrong = wrong;
    snprintf(finding->fix, sizeof finding->fix, "%s", fix);
    va_start(args, format);
    vsnprintf(finding->what, sizeof finding->what, format, args);
    va_end(args);
}

static bool has_device(const struct rank_facts *rank, const void *pci)
{
    return strcmp(rank->pci, pci) == 0;
}

static void find_shared_devices(struct report *report, const struct host *host)
{
    const struct doctor_facts *facts = report->facts;
    int distinct = 0;
    int most = 0;
    for (int rank = host->first; rank < facts->nranks; rank++) {
        const char *pci = facts->ranks[rank].pci;
        bool seen = !host_has(host, rank) || pci[0] == '\0';
        for (int before = host->first; before < rank && !seen; before++) {
            seen = host_has(host, before) && strcmp(facts->ranks[before].pci, pci) == 0;
        }
        if (seen) {
            continue;
        }
        char who[128];
        distinct++;
        most = facts->ranks[rank].devices > most ? facts->ranks[rank].devices : most;
        if (host_list(host, has_device, pci, who, NULL) > 1) {
            say(report, true,
                "start one rank per device: as many tasks per node as devices, with Slurm "
                "--gpus-per-task=1 --gpu-bind=closest",
                "%s on %s share the device %s", who, host->name, pci);
        }
    }
    if (distinct > 0 && distinct < most && distinct == host->nranks) {
        say(report, false, "start as many ranks per node as it has devices",
            "%d of the %d devices of %s %s a rank", distinct, most, host->name,
            distinct == 1 ? "has" : "have");
    }
}

static bool is_far(const struct rank_facts *rank, const void *unused)
{
    const struct machine *machine = &rank->machine;
    return rank->pci[0] != '\0' && machine->device_numa >= 0 && machine->device_numa < 64 &&
           machine->numa != 0 && (machine->numa >> machine->device_numa & 1) == 0;
}

static void find_far_devices(struct report *report, const struct host *host)
{
    char who[128];
    char numa[64];
    int rank = 0;
    if (host_list(host, is_far, NULL, who, &rank) == 0) {
        return;
    }
    numa_text(host->ranks[rank].machine.numa, numa, sizeof numa);
    say(report, true,
        "bind each rank to the cores nearest to its device: srun --gpu-bind=closest, or --cpu-bind "
        "with a map of cores in the order of the devices (jobscripts/); mpirun --map-by numa",
        "%s on %s run%s far from the device: rank %d on NUMA node %s, its device on %d", who,
        host->name, strncmp(who, "rank ", 5) == 0 ? "s" : "", rank, numa,
        host->ranks[rank].machine.device_numa);
}

static bool has_one_core(const struct rank_facts *rank, const void *unused)
{
    return CPU_COUNT(&rank->machine.cores) == 1;
}

/* More threads than cores on a rank, or on the host, or unused cores. */
static void find_crowds(struct report *report, const struct host *host)
{
    const int cores = CPU_COUNT(&host->cores);
    char who[128];
    struct crowd crowd;
    if (host_is_crowded(host, &crowd)) {
        say(report, true, crowd.fix, "%s", crowd.what);
    } else if (cores < host->machine_cores &&
               host_list(host, has_one_core, NULL, who, NULL) == host->nranks) {
        say(report, true,
            "mpirun binds each rank to one core by default; use --map-by slot:PE=THREADS, or "
            "--bind-to none; srun -c THREADS --cpu-bind=cores",
            "%s on %s %s bound to one core%s, and %d of %d cores have no rank", who, host->name,
            host->nranks == 1 ? "is" : "are", host->nranks == 1 ? "" : " each",
            host->machine_cores - cores, host->machine_cores);
    } else if (host->ranks[0].threads > 0 && host->threads < host->machine_cores) {
        say(report, false, "start more ranks, or raise OMP_NUM_THREADS",
            "%d of the %d cores of %s %s a thread", host->threads, host->machine_cores, host->name,
            host->threads == 1 ? "has" : "have");
    }
}

static void find_library_faults(struct report *report)
{
    const struct doctor_facts *facts = report->facts;
    if (facts->gpu_fails[0] != '\0') {
        say(report, false, "on a node with GPUs: check the driver, and that the job asks for GPUs",
            "this build supports GPUs, but none is available: %s", facts->gpu_fails);
    }
    if (facts->device_send == DEVICE_SEND_NO) {
        say(report, true,
            "Cray MPICH: module load craype-accel-amd-gfx90a before building, and set "
            "MPICH_GPU_SUPPORT_ENABLED=1; Open MPI: use a build with UCX and CUDA or ROCm, and no "
            "UCX_TLS, OMPI_MCA_pml or OMPI_MCA_btl that excludes them. Until then faces between "
            "nodes are staged through host memory",
            "MPI cannot send device memory: %s", facts->device_send_error);
    }
    if (facts->thread_level < MPI_THREAD_FUNNELED) {
        say(report, true, "use an MPI library with thread support", "MPI does not support threads");
    } else if (facts->thread_level < MPI_THREAD_MULTIPLE) {
        say(report, false, "Open MPI: use a build with --enable-mpi-thread-multiple",
            "MPI does not provide MPI_THREAD_MULTIPLE: files cannot be written in the background");
    }
    if (!facts->hdf5_parallel) {
        say(report, true, "build with a parallel HDF5 (Debian: libhdf5-openmpi-dev)",
            "HDF5 has no MPI-IO driver: ranks cannot write a common file");
    }
    if (facts->lock_fails[0] != '\0' && !facts->locking_off) {
        say(report, true, "export HDF5_USE_FILE_LOCKING=FALSE for all programs that read the files",
            "files in this folder cannot be locked (%s): h5py, h5dump and ParaView cannot open "
            "them",
            facts->lock_fails);
    }
}

static bool is_first_of_host(const struct doctor_facts *facts, int rank)
{
    for (int before = 0; before < rank; before++) {
        if (strcmp(facts->ranks[before].machine.host, facts->ranks[rank].machine.host) == 0) {
            return false;
        }
    }
    return true;
}

/* The median rate of the other devices of this kind; 0 without one. */
static double median_of_peers(const struct doctor_facts *facts, int rank)
{
    enum { RATES_MOST = 4096 };
    double rates[RATES_MOST];
    int count = 0;
    for (int other = 0; other < facts->nranks && count < RATES_MOST; other++) {
        if (other != rank && strcmp(facts->ranks[other].device, facts->ranks[rank].device) == 0) {
            rates[count++] = facts->screened[other].cells_per_s;
        }
    }
    return count > 0 ? clock_median(rates, count) : 0;
}

/* Devices that gave other bits, and GPUs slower than the median of the others of their kind. */
static void find_bad_devices(struct report *report)
{
    const double least = 0.95;
    const struct doctor_facts *facts = report->facts;
    for (int rank = 0; rank < facts->nranks && facts->screened != NULL; rank++) {
        const struct rank_facts *place = &facts->ranks[rank];
        const struct screen_result *result = &facts->screened[rank];
        const double median = median_of_peers(facts, rank);
        const bool slow = place->pci[0] != '\0' && result->cells_per_s < least * median;
        char fix[512];
        snprintf(fix, sizeof fix,
                 "exclude the node (sbatch --exclude=%.200s) and report the device to the site",
                 place->machine.host);
        if (result->wrong > 0) {
            say(report, true, fix,
                "rank %d, %.60s, %.60s %s: %" PRId64 " of %" PRId64 " results have wrong bits; the "
                "first %s %d",
                rank, place->machine.host, place->device, place->pci, result->wrong, result->checks,
                result->steps > 0 ? "was computed in passes of" : "changed in memory, block",
                result->steps > 0 ? result->steps : result->block);
        } else if (slow) {
            say(report, true, fix,
                "rank %d, %.60s, %.60s %s: %.3g Gcell/s, %.1f %% below the median of its peers",
                rank, place->machine.host, place->device, place->pci, 1e-9 * result->cells_per_s,
                100 * (1 - result->cells_per_s / median));
        }
    }
}

int doctor_diagnose(const struct doctor_facts *facts, struct finding findings[DOCTOR_MAX_FINDINGS])
{
    struct report report = {.facts = facts, .findings = findings};
    find_library_faults(&report);
    for (int rank = 0; rank < facts->nranks; rank++) {
        if (is_first_of_host(facts, rank)) {
            const struct host host = host_of(facts->ranks, facts->nranks, rank);
            find_shared_devices(&report, &host);
            find_far_devices(&report, &host);
            find_crowds(&report, &host);
        }
    }
    find_bad_devices(&report);
    return report.count;
}
