/* The transports between two ranks, with the test and the times of halo/. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/comm.h"
#include "doctor/doctor.h"
#include "halo/probe.h"
#include "halo/trial.h"

/* The setup of all measurements. */
struct rig {
    MPI_Comm comm;
    const struct backend *backend;
    struct device *device;
    int rank;
    bool probed; /* MPI accepts device memory */
    char why_not[384];
};

/* The first test with device memory runs in a separate process. */
static enum status probe(struct rig *rig)
{
    int node_rank = 0;
    int node_size = 1;
    rig->probed = true;
    if (backend_has(rig->backend, BACKEND_HOST_ACCESS)) {
        return STATUS_OK;
    }
    TRY(comm_node_rank(rig->comm, &node_rank, &node_size));
    const enum status status = status_agree(
        rig->comm, node_rank == 0 ? halo_probe(rig->backend, 0, node_size, false) : STATUS_OK);
    if (comm_is_broken()) {
        return status;
    }
    if (status != STATUS_OK) {
        rig->probed = false;
        snprintf(rig->why_not, sizeof rig->why_not, "%.380s", fail_message());
        fail_clear();
    }
    return STATUS_OK;
}

/* Collective over the two ranks of `comm`. */
static enum status try_pair(const struct rig *rig, MPI_Comm comm, const struct transport *transport,
                            struct halo_trial *trial)
{
    const struct transport_site site = {
        .comm = comm, .backend = rig->backend, .device = rig->device, .limit_s = trial_limit_s};
    const struct transport_channel channel = {.peer = 1 - comm_rank(comm),
                                              .bytes = DOCTOR_PAIR_BYTES};
    TRY(trial_prove(&site, transport, &channel, 1, PRECISION_FLOAT64, trial));
    if (trial->works) {
        TRY(trial_measure(&site, transport, &channel, 1, PRECISION_FLOAT64, true, trial));
    }
    return STATUS_OK;
}

/* Collective over rig->comm; `pair` is filled on rank 0. */
static enum status measure(const struct rig *rig, int a, int b, const struct transport *transport,
                           struct doctor_pair *pair)
{
    struct halo_trial trial = {.transport = transport->name};
    MPI_Comm two = MPI_COMM_NULL;
    const bool mine = rig->rank == a || rig->rank == b;
    enum status status = STATUS_OK;
    TRY_MPI(MPI_Comm_split(rig->comm, mine ? 0 : MPI_UNDEFINED, rig->rank, &two));
    if (mine) {
        status =
            comm_check(MPI_Comm_set_errhandler(two, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
        if (status == STATUS_OK && transport->gives_mpi_data && !rig->probed) {
            snprintf(trial.why, sizeof trial.why, "%s", rig->why_not);
        } else if (status == STATUS_OK) {
            status = try_pair(rig, two, transport, &trial);
        }
        comm_free(&two);
    }
    TRY(status_agree(rig->comm, status));
    TRY_MPI(MPI_Bcast(&trial, (int)sizeof trial, MPI_BYTE, a, rig->comm));
    *pair = (struct doctor_pair){.a = a,
                                 .b = b,
                                 .transport = transport->name,
                                 .works = trial.works,
                                 .seconds = trial.seconds};
    snprintf(pair->why, sizeof pair->why, "%s", trial.why);
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

static enum status measure_all(struct rig *rig, const int nodes[DOCTOR_PAIR_RANKS], int nranks,
                               struct doctor_pair *pairs, int *npairs)
{
    TRY(probe(rig));
    for (int a = 0; a < nranks; a++) {
        for (int b = a + 1; b < nranks; b++) {
            for (int t = 0; transports[t] != NULL; t++) {
                if (suits(transports[t], rig->backend, nodes[a] == nodes[b])) {
                    TRY(measure(rig, a, b, transports[t], &pairs[*npairs]));
                    (*npairs)++;
                }
            }
        }
    }
    return STATUS_OK;
}

/* The lowest rank on the node of each rank. */
static enum status find_nodes(const struct rig *rig, int nodes[DOCTOR_PAIR_RANKS], int nranks)
{
    MPI_Comm node = MPI_COMM_NULL;
    int first = rig->rank;
    TRY_MPI(MPI_Comm_split_type(rig->comm, MPI_COMM_TYPE_SHARED, rig->rank, MPI_INFO_NULL, &node));
    const enum status status = comm_check(MPI_Bcast(&first, 1, MPI_INT, 0, node), "MPI_Bcast");
    comm_free(&node);
    TRY(status);
    for (int rank = 0; rank < nranks; rank++) {
        nodes[rank] = first;
        TRY_MPI(MPI_Bcast(&nodes[rank], 1, MPI_INT, rank, rig->comm));
    }
    return STATUS_OK;
}

enum status doctor_measure_pairs(MPI_Comm comm, const struct backend *backend,
                                 struct device *device, struct doctor_pair **pairs, int *npairs)
{
    enum { TRANSPORTS = 8 };
    int nodes[DOCTOR_PAIR_RANKS] = {0};
    const int all = comm_size(comm);
    const int nranks = all < DOCTOR_PAIR_RANKS ? all : DOCTOR_PAIR_RANKS;
    struct rig rig = {.comm = comm, .backend = backend, .device = device, .rank = comm_rank(comm)};
    struct doctor_pair *built =
        calloc((size_t)DOCTOR_PAIR_RANKS * DOCTOR_PAIR_RANKS / 2 * TRANSPORTS, sizeof *built);
    *pairs = NULL;
    *npairs = 0;
    enum status status =
        built != NULL ? STATUS_OK : fail(STATUS_MEMORY, "no memory for a list of pairs");
    TRY_GOTO(status_agree(comm, status));
    TRY_GOTO(find_nodes(&rig, nodes, nranks));
    TRY_GOTO(measure_all(&rig, nodes, nranks, built, npairs));
    if (rig.rank == 0) {
        *pairs = built;
        return STATUS_OK;
    }
done:
    free(built);
    return status;
}

enum status doctor_test_device_send(MPI_Comm comm, const struct backend *backend,
                                    const struct doctor_pair *pairs, int npairs,
                                    struct doctor_facts *facts)
{
    facts->device_send =
        backend_has(backend, BACKEND_HOST_ACCESS) ? DEVICE_SEND_NOT_NEEDED : DEVICE_SEND_YES;
    if (facts->device_send == DEVICE_SEND_NOT_NEEDED) {
        return STATUS_OK;
    }
    struct rig rig = {.comm = comm, .backend = backend};
    TRY(probe(&rig)); /* cached, so the second call costs nothing */
    if (!rig.probed) {
        facts->device_send = DEVICE_SEND_NO;
        snprintf(facts->device_send_error, sizeof facts->device_send_error, "%s", rig.why_not);
    }
    for (int p = 0; p < npairs; p++) {
        const struct transport *transport = transport_find(pairs[p].transport);
        if (transport->gives_mpi_data && !pairs[p].works && facts->device_send == DEVICE_SEND_YES) {
            facts->device_send = DEVICE_SEND_NO;
            snprintf(facts->device_send_error, sizeof facts->device_send_error,
                     "ranks %d and %d: %.340s", pairs[p].a, pairs[p].b, pairs[p].why);
        }
    }
    return STATUS_OK;
}
