#include "machine/cores.h"

#include <omp.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/comm.h"

enum status cores_divide(MPI_Comm comm, const struct core_set *mine, int *threads)
{
    int users[MACHINE_MAX_CORES];
    int most = 1;
    MPI_Comm node = MPI_COMM_NULL;
    for (int core = 0; core < MACHINE_MAX_CORES; core++) {
        users[core] = core_set_has(mine, core) ? 1 : 0;
    }
    TRY_MPI(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, comm_rank(comm), MPI_INFO_NULL, &node));
    const int code = MPI_Allreduce(MPI_IN_PLACE, users, MACHINE_MAX_CORES, MPI_INT, MPI_SUM, node);
    comm_free(&node);
    TRY(comm_check(code, "MPI_Allreduce"));
    for (int core = 0; core < MACHINE_MAX_CORES; core++) {
        most = core_set_has(mine, core) && users[core] > most ? users[core] : most;
    }
    const int cores = core_set_count(mine);
    *threads = cores > 0 && cores < most ? 1 : cores / most;
    return STATUS_OK;
}

/* With OMP_PLACES the process is already bound to the first place; its cores are unknown here. */
static bool environment_chooses(void)
{
    static const char *const names[] = {"OMP_NUM_THREADS", "OMP_PROC_BIND", "OMP_PLACES",
                                        "GOMP_CPU_AFFINITY"};
    bool chooses = false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        chooses = chooses || getenv(names[i]) != NULL;
    }
    return chooses;
}

int cores_beside(const struct backend *backend)
{
    const int threads = omp_get_max_threads();
    return backend_has(backend, BACKEND_GPU) && threads > 1 ? threads - 1 : 1;
}

int cores_count(void)
{
    struct machine machine = {0};
    machine_examine("", &machine);
    const int cores = core_set_count(&machine.cores);
    return cores > 0 ? cores : omp_get_num_procs();
}

enum status cores_share(MPI_Comm comm)
{
    struct machine machine = {0};
    int threads = 0;
    int started = 0;
    if (!environment_chooses()) {
        machine_examine("", &machine);
    }
    TRY(cores_divide(comm, &machine.cores, &threads));
    if (threads > 0) {
        omp_set_num_threads(threads);
    }
#pragma omp parallel reduction(+ : started)
    started += 1;
    return STATUS_OK;
}
