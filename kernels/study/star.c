/* Weighted sums of the points of a star, by fma from -0 on, in the order of their addresses: the
 * neighbours before, from the slowest axis on; the cell; those after it in reverse. Cell by cell,
 * and in tiles of a row in vector registers, of which the last may overlap the one before. */
#include <math.h>
#include <string.h>

#include "kernels/study/study.h"

enum { MOST_POINTS = 2049, TILE = 64 };

struct star {
    int count;
    int64_t offset[MOST_POINTS]; /* elements */
    double weight[MOST_POINTS];
};

static void add_point(const struct study_problem *problem, int axis, int distance, int64_t offset,
                      struct star *star)
{
    star->offset[star->count] = offset;
    star->weight[star->count++] = problem->weight(problem, axis, distance);
}

static void make_star(const struct study_problem *problem, struct star *star)
{
    const struct layout *layout = &problem->layout;
    const int64_t pitch[AXIS_COUNT] = {1, layout->pitch_y, layout->pitch_z};
    star->count = 0;
    for (int axis = AXIS_Z; axis >= AXIS_X; axis--) {
        for (int distance = layout->halo[axis]; distance > 0; distance--) {
            add_point(problem, axis, distance, -distance * pitch[axis], star);
        }
    }
    add_point(problem, AXIS_X, 0, 0, star);
    for (int axis = AXIS_X; axis <= AXIS_Z; axis++) {
        for (int distance = 1; distance <= layout->halo[axis]; distance++) {
            add_point(problem, axis, distance, distance * pitch[axis], star);
        }
    }
}

#define DEFINE_ROWS(type, suffix, multiply_add)                                                    \
    static void cells_##suffix(type *out, const type *in, int64_t cells,                           \
                               const struct study_problem *problem, const struct star *s)          \
    {                                                                                              \
        (void)problem;                                                                             \
        for (int64_t i = 0; i < cells; i++) {                                                      \
            type sum = (type)-0.0;                                                                 \
            for (int p = 0; p < s->count; p++) {                                                   \
                sum = multiply_add((type)s->weight[p], in[i + s->offset[p]], sum);                 \
            }                                                                                      \
            out[i] = sum;                                                                          \
        }                                                                                          \
    }                                                                                              \
    static void tiles_##suffix(type *restrict out, const type *restrict in, int64_t cells,         \
                               const struct study_problem *problem, const struct star *s)          \
    {                                                                                              \
        if (cells < TILE) {                                                                        \
            cells_##suffix(out, in, cells, problem, s);                                            \
            return;                                                                                \
        }                                                                                          \
        for (int64_t first = 0; first < cells; first += TILE) {                                    \
            const int64_t i = first + TILE <= cells ? first : cells - TILE;                        \
            type sum[TILE];                                                                        \
            for (int n = 0; n < TILE; n++) {                                                       \
                sum[n] = (type)-0.0;                                                               \
            }                                                                                      \
            for (int p = 0; p < s->count; p++) {                                                   \
                const type weight = (type)s->weight[p];                                            \
                const type *from = in + i + s->offset[p];                                          \
                _Pragma("omp simd") for (int n = 0; n < TILE; n++)                                 \
                {                                                                                  \
                    sum[n] = multiply_add(weight, from[n], sum[n]);                                \
                }                                                                                  \
            }                                                                                      \
            memcpy(out + i, sum, sizeof sum);                                                      \
        }                                                                                          \
    }                                                                                              \
    STUDY_ROWS(study_star_cells_##suffix, type, struct star, make_star, cells_##suffix)            \
    STUDY_ROWS(study_star_tiles_##suffix, type, struct star, make_star, tiles_##suffix)
DEFINE_ROWS(double, float64, fma)
DEFINE_ROWS(float, float32, fmaf)

struct study_traffic study_star_traffic(const struct study_problem *problem, int part)
{
    const struct layout *layout = &problem->layout;
    const uint64_t width = precision_bytes(layout->precision);
    const uint64_t cells = study_cells(problem);
    uint64_t read = cells;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        read += 2 * (uint64_t)layout->halo[axis] * (cells / (uint64_t)layout->cells[axis]);
    }
    return (struct study_traffic){
        .fetch_bytes = read * width, .write_bytes = cells * width, .points = cells};
}
