#include "solve/observe/self_check_faults.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/comm.h"
#include "base/log.h"
#include "machine/host.h"

void self_check_name_device(const struct stepper *stepper, int rank, char text[DEVICE_TEXT])
{
    const struct rank_facts *facts = stepper->team->rank_facts;
    if (rank < 0 || facts == NULL) {
        snprintf(text, DEVICE_TEXT, rank < 0 ? "an unknown rank" : "rank %d", rank);
        return;
    }
    snprintf(text, DEVICE_TEXT, "rank %d (%s%s%s, node %s)", rank, facts[rank].device,
             facts[rank].pci[0] != '\0' ? " " : "", facts[rank].pci, facts[rank].machine.host);
}

static void count_fault(struct self_check *check, int rank, char device[DEVICE_TEXT])
{
    struct self_check_counts *counts = &check->stepper->checked;
    check->last_rank = rank;
    counts->faults++;
    if (rank >= 0 && ++check->faults[rank] >= FAULTS_MOST) {
        counts->is_over = true;
    }
    self_check_name_device(check->stepper, rank, device);
}

enum status self_check_agree(struct self_check *check, bool *wrong, char device[DEVICE_TEXT])
{
    int rank = *wrong ? check->stepper->team->rank : -1;
    TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, &rank, 1, MPI_INT, MPI_MAX, check->stepper->team->comm));
    *wrong = rank >= 0;
    if (*wrong) {
        count_fault(check, rank, device);
    }
    return STATUS_OK;
}

/* The owned cells of a rank in which two results differ; plain bytes. */
struct difference {
    int64_t cells;
    struct box box;           /* of global cells */
    double most;              /* the largest difference in magnitude */
    int64_t cell[AXIS_COUNT]; /* global; there */
    uint64_t bits[2];
};

static uint64_t bits_of(enum precision precision, const void *values, int64_t at)
{
    uint64_t bits = 0;
    const size_t bytes = precision_bytes(precision);
    memcpy(&bits, (const char *)values + at * (int64_t)bytes, bytes); /* little-endian */
    return bits;
}

static void compare_plane(const struct field *field, const struct box *plane, void *const values[2],
                          struct difference *found)
{
    const enum precision precision = field->layout.precision;
    for (int64_t c = 0; c < box_cells(plane); c++) {
        const uint64_t bits[2] = {bits_of(precision, values[0], c),
                                  bits_of(precision, values[1], c)};
        if (bits[0] == bits[1]) {
            continue;
        }
        int64_t cell[AXIS_COUNT];
        box_cell(plane, c, cell);
        const double gap =
            fabs(precision_get(precision, values[0], c) - precision_get(precision, values[1], c));
        const double size = isfinite(gap) ? gap : DBL_MAX;
        const bool is_most = found->cells == 0 || size > found->most;
        for (int a = 0; a < AXIS_COUNT; a++) {
            const int64_t at = cell[a] + field->placement.offset[a];
            found->box.lo[a] = found->cells == 0 || at < found->box.lo[a] ? at : found->box.lo[a];
            found->box.hi[a] = at >= found->box.hi[a] ? at + 1 : found->box.hi[a];
            found->cell[a] = is_most ? at : found->cell[a];
        }
        if (is_most) {
            found->most = size;
            memcpy(found->bits, bits, sizeof bits);
        }
        found->cells++;
    }
}

static enum status find_difference(struct self_check *check, struct difference *found)
{
    struct field *field = check->stepper->level->field;
    struct box plane = layout_owned(&field->layout);
    const int64_t nz = plane.hi[AXIS_Z];
    const size_t bytes =
        (size_t)(plane.hi[AXIS_X] * plane.hi[AXIS_Y]) * precision_bytes(field->layout.precision);
    SCOPED_FREE char *values = malloc(2 * bytes);
    void *const both[2] = {values, values + bytes};
    void *d_now = field->d_now;
    enum status status = CHECK_MEMORY(values != NULL, "no memory to compare two results");
    for (int64_t k = 0; k < nz && status == STATUS_OK; k++) {
        plane.lo[AXIS_Z] = k;
        plane.hi[AXIS_Z] = k + 1;
        field->d_now = check->d_other;
        status = field_read_now(field, &plane, both[0]);
        field->d_now = d_now;
        status = status == STATUS_OK ? field_read_now(field, &plane, both[1]) : status;
        if (status == STATUS_OK) {
            compare_plane(field, &plane, both, found);
        }
    }
    field->d_now = d_now;
    return status;
}

enum status self_check_locate(struct self_check *check, const struct state *after, bool is_counted)
{
    MPI_Comm comm = check->stepper->team->comm;
    char device[DEVICE_TEXT];
    struct difference found = {.cells = 0};
    TRY(status_agree(comm, find_difference(check, &found)));
    struct {
        double size;
        int rank;
    } most = {found.cells > 0 ? found.most : -1, check->stepper->team->rank};
    TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_DOUBLE_INT, MPI_MAXLOC, comm));
    TRY_MPI(MPI_Bcast(&found, (int)sizeof found, MPI_BYTE, most.rank, comm));
    most.rank = most.size >= 0 ? most.rank : -1;
    if (is_counted) {
        self_check_name_device(check->stepper, most.rank, device);
    } else {
        count_fault(check, most.rank, device);
    }
    if (most.rank < 0) {
        if (!is_counted) {
            log_warn("self check: steps %" PRId64 " to %" PRId64
                     " gave the same field twice, but two sums of the heat ledger",
                     check->start.step, after->step);
        }
        return STATUS_OK;
    }
    log_warn("self check: steps %" PRId64 " to %" PRId64 " (t = %.6g s) gave two results on %s: "
             "%" PRId64 " cells from (%" PRId64 ", %" PRId64 ", %" PRId64 ") to (%" PRId64
             ", %" PRId64 ", %" PRId64 ") differ, cell (%" PRId64 ", %" PRId64 ", %" PRId64
             ") most: 0x%" PRIx64 " and 0x%" PRIx64,
             check->start.step, after->step, after->time, device, found.cells, found.box.lo[0],
             found.box.lo[1], found.box.lo[2], found.box.hi[0] - 1, found.box.hi[1] - 1,
             found.box.hi[2] - 1, found.cell[0], found.cell[1], found.cell[2], found.bits[0],
             found.bits[1]);
    return STATUS_OK;
}
