/* The transports between two ranks, with the test and the times of halo/. */
#include <stdio.h>
#include <stdlib.h>

#include "base/comm.h"
#include "doctor/doctor.h"
#include "halo/choose.h"
#include "halo/probe.h"

/* Collective over `comm`; `pair` is filled on rank 0. */
static enum status measure(MPI_Comm comm, const struct backend *backend, struct device *device,
                           const char *transport, struct doctor_pair *pair)
{
    MPI_Comm two = MPI_COMM_NULL;
    const int rank = comm_rank(comm);
    const bool mine = rank == pair->a || rank == pair->b;
    enum status status = STATUS_OK;
    TRY_MPI(MPI_Comm_split(comm, mine ? 0 : MPI_UNDEFINED, rank, &two));
    if (mine) {
        status =
            comm_check(MPI_Comm_set_errhandler(two, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
        if (status == STATUS_OK) {
            status = halo_time_pairs(two, backend, device, transport, DOCTOR_PAIR_BYTES, false,
                                     &pair->trial);
        }
        comm_free(&two);
    }
    TRY(status_agree(comm, status));
    TRY_MPI(MPI_Bcast(&pair->trial, (int)sizeof pair->trial, MPI_BYTE, pair->a, comm));
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

static enum status measure_all(MPI_Comm comm, const struct backend *backend, struct device *device,
                               struct doctor_pair *pairs, int *npairs)
{
    const int all = comm_size(comm);
    const int nranks = all < DOCTOR_PAIR_RANKS ? all : DOCTOR_PAIR_RANKS;
    int nodes[DOCTOR_PAIR_RANKS] = {0};
    int node = 0;
    char why[384];
    TRY(comm_node(comm, &node));
    for (int rank = 0; rank < nranks; rank++) {
        nodes[rank] = node;
        TRY_MPI(MPI_Bcast(&nodes[rank], 1, MPI_INT, rank, comm));
    }
    TRY(halo_probe(comm, backend, false, why, sizeof why)); /* once for all pairs */
    for (int a = 0; a < nranks; a++) {
        for (int b = a + 1; b < nranks; b++) {
            for (int t = 0; transports[t] != NULL; t++) {
                if (suits(transports[t], backend, nodes[a] == nodes[b])) {
                    pairs[*npairs] = (struct doctor_pair){.a = a, .b = b};
                    TRY(measure(comm, backend, device, transports[t]->name, &pairs[*npairs]));
                    (*npairs)++;
                }
            }
        }
    }
    return STATUS_OK;
}

enum status doctor_measure_pairs(MPI_Comm comm, const struct backend *backend,
                                 struct device *device, struct doctor_pair **pairs, int *npairs)
{
    enum { TRANSPORTS = 8 };
    SCOPED_FREE struct doctor_pair *built =
        calloc((size_t)DOCTOR_PAIR_RANKS * DOCTOR_PAIR_RANKS / 2 * TRANSPORTS, sizeof *built);
    *pairs = NULL;
    *npairs = 0;
    TRY(status_agree(comm, CHECK_MEMORY(built != NULL, "no memory for a list of pairs")));
    TRY(measure_all(comm, backend, device, built, npairs));
    if (comm_rank(comm) == 0) {
        *pairs = built;
        built = NULL;
    }
    return STATUS_OK;
}

enum status doctor_test_device_send(MPI_Comm comm, const struct backend *backend,
                                    const struct doctor_pair *pairs, int npairs,
                                    struct doctor_facts *facts)
{
    if (backend_has(backend, BACKEND_HOST_ACCESS)) {
        facts->device_send = DEVICE_SEND_NOT_NEEDED;
        return STATUS_OK;
    }
    TRY(halo_probe(comm, backend, false, facts->device_send_error,
                   sizeof facts->device_send_error)); /* cached, so the second call costs nothing */
    facts->device_send = facts->device_send_error[0] == '\0' ? DEVICE_SEND_YES : DEVICE_SEND_NO;
    for (int p = 0; p < npairs; p++) {
        const struct transport *transport = transport_find(pairs[p].trial.transport);
        if (transport->gives_mpi_data && !pairs[p].trial.works &&
            facts->device_send == DEVICE_SEND_YES) {
            facts->device_send = DEVICE_SEND_NO;
            snprintf(facts->device_send_error, sizeof facts->device_send_error,
                     "ranks %d and %d: %.340s", pairs[p].a, pairs[p].b, pairs[p].trial.why);
        }
    }
    return STATUS_OK;
}
