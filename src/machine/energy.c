#include "machine/energy.h"

#include <dlfcn.h>
#include <glob.h>
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/comm.h"

const struct energy_places energy_system = {
    .nvml = "libnvidia-ml.so.1",
    .rocm_smi = "librocm_smi64.so",
    .pci_devices = "/sys/bus/pci/devices",
    .powercap = "/sys/class/powercap",
};

enum { MOST_FILES = 16, PATH_BYTES = 512 };

/* A file with a count of microjoules; it wraps around at `range`; 0: never. */
struct counter_file {
    char path[PATH_BYTES];
    uint64_t range;
    uint64_t last;
    uint64_t total;
};

typedef int nvml_call(void);
typedef int nvml_find(const char *address, void **device);
typedef int nvml_energy(void *device, unsigned long long *millijoules);
typedef int smi_init(uint64_t flags);
typedef int smi_count(uint32_t *count);
typedef int smi_address(uint32_t index, uint64_t *address);
typedef int smi_energy(uint32_t index, uint64_t *count, float *microjoules, uint64_t *time);

struct energy_meter {
    const char *source;
    bool (*read)(struct energy_meter *meter, double *joules);
    void *library; /* NULL: files */
    nvml_call *shut_down;
    nvml_energy *nvml_read;
    void *nvml_device;
    smi_energy *smi_read;
    uint32_t smi_device;
    struct counter_file files[MOST_FILES];
    int nfiles;
};

/* ---- files ---- */

/* Decimal, or with 0x. */
static bool read_count(const char *path, uint64_t *count)
{
    FILE *file = fopen(path, "r");
    const bool found = file != NULL && fscanf(file, "%" SCNi64, (int64_t *)count) == 1;
    if (file != NULL) {
        (void)fclose(file);
    }
    return found;
}

static bool read_files(struct energy_meter *meter, double *joules)
{
    *joules = 0;
    for (int f = 0; f < meter->nfiles; f++) {
        struct counter_file *file = &meter->files[f];
        uint64_t now = 0;
        if (!read_count(file->path, &now)) {
            return false;
        }
        file->total += now >= file->last ? now - file->last : file->range - file->last + now;
        file->last = now;
        *joules += 1e-6 * (double)file->total;
    }
    return true;
}

/* The files that match; those that cannot be read count as `denied`. */
static void add_files(struct energy_meter *meter, const char *pattern, int *denied)
{
    glob_t found;
    if (glob(pattern, 0, NULL, &found) != 0) {
        return;
    }
    for (size_t p = 0; p < found.gl_pathc && meter->nfiles < MOST_FILES; p++) {
        struct counter_file *file = &meter->files[meter->nfiles];
        snprintf(file->path, sizeof file->path, "%s", found.gl_pathv[p]);
        if (read_count(file->path, &file->last)) {
            meter->nfiles++;
        } else {
            (*denied)++;
        }
    }
    globfree(&found);
}

/* The packages, not their parts (intel-rapl:0:0). AMD's CPUs have these names, too. */
static enum status open_rapl(struct energy_meter *meter, const struct energy_places *places)
{
    char pattern[PATH_BYTES];
    int denied = 0;
    snprintf(pattern, sizeof pattern, "%s/intel-rapl:[0-9]/energy_uj", places->powercap);
    add_files(meter, pattern, &denied);
    for (int f = 0; f < meter->nfiles; f++) {
        struct counter_file *file = &meter->files[f];
        char path[PATH_BYTES + 32];
        snprintf(path, sizeof path, "%s", file->path);
        snprintf(strrchr(path, '/'), 32, "/max_energy_range_uj");
        (void)read_count(path, &file->range);
    }
    meter->source = "RAPL";
    meter->read = read_files;
    FAIL_IF(denied > 0,
            fail(STATUS_DEVICE, "%s/intel-rapl:*/energy_uj may not be read by this user",
                 places->powercap));
    return meter->nfiles > 0
               ? STATUS_OK
               : fail(STATUS_DEVICE, "the kernel has no energy counter of the CPUs in %s",
                      places->powercap);
}

static bool open_hwmon(struct energy_meter *meter, const struct energy_places *places,
                       const char *pci)
{
    char pattern[PATH_BYTES];
    int denied = 0;
    snprintf(pattern, sizeof pattern, "%s/%s/hwmon/hwmon*/energy1_input", places->pci_devices, pci);
    add_files(meter, pattern, &denied);
    meter->source = "hwmon";
    meter->read = read_files;
    return meter->nfiles > 0;
}

/* ---- libraries ---- */

/* A function of a library, and the pointer that receives its address. */
struct symbol {
    const char *name;
    void *target;
};

/* Load the functions; false with a failure if one is missing. A pointer to a function is read from
 * dlsym's object pointer, as POSIX describes. */
static bool load(struct energy_meter *meter, const char *library, const struct symbol symbols[])
{
    meter->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (meter->library == NULL) {
        (void)fail(STATUS_DEVICE, "%s cannot be loaded", library);
        return false;
    }
    for (; symbols->name != NULL; symbols++) {
        void *function = dlsym(meter->library, symbols->name);
        if (function == NULL) {
            (void)fail(STATUS_DEVICE, "%s has no %s", library, symbols->name);
            return false;
        }
        memcpy(symbols->target, &function, sizeof function);
    }
    return true;
}

static bool read_nvml(struct energy_meter *meter, double *joules)
{
    unsigned long long millijoules = 0;
    const bool done = meter->nvml_read(meter->nvml_device, &millijoules) == 0;
    *joules = 1e-3 * (double)millijoules;
    return done;
}

static enum status open_nvml(struct energy_meter *meter, const struct energy_places *places,
                             const char *pci)
{
    nvml_call *init = NULL;
    nvml_call *shut_down = NULL;
    nvml_find *find = NULL;
    double joules = 0;
    const struct symbol symbols[] = {{"nvmlInit_v2", &init},
                                     {"nvmlShutdown", &shut_down},
                                     {"nvmlDeviceGetHandleByPciBusId_v2", &find},
                                     {"nvmlDeviceGetTotalEnergyConsumption", &meter->nvml_read},
                                     {NULL, NULL}};
    meter->source = "NVML";
    meter->read = read_nvml;
    if (!load(meter, places->nvml, symbols)) {
        return STATUS_DEVICE;
    }
    const int error = init();
    FAIL_IF(error != 0, fail(STATUS_DEVICE, "NVML: initialization failed, code %d", error));
    meter->shut_down = shut_down;
    const int unknown = find(pci, &meter->nvml_device);
    return unknown == 0 && read_nvml(meter, &joules)
               ? STATUS_OK
               : fail(STATUS_DEVICE, "NVML: the device %s %s", pci,
                      unknown != 0 ? "is unknown" : "has no energy counter");
}

static bool read_smi(struct energy_meter *meter, double *joules)
{
    uint64_t count = 0;
    uint64_t time = 0;
    float microjoules = 0;
    const bool done = meter->smi_read(meter->smi_device, &count, &microjoules, &time) == 0;
    *joules = 1e-6 * (double)microjoules * (double)count;
    return done;
}

static enum status open_smi(struct energy_meter *meter, const struct energy_places *places,
                            const char *pci)
{
    smi_init *init = NULL;
    nvml_call *shut_down = NULL;
    smi_count *count = NULL;
    smi_address *address_of = NULL;
    unsigned domain = 0;
    unsigned bus = 0;
    unsigned device = 0;
    unsigned function = 0;
    uint32_t ndevices = 0;
    double joules = 0;
    const struct symbol symbols[] = {{"rsmi_init", &init},
                                     {"rsmi_shut_down", &shut_down},
                                     {"rsmi_num_monitor_devices", &count},
                                     {"rsmi_dev_pci_id_get", &address_of},
                                     {"rsmi_dev_energy_count_get", &meter->smi_read},
                                     {NULL, NULL}};
    meter->source = "ROCm SMI";
    meter->read = read_smi;
    if (!load(meter, places->rocm_smi, symbols)) {
        return STATUS_DEVICE;
    }
    FAIL_IF(init(0) != 0, fail(STATUS_DEVICE, "ROCm SMI: initialization failed"));
    meter->shut_down = shut_down;
    if (sscanf(pci, "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4 ||
        count(&ndevices) != 0) {
        ndevices = 0;
    }
    for (uint32_t d = 0; d < ndevices; d++) {
        uint64_t address = 0;
        const uint64_t wanted = (uint64_t)domain << 32 | bus << 8 | device << 3 | function;
        meter->smi_device = d;
        if (address_of(d, &address) == 0 && (address & 0xFFFFFFFF0000FFFF) == wanted) {
            if (read_smi(meter, &joules)) {
                return STATUS_OK;
            }
            break;
        }
    }
    return fail(STATUS_DEVICE, "ROCm SMI: no energy counter of the device %s", pci);
}

/* ---- both ---- */

static void forget(struct energy_meter *meter)
{
    if (meter->shut_down != NULL) {
        (void)meter->shut_down();
    }
    if (meter->library != NULL) {
        (void)dlclose(meter->library);
    }
    *meter = (struct energy_meter){.nfiles = 0};
}

static bool is_of_amd(const struct energy_places *places, const char *pci)
{
    char path[PATH_BYTES];
    uint64_t vendor = 0;
    snprintf(path, sizeof path, "%s/%s/vendor", places->pci_devices, pci);
    return read_count(path, &vendor) && vendor == 0x1002;
}

static enum status find_meter(struct energy_meter *meter, const struct energy_places *places,
                              const char *pci)
{
    if (pci[0] == '\0') {
        return open_rapl(meter, places);
    }
    if (!is_of_amd(places, pci)) {
        return open_nvml(meter, places, pci);
    }
    const enum status status = open_smi(meter, places, pci);
    if (status != STATUS_OK) {
        forget(meter);
    }
    return status == STATUS_OK || open_hwmon(meter, places, pci) ? STATUS_OK : status;
}

struct energy_meter *energy_open(const struct energy_places *places, const char *pci,
                                 char why[ENERGY_WORDS])
{
    struct energy_meter *meter = calloc(1, sizeof *meter);
    enum status status = CHECK_MEMORY(meter != NULL, "no memory");
    status = status == STATUS_OK ? find_meter(meter, places, pci) : status;
    why[0] = '\0';
    if (status == STATUS_OK) {
        return meter;
    }
    snprintf(why, ENERGY_WORDS, "%s", fail_message());
    fail_clear();
    energy_close(meter);
    return NULL;
}

void energy_close(struct energy_meter *meter)
{
    if (meter != NULL) {
        forget(meter);
        free(meter);
    }
}

const char *energy_source(const struct energy_meter *meter)
{
    return meter->source;
}

bool energy_read(struct energy_meter *meter, double *joules)
{
    return meter->read(meter, joules);
}

/* ---- of a run ---- */

/* A wrap-around between two readings goes unnoticed after the longer of these: at 500 W a range of
 * 262 kJ is over in 524 s. */
#define SAMPLE_S 10.0
#define LONGEST_GAP_S 500.0

enum { ADDRESS_BYTES = 32 };

/* True if no lower rank of this node has the same device. */
static enum status is_first_of_device(MPI_Comm comm, const char *pci, bool *first)
{
    SCOPED_BY(comm_free) MPI_Comm node = MPI_COMM_NULL;
    TRY_MPI(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    char mine[ADDRESS_BYTES] = "";
    SCOPED_FREE char *all = calloc((size_t)comm_size(node), ADDRESS_BYTES);
    TRY(status_agree(node, CHECK_MEMORY(all != NULL, "no memory for addresses")));
    snprintf(mine, sizeof mine, "%s", pci);
    TRY_MPI(MPI_Allgather(mine, ADDRESS_BYTES, MPI_CHAR, all, ADDRESS_BYTES, MPI_CHAR, node));
    *first = true;
    for (int r = 0; r < comm_rank(node) && *first; r++) {
        *first = strcmp(mine, all + (size_t)r * ADDRESS_BYTES) != 0;
    }
    return STATUS_OK;
}

enum status team_energy_begin(MPI_Comm comm, const char *pci, struct team_energy *energy)
{
    bool first = false;
    *energy = (struct team_energy){.meter = NULL};
    TRY(is_first_of_device(comm, pci, &first));
    if (first) {
        energy->meter = energy_open(&energy_system, pci, energy->why);
    }
    if (energy->meter != NULL && !energy_read(energy->meter, &energy->begin_J)) {
        snprintf(energy->why, sizeof energy->why, "the energy counter cannot be read");
    }
    energy->last_J = energy->begin_J;
    energy->last_s = clock_seconds();
    return STATUS_OK;
}

void team_energy_end(struct team_energy *energy)
{
    energy_close(energy->meter);
    energy->meter = NULL;
}

static void read_now(struct team_energy *energy)
{
    const double now = clock_seconds();
    const bool wraps = energy->meter != NULL && strcmp(energy_source(energy->meter), "RAPL") == 0;
    if (energy->meter == NULL || energy->why[0] != '\0') {
        return;
    }
    if (!energy_read(energy->meter, &energy->last_J)) {
        snprintf(energy->why, sizeof energy->why, "the energy counter cannot be read");
    } else if (wraps && now - energy->last_s > LONGEST_GAP_S) {
        snprintf(energy->why, sizeof energy->why,
                 "the counter of the CPUs may have wrapped around in %.0f s without output",
                 now - energy->last_s);
    }
    energy->last_s = now;
}

void team_energy_sample(struct team_energy *energy)
{
    if (clock_seconds() - energy->last_s > SAMPLE_S) {
        read_now(energy);
    }
}

void team_energy_restart(struct team_energy *energy)
{
    energy->last_s = clock_seconds(); /* an earlier wrap-around does not matter */
    read_now(energy);
    energy->begin_J = energy->last_J;
}

enum status team_energy_total(MPI_Comm comm, struct team_energy *energy, struct energy_total *total)
{
    read_now(energy);
    const int nranks = comm_size(comm);
    double joules = energy->last_J - energy->begin_J;
    int missing = energy->why[0] != '\0' ? comm_rank(comm) : nranks; /* the first of these */
    *total = (struct energy_total){.joules = 0};
    if (energy->meter != NULL) {
        snprintf(total->source, sizeof total->source, "%s", energy_source(energy->meter));
    }
    snprintf(total->why, sizeof total->why, "%s", energy->why);
    TRY_MPI(MPI_Allreduce(&joules, &total->joules, 1, MPI_DOUBLE, MPI_SUM, comm));
    TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, &missing, 1, MPI_INT, MPI_MIN, comm));
    if (missing < nranks) {
        total->joules = (double)NAN;
        TRY_MPI(MPI_Bcast(total->why, ENERGY_WORDS, MPI_CHAR, missing, comm));
    }
    return STATUS_OK;
}
