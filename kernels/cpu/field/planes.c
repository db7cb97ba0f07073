/* The highest value of each plane of cells. */
#include <math.h>

#include <omp.h>

#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/schedule/share.h"

/* Cells per tile in x and in y, so that its planes fit into a buffer. */
enum { TILE = 512 };

struct planes {
    const struct plane_maxima_args *args;
    uint64_t *of_axis[AXIS_COUNT];
    int64_t above;
};

KERNEL_INLINE double sweep_row(double *highest, const void *field, enum precision precision,
                               int64_t first, int64_t n, double limit, int64_t *above)
{
    double most = -INFINITY;
    for (int64_t i = 0; i < n; i++) {
        const double value = precision == PRECISION_FLOAT64
                                 ? ((const double *)field)[first + i]
                                 : (double)((const float *)field)[first + i];
        highest[i] = value > highest[i] ? value : highest[i];
        most = value > most ? value : most;
        *above += value > limit ? 1 : 0;
    }
    return most;
}

static void raise_planes(uint64_t *planes, const double *highest, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const uint64_t key = class_key_of(highest[i]);
        planes[i] = key > planes[i] ? key : planes[i];
    }
}

static void sweep_tile(struct planes *p, const struct box *tile)
{
    const struct layout *layout = &p->args->layout;
    const void *field = p->args->d_field;
    const double limit = p->args->limit;
    const int64_t *lo = tile->lo;
    const int64_t nx = box_extent(tile, AXIS_X);
    const int64_t ny = box_extent(tile, AXIS_Y);
    double x[TILE], y[TILE];
    int64_t above = 0;
    for (int64_t n = 0; n < TILE; n++) {
        x[n] = y[n] = -INFINITY;
    }
    for (int64_t k = lo[AXIS_Z]; k < tile->hi[AXIS_Z]; k++) {
        double z = -INFINITY;
        for (int64_t j = 0; j < ny; j++) {
            const int64_t first = layout_index(layout, lo[AXIS_X], lo[AXIS_Y] + j, k);
            const double most =
                layout->precision == PRECISION_FLOAT64
                    ? sweep_row(x, field, PRECISION_FLOAT64, first, nx, limit, &above)
                    : sweep_row(x, field, PRECISION_FLOAT32, first, nx, limit, &above);
            y[j] = most > y[j] ? most : y[j];
            z = most > z ? most : z;
        }
#pragma omp critical(plane_maxima)
        raise_planes(p->of_axis[AXIS_Z] + k, &z, 1);
    }
#pragma omp critical(plane_maxima)
    {
        raise_planes(p->of_axis[AXIS_X] + lo[AXIS_X], x, nx);
        raise_planes(p->of_axis[AXIS_Y] + lo[AXIS_Y], y, ny);
        p->above += above;
    }
}

static void sweep_piece(struct planes *p, const struct box *piece)
{
    struct box tile = *piece;
    for (int64_t j = piece->lo[AXIS_Y]; j < piece->hi[AXIS_Y]; j += TILE) {
        tile.lo[AXIS_Y] = j;
        tile.hi[AXIS_Y] = j + TILE < piece->hi[AXIS_Y] ? j + TILE : piece->hi[AXIS_Y];
        for (int64_t i = piece->lo[AXIS_X]; i < piece->hi[AXIS_X]; i += TILE) {
            tile.lo[AXIS_X] = i;
            tile.hi[AXIS_X] = i + TILE < piece->hi[AXIS_X] ? i + TILE : piece->hi[AXIS_X];
            sweep_tile(p, &tile);
        }
    }
}

enum status cpu_plane_maxima(struct queue *queue, const struct plane_maxima_args *args)
{
    const struct layout *layout = &args->layout;
    const struct box owned = layout_owned(layout);
    struct planes p = {.args = args};
    p.of_axis[AXIS_X] = args->d_planes + 1;
    p.of_axis[AXIS_Y] = p.of_axis[AXIS_X] + layout->cells[AXIS_X];
    p.of_axis[AXIS_Z] = p.of_axis[AXIS_Y] + layout->cells[AXIS_Y];
#pragma omp parallel if (share_is_worthwhile(&owned, 1))
    {
        struct box pieces[SHARE_PIECES];
        const int npieces = share_box(&owned, omp_get_thread_num(), omp_get_num_threads(), pieces);
        for (int n = 0; n < npieces; n++) {
            sweep_piece(&p, &pieces[n]);
        }
    }
    args->d_planes[0] += (uint64_t)p.above;
    return STATUS_OK;
}
