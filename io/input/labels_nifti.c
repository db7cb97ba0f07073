#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include <nifti1_io.h>

#include "base/file.h"
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

/* The unit is unknown where a program wrote the file without lengths. */
static enum status check_voxels(const nifti_image *image, const char *path, const struct grid *grid)
{
    const double unit = image->xyz_units == NIFTI_UNITS_METER    ? 1
                        : image->xyz_units == NIFTI_UNITS_MM     ? 1e-3
                        : image->xyz_units == NIFTI_UNITS_MICRON ? 1e-6
                                                                 : 0;
    const double voxel[AXIS_COUNT] = {unit * (double)image->dx, unit * (double)image->dy,
                                      unit * (double)image->dz};
    for (int axis = 0; axis < AXIS_COUNT && unit > 0; axis++) {
        const double least = grid_smallest_width(grid, (enum axis)axis);
        const double most = grid_largest_width(grid, (enum axis)axis);
        FAIL_IF(grid->used[axis] && (fabs(voxel[axis] - least) > 1e-3 * least ||
                                     fabs(voxel[axis] - most) > 1e-3 * most),
                fail(STATUS_INPUT,
                     "the voxels of %.200s are %.6g m long in %s, the cells of the grid %.6g m; "
                     "change grid.lower or grid.upper, or the header's pixdim or xyzt_units "
                     "(unit unknown: no check)",
                     path, voxel[axis], axis_name((enum axis)axis),
                     voxel[axis] < least ? least : most));
    }
    return STATUS_OK;
}

static enum status check_image(const nifti_image *image, const char *path, bool floats,
                               const struct grid *grid)
{
    const int64_t more = (int64_t)image->nt * image->nu * image->nv * image->nw;
    FAIL_IF(image->nx != grid->cells[AXIS_X] || image->ny != grid->cells[AXIS_Y] ||
                image->nz != grid->cells[AXIS_Z] || more != 1,
            fail(STATUS_INPUT,
                 "%.200s has %d x %d x %d voxels and %" PRId64 " volume(s); the grid needs %" PRId64
                 " x %" PRId64 " x %" PRId64 " and 1",
                 path, image->nx, image->ny, image->nz, more, grid->cells[AXIS_X],
                 grid->cells[AXIS_Y], grid->cells[AXIS_Z]));
    FAIL_IF(letter_of(image->datatype) == '\0',
            fail(STATUS_INPUT,
                 "%.200s has the datatype %s; integers or floating-point numbers of 8 to 64 bits "
                 "are needed",
                 path, nifti_datatype_string(image->datatype)));
    return floats ? STATUS_OK : check_voxels(image, path, grid);
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
    TRY(check_image(image, path, floats, grid));
    SCOPED_BY(close_file) znzFile file = znzopen(path, "rb", nifti_is_gzfile(path));
    FAIL_IF(znz_isnull(file), fail(STATUS_FILE, "%.200s cannot be read", path));
    const int64_t nx = box_extent(box, AXIS_X);
    SCOPED_FREE unsigned char *row = malloc((size_t)(nx * image->nbyper) + 1);
    TRY(CHECK_MEMORY(row != NULL, "no memory to read %.200s", path));
    const bool scaled = isfinite(image->scl_slope) && image->scl_slope != 0;
    const double slope = scaled ? (double)image->scl_slope : 1;
    const double offset = scaled ? (double)image->scl_inter : 0;
    const char letter = letter_of(image->datatype);
    for (int64_t c = 0; c < box_cells(box); c += nx) {
        int64_t cell[AXIS_COUNT];
        box_cell(box, c, cell);
        const int64_t line = cell[AXIS_Z] * image->ny + cell[AXIS_Y];
        TRY(read_row(image, file, path, line * image->nx + cell[AXIS_X], nx, row));
        for (int64_t i = 0; i < nx; i++) {
            const double number = labels_number(letter, image->nbyper, row + i * image->nbyper);
            values[c + i] = (float)(slope * number + offset);
        }
    }
    return STATUS_OK;
}
