#include "machine/machine.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hwloc.h>
#include <omp.h>

#include "base/comm.h"

/* The whole machine, including what a job scheduler hides from this process: the device may be
 * attached there. hwloc's GPU components are disabled: they would take seconds, and start a GPU
 * runtime before the backend has chosen a device. */
static bool load(hwloc_topology_t *topology)
{
    static const char *const unwanted[] = {"cuda", "nvml", "rsmi", "levelzero", "opencl", "gl"};
    if (hwloc_topology_init(topology) != 0) {
        return false;
    }
    for (size_t i = 0; i < sizeof unwanted / sizeof unwanted[0]; i++) {
        (void)hwloc_topology_set_components(*topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
                                            unwanted[i]);
    }
    if (hwloc_topology_set_flags(*topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) != 0 ||
        hwloc_topology_set_io_types_filter(*topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT) != 0 ||
        hwloc_topology_load(*topology) != 0) {
        hwloc_topology_destroy(*topology);
        return false;
    }
    return true;
}

/* The CPUs of all threads of this process. */
static void find_cores(hwloc_topology_t topology, hwloc_bitmap_t cpus, struct machine *machine)
{
    machine->machine_cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
    machine->numa_nodes = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE);
    if (hwloc_get_cpubind(topology, cpus, HWLOC_CPUBIND_PROCESS) != 0) {
        return;
    }
    hwloc_bitmap_list_snprintf(machine->cpus, sizeof machine->cpus, cpus);
    for (int core = 0; core < machine->machine_cores; core++) {
        hwloc_obj_t object = hwloc_get_obj_by_type(topology, HWLOC_OBJ_CORE, (unsigned)core);
        if (hwloc_bitmap_intersects(object->cpuset, cpus)) {
            CPU_SET((size_t)core, &machine->cores);
        }
    }
    for (int node = 0; node < machine->numa_nodes; node++) {
        hwloc_obj_t object = hwloc_get_obj_by_type(topology, HWLOC_OBJ_NUMANODE, (unsigned)node);
        if (object->os_index < 64 && hwloc_bitmap_intersects(object->cpuset, cpus)) {
            machine->numa |= (uint64_t)1 << object->os_index;
        }
    }
}

static bool is_same_kind(hwloc_obj_t a, hwloc_obj_t b)
{
    return a->attr->pcidev.vendor_id == b->attr->pcidev.vendor_id &&
           a->attr->pcidev.device_id == b->attr->pcidev.device_id;
}

static bool has_lower_address(hwloc_obj_t a, hwloc_obj_t b)
{
    const struct hwloc_pcidev_attr_s *x = &a->attr->pcidev;
    const struct hwloc_pcidev_attr_s *y = &b->attr->pcidev;
    if (x->domain != y->domain) {
        return x->domain < y->domain;
    }
    if (x->bus != y->bus) {
        return x->bus < y->bus;
    }
    return x->dev != y->dev ? x->dev < y->dev : x->func < y->func;
}

static void find_device(hwloc_topology_t topology, const char *pci, struct machine *machine)
{
    hwloc_obj_t device = hwloc_get_pcidev_by_busidstring(topology, pci);
    if (device == NULL) {
        return;
    }
    machine->device_index = 0;
    for (hwloc_obj_t other = hwloc_get_next_pcidev(topology, NULL); other != NULL;
         other = hwloc_get_next_pcidev(topology, other)) {
        machine->device_index += is_same_kind(other, device) && has_lower_address(other, device);
    }
    hwloc_obj_t place = hwloc_get_non_io_ancestor_obj(topology, device);
    if (place != NULL && hwloc_bitmap_weight(place->nodeset) == 1) {
        machine->device_numa = hwloc_bitmap_first(place->nodeset);
    }
}

static void examine(const char *pci, struct machine *found)
{
    *found = (struct machine){.device_numa = -1, .device_index = -1};
    if (gethostname(found->host, sizeof found->host - 1) != 0) {
        snprintf(found->host, sizeof found->host, "unknown");
    }
    hwloc_topology_t topology;
    if (!load(&topology)) {
        return;
    }
    hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
    if (cpus != NULL) {
        find_cores(topology, cpus, found);
        hwloc_bitmap_free(cpus);
    }
    if (pci[0] != '\0') {
        find_device(topology, pci, found);
    }
    hwloc_topology_destroy(topology);
}

void machine_examine(const char *pci, struct machine *machine)
{
    static struct machine known;
    static char known_pci[32];
    if (known.host[0] == '\0' || strcmp(known_pci, pci) != 0) {
        examine(pci, &known);
        snprintf(known_pci, sizeof known_pci, "%s", pci);
    }
    *machine = known;
}

enum status cores_divide(MPI_Comm comm, const cpu_set_t *mine, int *threads)
{
    int users[CPU_SETSIZE];
    int most = 1;
    SCOPED_BY(comm_free) MPI_Comm node = MPI_COMM_NULL;
    for (int core = 0; core < CPU_SETSIZE; core++) {
        users[core] = CPU_ISSET((size_t)core, mine) ? 1 : 0;
    }
    TRY_MPI(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, comm_rank(comm), MPI_INFO_NULL, &node));
    TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, users, CPU_SETSIZE, MPI_INT, MPI_SUM, node));
    for (int core = 0; core < CPU_SETSIZE; core++) {
        most = CPU_ISSET((size_t)core, mine) && users[core] > most ? users[core] : most;
    }
    const int cores = CPU_COUNT(mine);
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
    const int cores = CPU_COUNT(&machine.cores);
    return cores > 0 ? cores : omp_get_num_procs();
}

static enum status cores_share(MPI_Comm comm)
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

enum status device_open(MPI_Comm comm, const struct backend *backend, struct device **device,
                        struct device_info *info)
{
    int node_rank = 0;
    int node_size = 1;
    TRY(comm_node_rank(comm, &node_rank, &node_size));
    TRY(cores_share(comm));
    enum status status = backend->runtime->open(node_rank, node_size, device);
    status = status == STATUS_OK ? backend->runtime->info(*device, info) : status;
    return status_agree(comm, status);
}
