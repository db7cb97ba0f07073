/* `initial: file`: the temperature from any HDF5 file. Every rank opens it through the plain
 * driver, which supports all filters. */
#include "io/input/field_file.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/comm.h"
#include "base/file.h"
#include "io/hdf5/h5.h"
#include "io/hdf5/h5_field.h"
#include "io/input/labels.h"
#include "io/raw/h5_raw.h"
#include "model/field/quantity.h"
#include "model/space/regrid.h"

static const double LIMIT_K = 1e12; /* within the range of exact sums */

/* What rank 0 finds. */
struct found {
    struct h5_place place;
    int64_t cells[AXIS_COUNT];
};

static void shape_text(const hsize_t *shape, int rank, char *text, size_t bytes)
{
    snprintf(text, bytes, "(");
    for (int d = 0; d < rank; d++) {
        text_add(text, bytes, d > 0 ? ", " : "", "%llu", (unsigned long long)shape[d]);
    }
    text_add(text, bytes, "", ")");
}

/* Only Isotherm's own files say where they lie: checkpoints on the dataset, snapshots on the file.
 */
static enum status check_domain(hid_t file, hid_t dataset, const struct found *found,
                                const struct grid *grid)
{
    const double tolerance = 1e-9; /* of the length: rounding errors */
    double lower[AXIS_COUNT];
    double upper[AXIS_COUNT];
    if (!h5_get_corners(dataset, lower, upper) && !h5_get_corners(file, lower, upper)) {
        return STATUS_OK;
    }
    for (int a = 0; a < AXIS_COUNT; a++) {
        const double most = tolerance * (grid->upper[a] - grid->lower[a]);
        const bool used = found->cells[a] > 1 || grid->used[a];
        FAIL_IF(used && (!(fabs(lower[a] - grid->lower[a]) <= most) ||
                         !(fabs(upper[a] - grid->upper[a]) <= most)),
                fail(STATUS_INPUT,
                     "the dataset %s of %s covers %.9g to %.9g m in %s, the grid %.9g to %.9g "
                     "m; `interpolate` needs the same domain",
                     found->place.name, found->place.path, lower[a], upper[a],
                     axis_name((enum axis)a), grid->lower[a], grid->upper[a]));
    }
    return STATUS_OK;
}

static enum status check_shape(hid_t file, hid_t dataset, const struct shape_setting *source,
                               const struct grid *grid, struct found *found)
{
    char text[256];
    const struct h5_form form = h5_form(dataset);
    const bool usable = form.usable;
    FAIL_IF(form.class != H5T_FLOAT && form.class != H5T_INTEGER,
            fail(STATUS_INPUT, "the dataset %s of %s does not hold numbers", found->place.name,
                 found->place.path));
    memcpy(found->cells, form.cells, sizeof found->cells);
    shape_text(form.shape, form.rank < 0 ? 0 : form.rank, text, sizeof text);
    const bool same = usable && memcmp(found->cells, grid->cells, sizeof found->cells) == 0;
    const bool graded = h5_has_edges(dataset) || h5_has_edges(file) || grid_is_graded(grid);
    if (same && !(graded && source->interpolate == TRUTH_YES)) {
        return STATUS_OK;
    }
    if (usable && source->interpolate == TRUTH_YES) {
        struct regrid regrid;
        TRY(check_domain(file, dataset, found, grid));
        return regrid_create(found->cells, grid->cells, &regrid);
    }
    return fail(STATUS_INPUT,
                "the dataset %s of %s has the shape %s; the grid needs (nz, ny, nx) = (%" PRId64
                ", %" PRId64 ", %" PRId64 ")%s",
                found->place.name, found->place.path, text, grid->cells[AXIS_Z],
                grid->cells[AXIS_Y], grid->cells[AXIS_X],
                usable && !source->is_condition && !source->is_factor /* of `initial` */
                    ? "; `interpolate: true` converts it"
                    : "");
}

/* `may_miss`: NaN is a missing value. */
static enum status check_values(const struct box *global, enum precision precision, bool may_miss,
                                const void *values, const char *path, const char *name)
{
    const int64_t cells = box_cells(global);
    for (int64_t c = 0; c < cells; c++) {
        int64_t at[AXIS_COUNT];
        const double value = precision_get(precision, values, c);
        if (!(fabs(value) < LIMIT_K) && !(may_miss && isnan(value))) {
            box_cell(global, c, at);
            return fail(STATUS_INPUT,
                        "the dataset %s of %s holds %g at [z][y][x] = [%" PRId64 "][%" PRId64
                        "][%" PRId64 "]; temperatures must be numbers below 1e12 K",
                        name, path, value, at[AXIS_Z], at[AXIS_Y], at[AXIS_X]);
        }
    }
    return STATUS_OK;
}

/* What all pieces of a read need. */
struct reading {
    const struct found *found;
    const struct grid *grid;
    struct regrid regrid;
    struct axis_cells graded[AXIS_COUNT]; /* of the file: edges */
    double *edges[2][AXIS_COUNT];         /* what `regrid` borrows: of the file, and of the grid */
    bool interpolates;
    bool same;     /* the dataset has the cells of the field */
    bool may_miss; /* it marks missing values, as snapshots do those of ambients */
    struct field *field;
    hid_t dataset;
};

static enum status read_checked(const struct reading *r, const struct box *box,
                                enum precision precision, void *values)
{
    const struct h5_place *place = &r->found->place;
    TRY(fail_prefix(h5_read_box(r->dataset, box, precision, false, values),
                    "the dataset %s of %s: ", place->name, place->path));
    return check_values(box, precision, r->may_miss, values, place->path, place->name);
}

/* Cells without a value keep what they have. */
static enum status write_found(const struct reading *r, const struct box *local, void *values)
{
    const enum precision precision = r->field->layout.precision;
    const int64_t count = box_cells(local);
    if (r->may_miss) {
        SCOPED_FREE void *before = malloc((size_t)count * precision_bytes(precision));
        TRY(CHECK_MEMORY(before != NULL, "no memory to read %s", r->found->place.path));
        TRY(field_read_now(r->field, local, before));
        for (int64_t c = 0; c < count; c++) {
            if (isnan(precision_get(precision, values, c))) {
                precision_set(precision, values, c, precision_get(precision, before, c));
            }
        }
    }
    return field_write(r->field, local, values);
}

/* In place: doubles to the field's precision. */
static void narrow(double *values, int64_t count, enum precision precision)
{
    for (int64_t c = 0; precision == PRECISION_FLOAT32 && c < count; c++) {
        const float value = (float)values[c];
        memcpy((char *)values + (size_t)c * sizeof value, &value, sizeof value);
    }
}

static enum status read_piece(const struct reading *r, const struct box *local)
{
    const enum precision precision = r->field->layout.precision;
    const struct box global = box_shift(local, r->field->placement.offset);
    const struct box source = r->same ? global : regrid_source(&r->regrid, &global);
    const size_t cells = (size_t)regrid_buffer_cells(&source, &global);
    SCOPED_FREE double *old = malloc(cells * sizeof *old);
    SCOPED_FREE double *new = malloc(r->same ? 1 : cells * sizeof *new);
    TRY(CHECK_MEMORY(old != NULL && new != NULL, "no memory to read %s", r->found->place.path));
    TRY(read_checked(r, &source, r->same ? precision : PRECISION_FLOAT64, old));
    if (r->same) {
        return write_found(r, local, old);
    }
    regrid_fill(&r->regrid, &source, &global, old, new);
    narrow(new, box_cells(&global), precision);
    return write_found(r, local, new);
}

/* Of a piece in new cells, such that neither they nor the old ones need more memory. */
static int64_t piece_cells(const struct reading *r)
{
    const enum precision precision = r->field->layout.precision;
    double ratio = (double)(r->same ? precision_bytes(precision) : sizeof(double));
    for (int a = 0; a < AXIS_COUNT; a++) {
        ratio *= fmax(1, (double)r->regrid.old[a] / (double)r->regrid.new[a]);
    }
    return (int64_t)fmax(1, H5_FIELD_PIECE_BYTES / ratio);
}

/* So that a flux, a time or degrees Celsius are not read as kelvins. The names are UDUNITS'. */
static enum status check_units(hid_t dataset, const char *path, const char *name)
{
    static const char *const kelvins[] = {"",     "K",       "kelvin",   "kelvins",       "Kelvin",
                                          "degK", "degreeK", "degree_K", "degree_Kelvin", "deg_K"};
    const struct quantity_setting *quantity = quantity_used();
    char units[64] = "";
    if (H5Aexists(dataset, "units") > 0 &&
        h5_get_string(dataset, "units", units, sizeof units) != STATUS_OK) {
        fail_clear(); /* not a string */
        units[0] = '\0';
    }
    if (strcmp(units, quantity->unit) == 0) {
        return STATUS_OK;
    }
    for (size_t i = 0; i < (quantity->given ? 1 : sizeof kelvins / sizeof kelvins[0]); i++) {
        if (strcmp(units, kelvins[i]) == 0) {
            return STATUS_OK;
        }
    }
    return fail(STATUS_INPUT, "the dataset %s of %s has the units \"%s\"; %ss in %s are needed",
                name, path, units, quantity->name, quantity->unit);
}

static bool has_missing(hid_t dataset)
{
    double fill = 0;
    if (H5Aexists(dataset, "_FillValue") > 0 &&
        h5_get_double(dataset, "_FillValue", &fill, 0) != STATUS_OK) {
        fail_clear(); /* not a number */
    }
    return isnan(fill);
}

/* Where an axis is graded, in the file or here: the edges of both. Along a radius the volumes up to
 * them take their place, so that means are those over the volumes of rings and shells. */
static enum status set_edges(hid_t file, struct reading *r)
{
    const struct grid *grid = r->grid;
    TRY(h5_read_edges(r->dataset, r->found->cells, r->graded));
    TRY(h5_read_edges(file, r->found->cells, r->graded));
    for (int a = 0; a < AXIS_COUNT; a++) {
        const double *given[2] = {r->graded[a].edges, grid->graded[a].edges};
        const bool is_radius = a == AXIS_X && grid->geometry != GEOMETRY_CARTESIAN;
        for (int of = 0; of < 2 && (given[0] != NULL || given[1] != NULL); of++) {
            const int64_t n = of == 0 ? r->found->cells[a] : grid->cells[a];
            double *edges = malloc(((size_t)n + 1) * sizeof *edges);
            r->edges[of][a] = edges;
            TRY(CHECK_MEMORY(edges != NULL, "no memory for the edges of cells"));
            for (int64_t i = 0; i <= n; i++) {
                const double share = (double)i / (double)n;
                const double at = given[of] != NULL
                                      ? given[of][i]
                                      : fma(share, grid->upper[a] - grid->lower[a], grid->lower[a]);
                edges[i] = !is_radius                             ? at
                           : grid->geometry == GEOMETRY_SPHERICAL ? at * at * at
                                                                  : at * at;
            }
        }
        r->regrid.old_edges[a] = r->edges[0][a];
        r->regrid.new_edges[a] = r->edges[1][a];
    }
    return STATUS_OK;
}

static void free_edges(struct reading *r)
{
    h5_free_edges(r->graded);
    for (int a = 0; a < AXIS_COUNT; a++) {
        free(r->edges[0][a]);
        free(r->edges[1][a]);
    }
}

static enum status read_mine(struct reading *r)
{
    struct h5_place place = r->found->place;
    const struct box owned = layout_owned(&r->field->layout);
    SCOPED_H5_FILE hid_t file = H5I_INVALID_HID;
    TRY(h5_open_place(&place, &file, &r->dataset));
    r->may_miss = has_missing(r->dataset);
    if (r->interpolates) { /* also between as many cells of other widths */
        TRY(set_edges(file, r));
        for (int a = 0; a < AXIS_COUNT; a++) {
            r->same = r->same && r->regrid.old_edges[a] == NULL;
        }
    }
    for (struct box piece = box_before(&owned); box_next(&owned, piece_cells(r), &piece);) {
        TRY(read_piece(r, &piece));
    }
    return STATUS_OK;
}

/* The number of the state nearest to `time`, which must be the one meant. */
static enum status choose(const char *path, const double *times, int64_t count, double time,
                          int64_t *chosen)
{
    const double tolerance = 1e-6; /* a time may be typed with seven digits */
    *chosen = 0;
    for (int64_t n = 1; n < count; n++) {
        *chosen = fabs(times[n] - time) < fabs(times[*chosen] - time) ? n : *chosen;
    }
    if (count > 0 && fabs(times[*chosen] - time) <= tolerance * time) {
        return STATUS_OK;
    }
    char nearest[64] = "";
    if (count > 0) {
        snprintf(nearest, sizeof nearest, "; the nearest is at t = %.9g s", times[*chosen]);
    }
    return fail(STATUS_INPUT, "%s has no state at t = %.9g s%s", path, time, nearest);
}

static enum status find_state(hid_t file, const struct shape_setting *source, int64_t *number)
{
    SCOPED_FREE void *times = NULL;
    SCOPED_FREE void *steps = NULL;
    int64_t ntimes = 0;
    int64_t nsteps = 0;
    FAIL_IF(H5Lexists(file, "/snap", H5P_DEFAULT) <= 0,
            fail(STATUS_INPUT, "%s is not a series of snapshots; leave out `time`", source->path));
    TRY(h5_get_list(file, "/steps", H5T_NATIVE_INT64, sizeof(int64_t), &steps, &nsteps));
    TRY(h5_get_list(file, "/VTKHDF/Steps/Values", H5T_NATIVE_DOUBLE, sizeof(double), &times,
                    &ntimes));
    return choose(source->path, times, nsteps < ntimes ? nsteps : ntimes, source->time, number);
}

static enum status set_place(const struct shape_setting *source, struct h5_place *place)
{
    SCOPED_H5_FILE hid_t file = H5I_INVALID_HID;
    int64_t number = 0;
    char name[H5_NAME_BYTES];
    if (!source->has_time) {
        return h5_place_set(source->path, source->dataset, place);
    }
    TRY(h5_open_plain(source->path, false, &file));
    TRY(find_state(file, source, &number));
    TRY(path_print(name, sizeof name, "/snap/%" PRId64 "/%s", number, source->dataset));
    return h5_place_set(source->path, name, place);
}

/* Find the dataset and check that it fits. */
static enum status find(const struct shape_setting *source, const struct grid *grid,
                        struct found *found)
{
    SCOPED_H5_FILE hid_t file = H5I_INVALID_HID;
    hid_t dataset = H5I_INVALID_HID;
    struct h5_place *place = &found->place;
    memset(found, 0, sizeof *found);
    TRY(set_place(source, place));
    TRY(h5_open_place(place, &file, &dataset));
    TRY(check_shape(file, dataset, source, grid, found));
    return check_units(dataset, place->path, place->name);
}

enum status field_file_check(const struct shape_setting *source, const struct grid *grid)
{
    struct found found;
    h5_init();
    return find(source, grid, &found);
}

enum status field_file_read(MPI_Comm comm, const struct shape_setting *source, struct field *field,
                            const struct grid *grid)
{
    struct found found;
    SCOPED_BY(free_edges) struct reading r = {.found = &found, .field = field, .grid = grid};
    h5_init();
    const bool first = comm_rank(comm) == 0;
    TRY(status_agree(comm, first ? find(source, grid, &found) : STATUS_OK));
    TRY_MPI(MPI_Bcast(&found, (int)sizeof found, MPI_BYTE, 0, comm));
    TRY(h5_raw_check(comm, found.place.path, found.place.name, NULL));
    r.same = memcmp(found.cells, grid->cells, sizeof found.cells) == 0;
    r.interpolates = source->interpolate == TRUTH_YES;
    TRY(regrid_create(found.cells, grid->cells, &r.regrid));
    return status_agree(comm, read_mine(&r));
}

enum status field_file_read_box(const struct shape_setting *source, const struct grid *grid,
                                const struct box *box, float *values)
{
    struct found found = {0};
    const struct h5_place *place = &found.place;
    SCOPED_H5_FILE hid_t file = H5I_INVALID_HID;
    hid_t dataset = H5I_INVALID_HID;
    if (path_ends_in(source->path, ".npy")) {
        return labels_read_npy(source->path, source->names[0] == NULL, grid, box, values);
    }
    if (path_ends_in(source->path, ".tif") || path_ends_in(source->path, ".tiff")) {
        return labels_read_tiff(source->path, grid, box, values);
    }
    if (path_ends_in(source->path, ".nii") || path_ends_in(source->path, ".nii.gz")) {
        return labels_read_nifti(source->path, source->names[0] == NULL, grid, box, values);
    }
    h5_init();
    TRY(h5_place_set(source->path, source->dataset, &found.place));
    TRY(h5_open_place(&found.place, &file, &dataset));
    TRY(check_shape(file, dataset, source, grid, &found));
    return fail_prefix(h5_read_box(dataset, box, PRECISION_FLOAT32, false, values),
                       "the dataset %s of %s: ", place->name, place->path);
}
