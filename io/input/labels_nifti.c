#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nifti1_io.h>

#include "base/file.h"
#include "base/log.h"
#include "io/input/labels.h"

static void close_file(znzFile *file)
{
    if (!znz_isnull(*file)) {
        znzclose(*file);
    }
}

static void free_image(nifti_image **image)
{
    nifti_image_free(*image);
}

/* Degrees: above this there is a warning. */
static const double TILT_MOST = 1;

/* The kind of number in NumPy's letters, '\0': none. */
static char letter_of(int datatype)
{
    switch (datatype) {
    case NIFTI_TYPE_UINT8:
    case NIFTI_TYPE_UINT16:
    case NIFTI_TYPE_UINT32:
    case NIFTI_TYPE_UINT64:
        return 'u';
    case NIFTI_TYPE_INT8:
    case NIFTI_TYPE_INT16:
    case NIFTI_TYPE_INT32:
    case NIFTI_TYPE_INT64:
        return 'i';
    case NIFTI_TYPE_FLOAT32:
    case NIFTI_TYPE_FLOAT64:
        return 'f';
    default:
        return '\0';
    }
}

/* Of each axis of the file the axis of the grid that is nearest, and whether it runs downwards.
 * NIfTI has x to the right, y to the front and z to the top of a person. */
struct orientation {
    const char *form; /* of the header; NULL: the axes of the file are those of the grid */
    enum axis axis[AXIS_COUNT];
    bool reversed[AXIS_COUNT];
    double length[AXIS_COUNT]; /* of voxels, by the form */
    double tilt;               /* the largest angle to these axes, degrees */
};

/* A single layer needs no direction: that across it. */
static mat44 with_layer(const mat44 *form, int64_t layers)
{
    mat44 all = *form;
    bool none = layers <= 1;
    for (int row = 0; row < AXIS_COUNT; row++) {
        none = none && form->m[row][2] == 0;
    }
    for (int row = 0; row < AXIS_COUNT && none; row++) {
        const float *next = form->m[(row + 1) % AXIS_COUNT];
        const float *last = form->m[(row + 2) % AXIS_COUNT];
        all.m[row][2] = next[0] * last[1] - last[0] * next[1];
    }
    return all;
}

/* The sform before the qform, as other programs do. */
static enum status orient(const nifti_image *image, const char *path, struct orientation *found)
{
    const bool has = image->sform_code > 0 || image->qform_code > 0;
    const mat44 to_world =
        with_layer(image->sform_code > 0 ? &image->sto_xyz : &image->qto_xyz, image->nz);
    int code[AXIS_COUNT] = {NIFTI_L2R, NIFTI_P2A, NIFTI_I2S};
    *found = (struct orientation){.form = image->sform_code > 0 ? "sform" : has ? "qform" : NULL};
    if (has) {
        nifti_mat44_to_orientation(to_world, &code[0], &code[1], &code[2]);
    }
    for (int a = 0; a < AXIS_COUNT; a++) {
        double square = 0;
        for (int row = 0; row < AXIS_COUNT; row++) {
            square += (double)to_world.m[row][a] * (double)to_world.m[row][a];
        }
        FAIL_IF(has && !(code[a] > 0 && isfinite(square) && square > 0),
                fail(STATUS_INPUT, "the %s of %.200s has no direction for its axis %d; correct it",
                     found->form, path, a));
        found->axis[a] = (enum axis)((code[a] - NIFTI_L2R) / 2);
        found->reversed[a] = (code[a] - NIFTI_L2R) % 2 == 1;
        found->length[a] = has ? sqrt(square) : (double)image->pixdim[a + 1];
        const double along = has ? fabs((double)to_world.m[found->axis[a]][a]) / sqrt(square) : 1;
        found->tilt = fmax(found->tilt, acos(fmin(along, 1)) * 180 / M_PI);
    }
    return STATUS_OK;
}

/* Once: a volume is read in pieces. */
static void warn_of_tilt(const struct orientation *is, const char *path)
{
    static char warned[256];
    if (is->tilt > TILT_MOST && strncmp(warned, path, sizeof warned - 1) != 0) {
        snprintf(warned, sizeof warned, "%s", path);
        log_warn("the axes of %.200s are tilted by %.3g degrees in its %s: the nearest orientation "
                 "along x, y and z is taken",
                 path, is->tilt, is->form);
    }
}

/* The unit is unknown where a program wrote the file without lengths. */
static enum status check_voxels(const nifti_image *image, const char *path,
                                const struct orientation *is, const struct grid *grid)
{
    const double unit = image->xyz_units == NIFTI_UNITS_METER    ? 1
                        : image->xyz_units == NIFTI_UNITS_MM     ? 1e-3
                        : image->xyz_units == NIFTI_UNITS_MICRON ? 1e-6
                                                                 : 0;
    for (int a = 0; a < AXIS_COUNT && unit > 0; a++) {
        const enum axis axis = is->axis[a];
        const double voxel = unit * (double)image->pixdim[a + 1];
        const double least = grid_smallest_width(grid, axis);
        const double most = grid_largest_width(grid, axis);
        FAIL_IF(grid->used[axis] && fabs(voxel - unit * is->length[a]) > 1e-3 * voxel,
                fail(STATUS_INPUT,
                     "the voxels of %.200s are %.6g m long in %s by pixdim, but %.6g m by its %s; "
                     "correct the header",
                     path, voxel, axis_name(axis), unit * is->length[a], is->form));
        FAIL_IF(grid->used[axis] &&
                    (fabs(voxel - least) > 1e-3 * least || fabs(voxel - most) > 1e-3 * most),
                fail(STATUS_INPUT,
                     "the voxels of %.200s are %.6g m long in %s, the cells of the grid %.6g m; "
                     "change grid.lower or grid.upper, or the header's pixdim or xyzt_units "
                     "(unit unknown: no check)",
                     path, voxel, axis_name(axis), voxel < least ? least : most));
    }
    return STATUS_OK;
}

static enum status check_image(const nifti_image *image, const char *path,
                               const struct orientation *is, bool floats, const struct grid *grid)
{
    const int64_t more = (int64_t)image->nt * image->nu * image->nv * image->nw;
    int64_t n[AXIS_COUNT]; /* of the grid's axes */
    for (int a = 0; a < AXIS_COUNT; a++) {
        n[is->axis[a]] = image->dim[a + 1] > 1 ? image->dim[a + 1] : 1;
    }
    FAIL_IF(n[AXIS_X] != grid->cells[AXIS_X] || n[AXIS_Y] != grid->cells[AXIS_Y] ||
                n[AXIS_Z] != grid->cells[AXIS_Z] || more != 1,
            fail(STATUS_INPUT,
                 "%.200s has %" PRId64 " x %" PRId64 " x %" PRId64 " voxels and %" PRId64
                 " volume(s)%s%s; the grid needs %" PRId64 " x %" PRId64 " x %" PRId64 " and 1",
                 path, n[AXIS_X], n[AXIS_Y], n[AXIS_Z], more,
                 is->form != NULL ? " in the orientation of its " : "",
                 is->form != NULL ? is->form : "", grid->cells[AXIS_X], grid->cells[AXIS_Y],
                 grid->cells[AXIS_Z]));
    FAIL_IF(letter_of(image->datatype) == '\0',
            fail(STATUS_INPUT,
                 "%.200s has the datatype %s; integers or floating-point numbers of 8 to 64 bits "
                 "are needed",
                 path, nifti_datatype_string(image->datatype)));
    return floats ? STATUS_OK : check_voxels(image, path, is, grid);
}

/* A row of `count` voxels. */
static enum status read_row(const nifti_image *image, znzFile file, const char *path, int64_t first,
                            int64_t count, void *row)
{
    const size_t bytes = (size_t)image->nbyper;
    const znz_off_t at = (znz_off_t)image->iname_offset + (znz_off_t)first * image->nbyper;
    FAIL_IF(znzseek(file, at, SEEK_SET) < 0 ||
                znzread(row, bytes, (size_t)count, file) != (size_t)count,
            fail(STATUS_FILE,
                 "%.200s is damaged or ends before voxel %" PRId64 "; copy the file again", path,
                 first + count));
    if (image->byteorder != nifti_short_order() && bytes > 1) {
        nifti_swap_Nbytes((size_t)count, (int)bytes, row);
    }
    return STATUS_OK;
}

/* In the order of the file, so that a compressed one is read once. */
static enum status read_voxels(const nifti_image *image, const char *path,
                               const struct orientation *is, const struct grid *grid,
                               const struct box *box, float *values)
{
    SCOPED_BY(close_file) znzFile file = znzopen(path, "rb", nifti_is_gzfile(path));
    FAIL_IF(znz_isnull(file), fail(STATUS_FILE, "%.200s cannot be read", path));
    int64_t first[AXIS_COUNT], count[AXIS_COUNT]; /* voxels of the file */
    int64_t start = 0, step[AXIS_COUNT];          /* the first one and the next in `values` */
    const int64_t pitch[AXIS_COUNT] = {1, box_extent(box, AXIS_X),
                                       box_extent(box, AXIS_X) * box_extent(box, AXIS_Y)};
    for (int a = 0; a < AXIS_COUNT; a++) {
        const enum axis axis = is->axis[a];
        count[a] = box_extent(box, axis);
        first[a] = is->reversed[a] ? grid->cells[axis] - box->hi[axis] : box->lo[axis];
        step[a] = is->reversed[a] ? -pitch[axis] : pitch[axis];
        start += is->reversed[a] ? (count[a] - 1) * pitch[axis] : 0;
    }
    SCOPED_FREE unsigned char *row = malloc((size_t)(count[0] * image->nbyper) + 1);
    TRY(CHECK_MEMORY(row != NULL, "no memory to read %.200s", path));
    const bool scaled = isfinite(image->scl_slope) && image->scl_slope != 0;
    const double slope = scaled ? (double)image->scl_slope : 1;
    const double offset = scaled ? (double)image->scl_inter : 0;
    const char letter = letter_of(image->datatype);
    for (int64_t r = 0; r < count[1] * count[2]; r++) {
        const int64_t j = r % count[1];
        const int64_t k = r / count[1];
        float *to = values + start + j * step[1] + k * step[2];
        const int64_t line = (first[2] + k) * image->ny + first[1] + j;
        TRY(read_row(image, file, path, line * image->nx + first[0], count[0], row));
        for (int64_t i = 0; i < count[0]; i++) {
            const double number = labels_number(letter, image->nbyper, row + i * image->nbyper);
            to[i * step[0]] = (float)(slope * number + offset);
        }
    }
    return STATUS_OK;
}

enum status labels_read_nifti(const char *path, bool floats, const struct grid *grid,
                              const struct box *box, float *values)
{
    FAIL_IF(!file_exists(path), fail(STATUS_FILE, "%.200s is missing", path));
    nifti_set_debug_level(0); /* the messages here name the file */
    SCOPED_BY(free_image) nifti_image *image = nifti_image_read(path, 0);
    FAIL_IF(image == NULL, fail(STATUS_FILE, "%.200s is not a file of NIfTI-1", path));
    int swapped = 0;
    SCOPED_FREE struct nifti_1_header *header = nifti_read_header(path, &swapped, 0);
    FAIL_IF(header == NULL || NIFTI_VERSION(*header) != 1 || !NIFTI_ONEFILE(*header) ||
                image->iname_offset < 352,
            fail(STATUS_INPUT,
                 "%.200s is not a single file of NIfTI-1, with the magic n+1 and a vox_offset of "
                 "352 or more; write it again",
                 path));
    struct orientation is;
    TRY(orient(image, path, &is));
    TRY(check_image(image, path, &is, floats, grid));
    warn_of_tilt(&is, path);
    return read_voxels(image, path, &is, grid, box, values);
}
