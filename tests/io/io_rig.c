#include "io_rig.h"

#include <errno.h>
#include <ftw.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "io/input/field_file.h"
#include "kernels/backends.h"
#include "kernels/cell/heat_cell.h"
#include "model/field/derived.h"
#include "tests/io/checkpoint_both.h"

char rig_folder[PATH_BYTES];

void must_at(enum status status, const char *call, const char *file, int line)
{
    if (status != STATUS_OK) {
        print_error("%s:%d: %s: %s\n", file, line, call, fail_message());
    }
    _assert_int_equal((LargestIntegralType)status, (LargestIntegralType)STATUS_OK, file, line);
}

void must_fail_at(enum status code, const char *text, enum status status, const char *call,
                  const char *file, int line)
{
    const bool says = strstr(fail_message(), text) != NULL;
    if (status != code || !says) {
        print_error("%s:%d: %s gave %d with \"%s\"; expected %d with \"%s\"\n", file, line, call,
                    (int)status, fail_message(), (int)code, text);
    }
    _assert_int_equal((LargestIntegralType)status, (LargestIntegralType)code, file, line);
    _assert_true((LargestIntegralType)says, "message", file, line);
}

static void make_grid(const int64_t cells[AXIS_COUNT], struct grid *grid)
{
    *grid = (struct grid){0};
    for (int a = 0; a < AXIS_COUNT; a++) {
        grid->cells[a] = cells[a];
        grid->used[a] = cells[a] > 1;
        grid->dimensions += cells[a] > 1;
        grid->lower[a] = 0.25 * a - 1;
        grid->spacing[a] = 0.5 / (a + 1);
        grid->upper[a] = grid->lower[a] + grid->spacing[a] * (double)cells[a];
    }
}

void rig_grade(struct grid *grid)
{
    static double edges[AXIS_COUNT][64];
    for (int a = 0; a < AXIS_COUNT; a += AXIS_Z) {
        for (int64_t i = 0; i <= grid->cells[a]; i++) {
            const int64_t wide = i / 3;
            edges[a][i] = grid->lower[a] + grid->spacing[a] * (double)(i + wide);
        }
        grid->upper[a] = edges[a][grid->cells[a]];
        grid->graded[a].edges = edges[a];
    }
}

void rig_open(struct rig *rig, int nranks, const int64_t cells[AXIS_COUNT],
              enum precision precision, const char *backend)
{
    const bool in = comm_rank(MPI_COMM_WORLD) < nranks;
    const bool periodic[AXIS_COUNT] = {false, true, false};
    *rig = (struct rig){.comm = MPI_COMM_NULL};
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, in ? 0 : MPI_UNDEFINED, 0, &comm);
    if (!in) {
        return;
    }
    rig->comm = comm;
    make_grid(cells, &rig->grid);
    rig->material =
        (struct medium){.conductivity = 2.5, .heat_capacity_volume = 4.0, .diffusivity = 2.5 / 4.0};
    rig->backend = backend_find(backend);
    assert_non_null(rig->backend);
    must(rig->backend->runtime->open(0, 1, &rig->device));
    must(rig->backend->runtime->queue_create(rig->device, QUEUE_NORMAL, &rig->queue));
    must(decomp_create(cells, periodic, nranks, 1, NULL, &rig->decomp));
    must(field_create(rig->backend, rig->device, rig->queue, &rig->decomp, comm_rank(comm),
                      precision, &rig->field));
}

void rig_close(struct rig *rig)
{
    if (!rig_has(rig)) {
        return;
    }
    field_destroy(rig->field);
    rig->backend->runtime->queue_destroy(rig->queue);
    rig->backend->runtime->close(rig->device);
    MPI_Comm_free(&rig->comm);
}

double rig_rough(int64_t index, int seed)
{
    const uint64_t bits = heat_mix64((uint64_t)index + 1000003U * (uint64_t)seed);
    return 250 + 500 * ((double)(bits >> 11) * 0x1p-53);
}

double rig_plain(int64_t i, int64_t j, int64_t k, int seed)
{
    return 300 + 0.25 * (double)((i + 3 * j + 7 * k + 11 * seed) % 64);
}

static void put(const struct field *field, void *values, int64_t at, double value)
{
    if (field->layout.precision == PRECISION_FLOAT64) {
        ((double *)values)[at] = value;
    } else {
        ((float *)values)[at] = (float)value;
    }
}

/* The whole block as rig_fill_* would have it (free). */
static void *make_values(const struct rig *rig, int seed, bool rough)
{
    const struct field *field = rig->field;
    const int64_t *n = field->layout.cells;
    const int64_t *first = field->placement.offset;
    const int64_t *global = rig->grid.cells;
    const size_t cells = (size_t)(n[0] * n[1] * n[2]);
    void *values = malloc(cells * precision_bytes(field->layout.precision));
    assert_non_null(values);
    int64_t at = 0;
    for (int64_t k = first[AXIS_Z]; k < first[AXIS_Z] + n[AXIS_Z]; k++) {
        for (int64_t j = first[AXIS_Y]; j < first[AXIS_Y] + n[AXIS_Y]; j++) {
            for (int64_t i = first[AXIS_X]; i < first[AXIS_X] + n[AXIS_X]; i++, at++) {
                const int64_t index = (k * global[AXIS_Y] + j) * global[AXIS_X] + i;
                put(field, values, at, rough ? rig_rough(index, seed) : rig_plain(i, j, k, seed));
            }
        }
    }
    return values;
}

static void fill(struct rig *rig, int seed, bool rough)
{
    if (!rig_has(rig)) {
        return;
    }
    const struct box owned = layout_owned(&rig->field->layout);
    void *values = make_values(rig, seed, rough);
    const enum status status = field_write(rig->field, &owned, values);
    free(values);
    must(status);
}

void rig_fill_rough(struct rig *rig, int seed)
{
    fill(rig, seed, true);
}

void rig_fill_plain(struct rig *rig, int seed)
{
    fill(rig, seed, false);
}

void rig_expect_rough(struct rig *rig, int seed)
{
    if (!rig_has(rig)) {
        return;
    }
    const struct box owned = layout_owned(&rig->field->layout);
    const size_t bytes = (size_t)box_cells(&owned) * precision_bytes(rig->field->layout.precision);
    void *values = make_values(rig, seed, true);
    void *found = malloc(bytes);
    assert_non_null(found);
    const enum status status = field_read(rig->field, &owned, found);
    const int different = memcmp(values, found, bytes);
    free(found);
    free(values);
    must(status);
    assert_int_equal(different, 0);
}

void rig_fill_derived(struct rig *rig, int seed)
{
    const struct derived *derived = rig->field->derived;
    const struct layout *layout = &derived->layout;
    const int64_t *first = rig->field->placement.offset;
    double *values = calloc((size_t)layout->elements, sizeof *values);
    assert_non_null(values);
    for (int kind = 0; kind < DERIVED_COUNT; kind++) {
        if (!derived_wants(derived->mask, kind)) {
            continue;
        }
        for (int64_t k = 0; k < layout->cells[AXIS_Z]; k++) {
            for (int64_t j = 0; j < layout->cells[AXIS_Y]; j++) {
                for (int64_t i = 0; i < layout->cells[AXIS_X]; i++) {
                    const double value = rig_plain(first[AXIS_X] + i, first[AXIS_Y] + j,
                                                   first[AXIS_Z] + k, seed + 1 + kind);
                    values[layout_index(layout, i, j, k)] =
                        kind == DERIVED_FLUX ? value * value : value;
                }
            }
        }
        must(rig->backend->runtime->copy_to_device(rig->queue, derived->d_values[kind], values,
                                                   layout_bytes(layout)));
        must(rig->backend->runtime->queue_wait(rig->queue));
    }
    free(values);
}

uint64_t rig_hash(struct rig *rig)
{
    struct field *field = rig->field;
    uint64_t mine = 0;
    uint64_t all = 0;
    must(ENQUEUE(field->backend->operations, hash, field->queue, .layout = field->layout,
                 .placement = field->placement, .d_field = field->d_now, .h_hash = &mine));
    must(field->backend->runtime->queue_wait(field->queue));
    MPI_Allreduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, rig->comm);
    return all;
}

struct checkpoint_state rig_state(struct rig *rig, int64_t step)
{
    struct checkpoint_state state;
    memset(&state, 0, sizeof state);
    state.step = step;
    state.time = (double)step / 3.0;
    state.field_hash = rig_hash(rig);
    for (int d = 0; d < 4; d++) {
        state.ledger.start.digit[d] = step * 17 + d - 2;
        for (int f = 0; f < FACE_COUNT; f++) {
            state.ledger.face_sum[f].digit[d] = (INT64_C(1) << 60) / (step + f + d + 1);
            state.ledger.b_sum[f].digit[d] = -(step * 1000 + f * 10 + d);
        }
    }
    state.ledger.booked_J = -1.0 / (double)(step + 7);
    return state;
}

void rig_write_checkpoint(struct rig *rig, const char *directory, int64_t step, int keep)
{
    rig_fill_rough(rig, (int)step);
    if (rig_has(rig)) {
        const struct checkpoint_state state = rig_state(rig, step);
        must(checkpoint_write(rig->comm, directory, rig->field, &rig->grid, &rig->material, &state,
                              "title: of the test\n", keep));
    }
}

static struct checkpoint_reader reader_of(const struct rig *rig)
{
    return (struct checkpoint_reader){
        .comm = rig->comm, .field = rig->field, .grid = &rig->grid, .material = &rig->material};
}

enum status rig_read(struct rig *rig, const char *path, struct checkpoint_state *state)
{
    const struct checkpoint_reader reader = reader_of(rig);
    return checkpoint_read(&reader, path, state);
}

enum status rig_read_newest(struct rig *rig, const char *directory, struct checkpoint_state *state,
                            bool *found, char *path)
{
    const struct checkpoint_reader reader = reader_of(rig);
    return checkpoint_read_newest(&reader, directory, state, found, path);
}

static int remove_entry(const char *path, const struct stat *found, int kind, struct FTW *where)
{
    (void)found;
    (void)kind;
    (void)where;
    return remove(path);
}

enum status read_file(struct rig *rig, const char *path, const char *dataset)
{
    const struct shape_setting source = {.path = (char *)path, .dataset = (char *)dataset};
    return field_file_read(rig->comm, &source, rig->field, &rig->grid);
}

void folder_remove(const char *path)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (comm_rank(MPI_COMM_WORLD) == 0 && file_exists(path)) {
        nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

void folder_make_empty(const char *path)
{
    folder_remove(path);
    must(status_agree(MPI_COMM_WORLD,
                      comm_rank(MPI_COMM_WORLD) == 0 ? directory_make(path) : STATUS_OK));
}

int rig_begin(void **state)
{
    (void)state;
    const int size = comm_size(MPI_COMM_WORLD);
    log_init(comm_rank(MPI_COMM_WORLD), size);
    snprintf(rig_folder, sizeof rig_folder, "%s.np%d", program_invocation_short_name, size);
    folder_make_empty(rig_folder);
    return 0;
}

void rig_limit_file_size(rlim_t bytes)
{
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = bytes == RLIM_INFINITY ? limit.rlim_max : bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
}
