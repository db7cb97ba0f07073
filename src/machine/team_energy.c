#include "machine/team_energy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/comm.h"

/* A wrap-around between two readings goes unnoticed after the longer of these: at 500 W a range of
 * 262 kJ is over in 524 s. */
#define SAMPLE_S 10.0
#define LONGEST_GAP_S 500.0

enum { ADDRESS_BYTES = 32 };

/* True if no lower rank of this node has the same device. */
static enum status is_first_of_device(MPI_Comm comm, const char *pci, bool *first)
{
    MPI_Comm node = MPI_COMM_NULL;
    TRY_MPI(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    const int rank = comm_rank(node);
    char mine[ADDRESS_BYTES] = "";
    char *all = calloc((size_t)comm_size(node), ADDRESS_BYTES);
    enum status status = status_agree(node, CHECK_MEMORY(all != NULL, "no memory for addresses"));
    snprintf(mine, sizeof mine, "%s", pci);
    if (status == STATUS_OK) {
        status = comm_check(
            MPI_Allgather(mine, ADDRESS_BYTES, MPI_CHAR, all, ADDRESS_BYTES, MPI_CHAR, node),
            "MPI_Allgather");
    }
    *first = status == STATUS_OK;
    for (int r = 0; r < rank && *first; r++) {
        *first = strcmp(mine, all + (size_t)r * ADDRESS_BYTES) != 0;
    }
    free(all);
    comm_free(&node);
    return status;
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
