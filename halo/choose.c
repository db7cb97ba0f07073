#include "halo/choose.h"

#include <stdio.h>
#include <string.h>

#include "base/comm.h"
#include "base/log.h"
#include "halo/probe.h"

static const char *const where[NEARNESS_COUNT] = {"on the node", "between nodes"};

/* Probe, verify and time one transport, for the neighbours of one nearness. */
static enum status try_transport(const struct trial_question *question,
                                 const struct transport *transport, enum nearness nearness,
                                 struct choice *choice, const struct halo_trial **result)
{
    struct halo_trial *trial = &choice->trials[choice->ntrials++];
    *trial = (struct halo_trial){.transport = transport->name, .on_node = nearness == ON_NODE};
    *result = trial;
    SCOPED_BY(comm_free) MPI_Comm comm = MPI_COMM_NULL;
    /* the next trial must not receive messages of one that failed */
    TRY_MPI(MPI_Comm_dup(question->site->comm, &comm));
    TRY_MPI(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    if (transport->gives_mpi_data) { /* before any rank passes device memory to MPI */
        TRY(halo_probe(comm, question->site->backend, question->trusted, trial->why,
                       sizeof trial->why));
    }
    return trial->why[0] != '\0' ? STATUS_OK
                                 : trial_run(question, comm, transport, nearness, trial);
}

/* ---- requested by name ----------------------------------------------------------------------- */

static enum status find_transport(const char *name, const struct transport **transport)
{
    char names[128] = "auto";
    *transport = transport_find(name);
    if (*transport != NULL) {
        return STATUS_OK;
    }
    for (int n = 0; transports[n] != NULL; n++) {
        text_add(names, sizeof names, ", ", "%s", transports[n]->name);
    }
    return fail(STATUS_INPUT, "there is no halo transport \"%s\"; choose one of: %s", name, names);
}

static enum status prove_wanted(const struct trial_question *question,
                                const struct transport *transport, enum nearness nearness,
                                struct choice *choice)
{
    const struct halo_trial *trial;
    TRY(try_transport(question, transport, nearness, choice, &trial));
    return trial->works
               ? STATUS_OK
               : status_agree(question->site->comm,
                              fail(STATUS_DEVICE,
                                   "the halo transport \"%s\" does not work here: %s. \"auto\" "
                                   "chooses one that does",
                                   transport->name, trial->why));
}

static enum status take_wanted(const struct trial_question *question,
                               const struct halo_options *options, struct choice *choice)
{
    const struct transport *near;
    const struct transport *far;
    TRY(find_transport(options->transport, &near));
    TRY(find_transport(options->off_node != NULL ? options->off_node : options->transport, &far));
    const struct transport *const wanted[NEARNESS_COUNT] = {near, far};
    snprintf(choice->reason, sizeof choice->reason, "requested; %s", near->about);
    for (int n = 0; n < NEARNESS_COUNT; n++) {
        if (!question->neighbourhoods[n].exists) {
            continue;
        }
        TRY(status_agree(question->site->comm,
                         transport_supports(wanted[n], question->site->backend)));
        if (wanted[n]->on_node_only && n == OFF_NODE) {
            return status_agree(
                question->site->comm,
                fail(STATUS_DEVICE,
                     "the halo transport \"%s\" works within a node only, and some neighbours are "
                     "on other nodes; \"auto\" uses it where possible",
                     wanted[n]->name));
        }
        if (!options->unproved) {
            TRY(prove_wanted(question, wanted[n], (enum nearness)n, choice));
        }
        choice->transport[n] = wanted[n];
    }
    return STATUS_OK;
}

/* ---- auto ------------------------------------------------------------------------------------ */

static bool is_candidate(const struct transport *transport, const struct backend *backend,
                         enum nearness nearness)
{
    const bool same_as_host =
        transport->gives_mpi_data && backend_has(backend, BACKEND_HOST_ACCESS);
    if (same_as_host || (transport->on_node_only && nearness == OFF_NODE)) {
        return false;
    }
    if (transport_supports(transport, backend) != STATUS_OK) {
        fail_clear();
        return false;
    }
    return true;
}

static void explain(const struct choice *choice, int first, enum nearness nearness,
                    const struct transport *best, char *text, size_t text_bytes)
{
    text_add(text, text_bytes, "; ", "%s %s:", best->name, where[nearness]);
    for (int n = first; n < choice->ntrials; n++) {
        const struct halo_trial *trial = &choice->trials[n];
        const char *before = n == first ? " " : ", ";
        text_add(text, text_bytes, before, trial->works ? "%s %.1f us" : "%s does not work",
                 trial->transport, 1e6 * trial->seconds);
    }
    text_add(text, text_bytes, "", " per exchange");
}

/* Staging device memory through the host is slow. */
static void warn_of_staging(const struct choice *choice, int first, enum nearness nearness,
                            const struct transport *best)
{
    for (int n = first; n < choice->ntrials; n++) {
        const struct halo_trial *trial = &choice->trials[n];
        if (best == &transport_staged && !trial->works) {
            log_warn("halos go through host memory %s (staged): %s does not work here: %s",
                     where[nearness], trial->transport, trial->why);
        }
    }
}

static enum status take_fastest(const struct trial_question *question, enum nearness nearness,
                                struct choice *choice)
{
    const int first = choice->ntrials;
    const struct transport *best = NULL;
    double best_seconds = 0;
    for (int n = 0; transports[n] != NULL; n++) {
        const struct halo_trial *trial;
        if (!is_candidate(transports[n], question->site->backend, nearness)) {
            continue;
        }
        TRY(try_transport(question, transports[n], nearness, choice, &trial));
        if (trial->works && (best == NULL || trial->seconds < best_seconds)) {
            best = transports[n];
            best_seconds = trial->seconds;
        }
    }
    if (best == NULL) {
        const struct halo_trial *last = &choice->trials[choice->ntrials - 1];
        return status_agree(question->site->comm,
                            fail(STATUS_DEVICE, "no halo transport works %s; %s: %s",
                                 where[nearness], last->transport, last->why));
    }
    choice->transport[nearness] = best;
    explain(choice, first, nearness, best, choice->reason, sizeof choice->reason);
    warn_of_staging(choice, first, nearness, best);
    return STATUS_OK;
}

enum status choose_transports(const struct transport_site *site,
                              const struct neighbourhood neighbourhoods[NEARNESS_COUNT],
                              enum precision precision, const struct halo_options *options,
                              struct choice *choice)
{
    const bool by_name = strcmp(options->transport, "auto") != 0;
    const struct trial_question question = {site, neighbourhoods, precision, by_name, false};
    *choice = (struct choice){.ntrials = 0};
    if (by_name) {
        return take_wanted(&question, options, choice);
    }
    for (int n = 0; n < NEARNESS_COUNT; n++) {
        if (neighbourhoods[n].exists) {
            TRY(take_fastest(&question, (enum nearness)n, choice));
        }
    }
    return STATUS_OK;
}

const char *halo_transport_at(int index)
{
    return transports[index] != NULL ? transports[index]->name : NULL;
}

enum status halo_time_pairs(MPI_Comm comm, const struct backend *backend, struct device *device,
                            const char *name, size_t bytes, bool trusted, struct halo_trial *trial)
{
    const struct transport_site site = {.comm = comm, .backend = backend, .device = device};
    const struct transport *transport = transport_find(name);
    const int rank = comm_rank(comm);
    const int partner = (rank ^ 1) < comm_size(comm) ? (rank ^ 1) : rank;
    const struct transport_channel channel = {.peer = partner, .bytes = bytes};
    const struct neighbourhood pair = {.channels = {channel}, .nchannels = 1, .exists = true};
    const struct neighbourhood all[NEARNESS_COUNT] = {pair};
    const struct trial_question question = {&site, all, PRECISION_FLOAT64, trusted, true};
    struct choice choice = {.ntrials = 0};
    const struct halo_trial *result;
    FAIL_IF(transport == NULL, fail(STATUS_INPUT, "there is no halo transport \"%s\"", name));
    TRY(transport_supports(transport, backend));
    TRY(try_transport(&question, transport, ON_NODE, &choice, &result));
    *trial = *result;
    return STATUS_OK;
}
