/* Heat sources that no class has: moving ones, and those of a file; and the sums of
 * perfusion and of surfaces, and what these exchange. */
#include <string.h>

#include "kernels/cell/face_cell.h"
#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/schedule/share.h"
#include "kernels/cpu/schedule/tally.h"

/* What one row needs besides the arguments. */
struct source_row {
    const struct add_source_args *args;
    const uint8_t *classes; /* of cell i = 0; NULL: uniform */
    const float *values;    /* of cell i = 0; NULL: the shape */
    const void *old;        /* the same, before the step; NULL: no curve */
};

/* Cells at once: their heat in K, then the temperatures, then the sum, each in a loop of its own;
 * and rows of them whose factors along x are computed once. */
enum { PART_CELLS = 256, PART_ROWS = 32 };

/* The factors of the shape that rows share, and the one that a row has. */
struct source_parts {
    struct source_part line[PART_CELLS], row;
};

#define DEFINE_ROW(name, REAL, FMA)                                                                \
    static void heat_##name(const struct source_row *row, const struct source_parts *parts,        \
                            int64_t begin, int64_t n, REAL *heat)                                  \
    {                                                                                              \
        const double peak = row->args->shape.peak_front;                                           \
        if (row->old != NULL) {                                                                    \
            const REAL *old = row->old;                                                            \
            for (int64_t i = 0; i < n; i++) {                                                      \
                const double of_heat =                                                             \
                    source_curve_at(row->args->d_curve, (double)old[begin + i]);                   \
                heat[i] = (REAL)(peak * (double)row->values[begin + i] * of_heat);                 \
            }                                                                                      \
            return;                                                                                \
        }                                                                                          \
        if (row->values != NULL) {                                                                 \
            for (int64_t i = 0; i < n; i++) {                                                      \
                heat[i] = (REAL)(peak * (double)row->values[begin + i]);                           \
            }                                                                                      \
            return;                                                                                \
        }                                                                                          \
        const struct source_part of_row = parts->row;                                              \
        for (int64_t i = 0; i < n; i++) {                                                          \
            heat[i] = (REAL)source_heat(&parts->line[i], &of_row);                                 \
        }                                                                                          \
    }                                                                                              \
    /* n is at most PART_CELLS. */                                                                 \
    static void add_##name(const struct source_row *row, const struct source_parts *parts,         \
                           REAL *cells, int64_t begin, int64_t n, struct tally *tally)             \
    {                                                                                              \
        const struct device_medium *medium = row->args->medium;                                    \
        const REAL *table = medium != NULL ? (const REAL *)medium->d_table : NULL;                 \
        const uint8_t mask = medium != NULL ? medium->mask : 0;                                    \
        const REAL *own = medium != NULL && medium->d_sigma != NULL                                \
                              ? (const REAL *)medium->d_sigma + (row->classes - medium->d_class)   \
                              : NULL;                                                              \
        REAL heat[PART_CELLS];                                                                     \
        heat_##name(row, parts, begin, n, heat);                                                   \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const REAL sigma = own != NULL ? own[begin + i]                                        \
                               : table != NULL                                                     \
                                   ? table[medium_cell_at(row->classes[begin + i] & mask)]         \
                                   : (REAL)1;                                                      \
            /* without heat a cell keeps its bits, of -0 too */                                    \
            heat[i] = sigma == 0 ? 0 : heat[i]; /* an ambient */                                   \
            cells[begin + i] =                                                                     \
                heat[i] == 0 ? cells[begin + i] : FMA(sigma, heat[i], cells[begin + i]);           \
        }                                                                                          \
        tally_add_##name(tally, heat, n);                                                          \
    }
DEFINE_ROW(float64, double, fma)
DEFINE_ROW(float32, float, fmaf)

static void add_row(const struct add_source_args *args, const struct source_parts *parts,
                    int64_t begin, int64_t n, int64_t j, int64_t k, struct tally *tally)
{
    const struct layout *layout = &args->layout;
    const struct device_medium *medium = args->medium;
    const int64_t *cells = layout->cells;
    const int64_t at = layout_index(layout, 0, j, k);
    const int64_t bytes = (int64_t)precision_bytes(layout->precision);
    const struct source_row row = {
        .args = args,
        .classes = medium != NULL ? &medium->d_class[layout_index(&medium->layout, 0, j, k)] : NULL,
        .values = args->d_values != NULL ? &args->d_values[(k * cells[1] + j) * cells[0]] : NULL,
        .old = args->d_curve != NULL ? (const char *)args->d_old + at * bytes : NULL,
    };
    if (layout->precision == PRECISION_FLOAT64) {
        add_float64(&row, parts, (double *)args->d_field + at, begin, n, tally);
    } else {
        add_float32(&row, parts, (float *)args->d_field + at, begin, n, tally);
    }
}

/* How the rows of a box share factors: `inner` rows beside each other along w have those of each
 * cell of the first one across it; where w is along x, all rows have those along it. Values of a
 * file are taken in the order of memory. */
struct source_order {
    enum axis w, inner, outer;
    int64_t nparts, ninner, nouter; /* of PART_CELLS, PART_ROWS and one row */
};

static struct source_order order_of(const struct add_source_args *args)
{
    const struct box *box = &args->box;
    struct source_order order = {
        .w = args->d_values != NULL ? AXIS_X : (enum axis)source_axis(&args->shape)};
    order.inner = order.w == AXIS_Z ? AXIS_Z : AXIS_Y;
    order.outer = order.w == AXIS_Z ? AXIS_Y : AXIS_Z;
    order.nparts = (box_extent(box, AXIS_X) + PART_CELLS - 1) / PART_CELLS;
    order.ninner = (box_extent(box, order.inner) + PART_ROWS - 1) / PART_ROWS;
    order.nouter = box_extent(box, order.outer);
    return order;
}

static void fill_line(const struct add_source_args *args, enum axis w, int64_t begin, int64_t n,
                      const double at[AXIS_COUNT], struct source_part *line)
{
    const struct source_shape shape = args->shape;
    const double first = (double)(args->offset[AXIS_X] + begin);
    const double j = at[AXIS_Y];
    const double k = at[AXIS_Z];
    if (w == AXIS_X) {
        _Pragma("omp simd") for (int64_t i = 0; i < n; i++)
        {
            line[i] = source_along(&shape, first + (double)i, j, k);
        }
        return;
    }
    _Pragma("omp simd") for (int64_t i = 0; i < n; i++)
    {
        line[i] = source_across(&shape, first + (double)i, j, k);
    }
}

static void add_rows(const struct add_source_args *args, const struct source_order *order,
                     int64_t number, struct tally *tally)
{
    const struct box *box = &args->box;
    const int64_t begin = box->lo[AXIS_X] + number % order->nparts * PART_CELLS;
    const int64_t n = box->hi[AXIS_X] - begin < PART_CELLS ? box->hi[AXIS_X] - begin : PART_CELLS;
    const int64_t first =
        box->lo[order->inner] + number / order->nparts % order->ninner * PART_ROWS;
    int64_t at[AXIS_COUNT] = {0};
    double global[AXIS_COUNT] = {0};
    struct source_parts parts;
    parts.row = (struct source_part){0};
    at[order->outer] = box->lo[order->outer] + number / order->nparts / order->ninner;
    for (int64_t row = first; row < first + PART_ROWS && row < box->hi[order->inner]; row++) {
        at[order->inner] = row;
        for (int axis = AXIS_Y; axis < AXIS_COUNT; axis++) {
            global[axis] = (double)(args->offset[axis] + at[axis]);
        }
        if (args->d_values == NULL) {
            if (row == first) {
                fill_line(args, order->w, begin, n, global, parts.line);
            }
            parts.row = order->w == AXIS_X
                            ? source_across(&args->shape, 0, global[AXIS_Y], global[AXIS_Z])
                            : source_along(&args->shape, 0, global[AXIS_Y], global[AXIS_Z]);
        }
        if (!(parts.row.e > SOURCE_CUT)) {
            add_row(args, &parts, begin, n, at[AXIS_Y], at[AXIS_Z], tally);
        }
    }
}

enum status cpu_add_source(struct queue *queue, const struct add_source_args *args)
{
    const struct box *box = &args->box;
    const struct source_order order = order_of(args);
#pragma omp parallel if (share_is_worthwhile(box, 1))
    {
        struct tally tally = {.target = args->d_sum};
#pragma omp for schedule(static)
        for (int64_t n = 0; n < order.nparts * order.ninner * order.nouter; n++) {
            add_rows(args, &order, n, &tally);
        }
        tally_flush(&tally);
#pragma omp critical(cpu_add_source)
        exact_sum_add(args->d_sum, &tally.sum);
    }
    if (args->tiles != NULL) {
        const struct box met = tiles_meet(args->tiles, box);
        for (int64_t n = 0; n < box_cells(&met); n++) {
            int64_t at[AXIS_COUNT];
            box_cell(&met, n, at);
            args->tiles->d_changed[tiles_number(args->tiles, at[0], at[1], at[2])] =
                args->tiles->step;
        }
    }
    return STATUS_OK;
}

/* The heat of perfusion of cells of one class, K. Mostly their enthalpies are in one segment. */
#define DEFINE_PERFUSION(name, REAL)                                                               \
    static void heat_of_class_##name(const REAL *of_class, const REAL *segments, int count,        \
                                     const REAL *u, int64_t n, double *heat)                       \
    {                                                                                              \
        const int s = nonlinear_segment_##name(segments, count, u[0]);                             \
        int others = 0;                                                                            \
        _Pragma("omp simd reduction(+ : others)") for (int64_t i = 0; i < n; i++)                  \
        {                                                                                          \
            const struct nonlinear_##name at = nonlinear_in_##name(segments, count, s, u[i]);      \
            heat[i] = nonlinear_perfusion_##name(of_class, at.temperature);                        \
            others += nonlinear_is_in_##name(segments, count, s, u[i]) ? 0 : 1;                    \
        }                                                                                          \
        for (int64_t i = 0; i < n && others > 0; i++) {                                            \
            const struct nonlinear_##name at = nonlinear_at_##name(segments, count, u[i]);         \
            heat[i] = nonlinear_perfusion_##name(of_class, at.temperature);                        \
        }                                                                                          \
    }                                                                                              \
    static void perfusion_##name(const struct device_medium *m, const uint8_t *classes,            \
                                 const REAL *cells, int64_t n, struct tally *tally)                \
    {                                                                                              \
        const REAL *table = m->d_table;                                                            \
        double heat[PART_CELLS];                                                                   \
        for (int64_t begin = 0, end; begin < n; begin = end) {                                     \
            const int c = classes[begin] & m->mask;                                                \
            const int64_t most = n - begin < PART_CELLS ? n : begin + PART_CELLS;                  \
            const REAL *of_class = table + nonlinear_class_at(m->nclasses, m->nclosures, c);       \
            const REAL *segments =                                                                 \
                table + nonlinear_segments_at(m->nclasses, m->nclosures, m->nsegments, c);         \
            for (end = begin + 1; end < most && (classes[end] & m->mask) == c; end++) {            \
            }                                                                                      \
            if (of_class[NONLINEAR_PERFUSION] > 0) {                                               \
                heat_of_class_##name(of_class, segments, m->nsegments, cells + begin, end - begin, \
                                     heat);                                                        \
                tally_add_float64(tally, heat, end - begin);                                       \
            }                                                                                      \
        }                                                                                          \
    }
DEFINE_PERFUSION(float64, double)
DEFINE_PERFUSION(float32, float)

enum status cpu_sum_perfusion(struct queue *queue, const struct sum_perfusion_args *args)
{
    const struct layout *layout = &args->layout;
    const struct device_medium *medium = args->medium;
    const struct box *box = &args->box;
    const int64_t n = box_extent(box, AXIS_X);
    const int64_t ny = box_extent(box, AXIS_Y);
    const int64_t nrows = ny * box_extent(box, AXIS_Z);
#pragma omp parallel if (share_is_worthwhile(box, 1))
    {
        struct tally tally = {.target = args->d_sum};
#pragma omp for schedule(static)
        for (int64_t row = 0; row < nrows; row++) {
            const int64_t j = box->lo[AXIS_Y] + row % ny;
            const int64_t k = box->lo[AXIS_Z] + row / ny;
            const int64_t at = layout_index(layout, box->lo[AXIS_X], j, k);
            const uint8_t *classes =
                &medium->d_class[layout_index(&medium->layout, box->lo[AXIS_X], j, k)];
            if (layout->precision == PRECISION_FLOAT64) {
                perfusion_float64(medium, classes, (const double *)args->d_field + at, n, &tally);
            } else {
                perfusion_float32(medium, classes, (const float *)args->d_field + at, n, &tally);
            }
        }
        tally_flush(&tally);
#pragma omp critical(cpu_sum_perfusion)
        exact_sum_add(args->d_sum, &tally.sum);
    }
    return STATUS_OK;
}

#define DEFINE_SURFACES(name, REAL)                                                                \
    static void surfaces_##name(const struct sum_surfaces_args *args, int64_t begin, int64_t n,    \
                                double *heat)                                                      \
    {                                                                                              \
        const struct device_medium *medium = &args->levels->medium;                                \
        const REAL *table = medium->d_table;                                                       \
        const REAL *field = args->d_field;                                                         \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const int32_t pair = args->d_pairs[begin + i];                                         \
            const int of = medium_neighbour_of(medium->nclasses, pair);                            \
            const REAL warmer =                                                                    \
                table[medium_cell_at(of) + 1] - field[args->d_elements[begin + i]];                \
            const REAL *stored = medium->d_g[medium_axis_of(medium->nclasses, pair)];              \
            const REAL g = args->d_faces != NULL                                                   \
                               ? stored[args->d_faces[begin + i]] * (REAL)medium->dt               \
                               : table[pair];                                                      \
            heat[i] = (double)g * (double)warmer;                                                  \
        }                                                                                          \
    }
DEFINE_SURFACES(float64, double)
DEFINE_SURFACES(float32, float)

/* Of one step, as steps_most has it. */
enum status cpu_sum_surfaces(struct queue *queue, const struct sum_surfaces_args *args)
{
    enum { FOR_THREADS = 1 << 14 };
    struct exact_sum *d_sum = args->levels->d_surface_sum;
#pragma omp parallel if (args->count > FOR_THREADS)
    {
        struct tally tally = {.target = d_sum};
#pragma omp for schedule(static)
        for (int64_t begin = 0; begin < args->count; begin += PART_CELLS) {
            double heat[PART_CELLS];
            const int64_t left = args->count - begin;
            const int64_t n = left < PART_CELLS ? left : PART_CELLS;
            if (args->layout.precision == PRECISION_FLOAT64) {
                surfaces_float64(args, begin, n, heat);
            } else {
                surfaces_float32(args, begin, n, heat);
            }
            tally_add_float64(&tally, heat, n);
        }
        tally_flush(&tally);
#pragma omp critical(cpu_sum_surfaces)
        exact_sum_add(d_sum, &tally.sum);
    }
    return STATUS_OK;
}

/* The cells whose first face is in a part of the list. */
#define DEFINE_EXCHANGE(name, REAL, FMA)                                                           \
    static uint32_t exchange_##name(const struct exchange_surfaces_args *args, int64_t begin,      \
                                    int64_t end, struct tally *tally)                              \
    {                                                                                              \
        const int64_t *at = args->d_elements;                                                      \
        uint32_t bits = 0;                                                                         \
        for (int64_t i = begin; i < end; i++) {                                                    \
            double sum = 0;                                                                        \
            if (i > 0 && at[i - 1] == at[i]) {                                                     \
                continue;                                                                          \
            }                                                                                      \
            REAL *cell = (REAL *)args->d_out + at[i];                                              \
            const double inside = (double)((const REAL *)args->d_in)[at[i]];                       \
            for (int64_t f = i; f < args->count && at[f] == at[i]; f++) {                          \
                const struct surface_face *face = &args->d_faces[f];                               \
                sum += face->surface < 0                                                           \
                           ? 0                                                                     \
                           : surface_face_heat(face, args->d_exchanges, args->dt, inside);         \
            }                                                                                      \
            const REAL heat = (REAL)sum;                                                           \
            const REAL before = *cell;                                                             \
            *cell = FMA((REAL)args->d_faces[i].sigma, heat, before);                               \
            bits += word_sum_##name(*cell) - word_sum_##name(before);                              \
            tally_add_one(tally, (double)heat);                                                    \
        }                                                                                          \
        return bits;                                                                               \
    }

static uint32_t word_sum_float64(double cell)
{
    uint64_t bits;
    memcpy(&bits, &cell, sizeof bits);
    return (uint32_t)bits + (uint32_t)(bits >> 32);
}

static uint32_t word_sum_float32(float cell)
{
    uint32_t bits;
    memcpy(&bits, &cell, sizeof bits);
    return bits;
}

DEFINE_EXCHANGE(float64, double, fma)
DEFINE_EXCHANGE(float32, float, fmaf)

enum status cpu_exchange_surfaces(struct queue *queue, const struct exchange_surfaces_args *args)
{
    enum { FOR_THREADS = 1 << 14 };
    uint32_t bits = 0;
#pragma omp parallel reduction(+ : bits) if (args->count > FOR_THREADS)
    {
        struct tally tally = {.target = args->d_sum};
#pragma omp for schedule(static)
        for (int64_t begin = 0; begin < args->count; begin += PART_CELLS) {
            const int64_t end = args->count - begin < PART_CELLS ? args->count : begin + PART_CELLS;
            bits += args->precision == PRECISION_FLOAT64
                        ? exchange_float64(args, begin, end, &tally)
                        : exchange_float32(args, begin, end, &tally);
        }
        tally_flush(&tally);
        if (args->d_sum != NULL) {
#pragma omp critical(cpu_exchange_surfaces)
            exact_sum_add(args->d_sum, &tally.sum);
        }
    }
    if (args->d_bits != NULL) {
        *args->d_bits += bits;
    }
    return STATUS_OK;
}
