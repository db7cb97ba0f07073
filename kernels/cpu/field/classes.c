/* The summary of each group of classes: runs of cells of one class, as layers and blocks have. */
#include <math.h>

#include <omp.h>

#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/schedule/share.h"
#include "kernels/cpu/schedule/tally.h"

/* Cells per pass: the size of the buffer for widened float32 cells. */
enum { CHUNK = 512 };

struct count {
    double min, max;
    struct tally tally;
    int64_t cells;
};

/* `volumes`: what cells count in the sum, or NULL. */
static void count_cells(struct count *count, const double *cells, const double *volumes, int64_t n)
{
    double min = INFINITY;
    double max = -INFINITY;
#pragma omp simd reduction(min : min) reduction(max : max)
    for (int64_t i = 0; i < n; i++) {
        min = cells[i] < min ? cells[i] : min;
        max = cells[i] > max ? cells[i] : max;
    }
    count->min = min < count->min ? min : count->min;
    count->max = max > count->max ? max : count->max;
    count->cells += n;
    if (volumes == NULL) {
        tally_add_float64(&count->tally, cells, n);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        const double term = cells[i] * volumes[i];
        tally_add_float64(&count->tally, &term, 1);
    }
}

/* With lines: of n cells of a row from (i, j, k) on. */
static const double *volumes_of(const struct summarise_classes_args *c, int64_t i, int64_t j,
                                int64_t k, int64_t n, double *volumes)
{
    const struct device_medium *m = c->medium;
    const enum precision precision = c->layout.precision;
    if (!m->has_lines) {
        return NULL;
    }
    const int64_t cell[AXIS_COUNT] = {i, j, k};
    const double yz = medium_lines_at(m, precision, AXIS_X, GRADED_WIDTH, cell);
    for (int64_t x = 0; x < n; x++) {
        volumes[x] = medium_line_at(m, precision, AXIS_X, GRADED_WIDTH, i + x) * yz;
    }
    return volumes;
}

static void count_row(const struct summarise_classes_args *c, const struct box *piece, int64_t j,
                      int64_t k, struct count *counts)
{
    double wide[CHUNK];
    double room[CHUNK];
    const int64_t first = piece->lo[AXIS_X];
    const int64_t at = layout_index(&c->layout, first, j, k);
    const int64_t n = box_extent(piece, AXIS_X);
    const uint8_t *classes = c->medium->d_class + layout_index(&c->medium->layout, first, j, k);
    const uint8_t mask = c->medium->mask;
    for (int64_t begin = 0, end; begin < n; begin = end) {
        const uint8_t group = c->d_groups[classes[begin] & mask];
        const int64_t most = n - begin < CHUNK ? n : begin + CHUNK;
        const double *volumes = NULL;
        end = begin + 1;
        while (end < most && c->d_groups[classes[end] & mask] == group) {
            end++;
        }
        volumes = volumes_of(c, first + begin, j, k, end - begin, room);
        if (c->layout.precision == PRECISION_FLOAT64) {
            count_cells(&counts[group], (const double *)c->d_field + at + begin, volumes,
                        end - begin);
        } else {
            for (int64_t i = begin; i < end; i++) {
                wide[i - begin] = (double)((const float *)c->d_field)[at + i];
            }
            count_cells(&counts[group], wide, volumes, end - begin);
        }
    }
}

static void count_piece(const struct summarise_classes_args *c, const struct box *piece,
                        struct count *counts)
{
    for (int64_t k = piece->lo[AXIS_Z]; k < piece->hi[AXIS_Z]; k++) {
        for (int64_t j = piece->lo[AXIS_Y]; j < piece->hi[AXIS_Y]; j++) {
            count_row(c, piece, j, k, counts);
        }
    }
}

/* One thread at a time. */
static void merge_count(struct class_summary *summary, struct count *count)
{
    const uint64_t min = class_key_of(count->min);
    const uint64_t max = class_key_of(count->max);
    if (count->cells > 0) {
        tally_flush(&count->tally);
        exact_sum_add(&summary->sum, &count->tally.sum);
        summary->min_key = min < summary->min_key ? min : summary->min_key;
        summary->max_key = max > summary->max_key ? max : summary->max_key;
        summary->cells += count->cells;
    }
}

enum status cpu_summarise_classes(struct queue *queue, const struct summarise_classes_args *args)
{
    const struct box owned = layout_owned(&args->layout);
#pragma omp parallel if (share_is_worthwhile(&owned, 1))
    {
        struct count counts[MEDIUM_CLASSES];
        struct box pieces[SHARE_PIECES];
        const int npieces = share_box(&owned, omp_get_thread_num(), omp_get_num_threads(), pieces);
        for (int g = 0; g < MEDIUM_CLASSES; g++) {
            counts[g] = (struct count){.min = INFINITY, .max = -INFINITY};
        }
        for (int p = 0; p < npieces; p++) {
            count_piece(args, &pieces[p], counts);
        }
#pragma omp critical(summarise_classes)
        for (int g = 0; g < MEDIUM_CLASSES; g++) {
            merge_count(&args->d_summaries[g], &counts[g]);
        }
    }
    return STATUS_OK;
}

/* Cells at a time: fewer than EXACT_PARTS_MAX_TERMS. */
enum { FACE_PIECE = 1 << 14, CONDITIONS_MOST = 256 };

static void sum_cell(const struct sum_faces_args *args, const struct face_terms *terms,
                     const int64_t cell[AXIS_COUNT], struct exact_parts (*parts)[FACE_SUMS])
{
    const struct device_medium *m = args->medium;
    const struct layout *l = &args->layout;
    const int64_t at = layout_index(&m->layout, cell[AXIS_X], cell[AXIS_Y], cell[AXIS_Z]);
    const int closure = medium_closure(m->d_patch[terms->face], m->patch_pitch[terms->face], 0,
                                       m->nclasses, terms->face, cell, m->d_class[at] & m->mask);
    struct class_closure own =
        args->d_closures[terms->first_own >= 0
                             ? terms->first_own + medium_face_place(l->cells, terms->face, cell)
                             : terms->first_closure + closure];
    struct exact_parts *of_patch = parts[closure / m->nclasses];
    if (own.conductance == 0) {
        return;
    }
    const int64_t element = layout_index(l, cell[AXIS_X], cell[AXIS_Y], cell[AXIS_Z]);
    const double inside = precision_get(l->precision, args->d_field, element);
    if (args->d_enthalpy != NULL) {
        const double u = precision_get(l->precision, args->d_enthalpy, element);
        const struct curve *curve = &args->d_curves[args->d_material[closure % m->nclasses]];
        own = class_closure_of_heat(&own, curve, terms->face / 2, u * args->heat_per_enthalpy,
                                    terms->spacing, args->volume);
    }
    const int axis = terms->face / 2;
    if (m->has_lines) {
        own = class_closure_wide(&own, medium_lines_at(m, l->precision, axis, GRADED_WIDTH, cell));
    }
    if (m->d_g[axis] != NULL) {
        const int64_t stride[AXIS_COUNT] = {1, m->layout.pitch_y, m->layout.pitch_z};
        const double g =
            precision_get(l->precision, m->d_g[axis], at + terms->face % 2 * stride[axis]);
        own = class_closure_of_conductance(&own, g * args->heat_per_enthalpy * args->volume,
                                           args->volume / terms->spacing);
    }
    exact_parts_add(&of_patch[FACE_FLOW], class_closure_flow(&own, inside));
    own = class_closure_heated(own, args->d_sources + terms->first_source, terms->nsources,
                               args->joule_per_kelvin, args->offset[AXIS_X] + cell[AXIS_X],
                               args->offset[AXIS_Y] + cell[AXIS_Y],
                               args->offset[AXIS_Z] + cell[AXIS_Z]);
    const double area = class_closure_area(&own);
    exact_parts_add(&of_patch[FACE_TEMPERATURE], class_closure_face(&own, inside) * area);
    exact_parts_add(&of_patch[FACE_AREA], area);
}

static void sum_face(const struct sum_faces_args *args, const struct face_terms *terms)
{
    const struct box owned = layout_owned(&args->layout);
    const struct box layer = box_inside(&owned, terms->face, 1);
    const int64_t cells = box_cells(&layer);
#pragma omp parallel for schedule(static) if (cells > FACE_PIECE)
    for (int64_t begin = 0; begin < cells; begin += FACE_PIECE) {
        struct exact_parts parts[CONDITIONS_MOST][FACE_SUMS] = {{{{0}}}};
        const int64_t end = cells - begin < FACE_PIECE ? cells : begin + FACE_PIECE;
        for (int64_t place = begin; place < end; place++) {
            int64_t cell[AXIS_COUNT];
            box_cell(&layer, place, cell);
            sum_cell(args, terms, cell, parts);
        }
#pragma omp critical(sum_face)
        for (int n = 0; n < terms->nconditions * FACE_SUMS; n++) {
            exact_sum_add_parts(&args->d_sums[terms->first_sum + n],
                                &parts[n / FACE_SUMS][n % FACE_SUMS]);
        }
    }
}

enum status cpu_sum_faces(struct queue *queue, const struct sum_faces_args *args)
{
    for (int f = 0; f < args->nfaces; f++) {
        sum_face(args, &args->faces[f]);
    }
    return STATUS_OK;
}

enum status cpu_sum_by_surface(struct queue *queue, const struct sum_by_surface_args *args)
{
#pragma omp parallel for schedule(static) if (args->count > FACE_PIECE)
    for (int64_t begin = 0; begin < args->count; begin += FACE_PIECE) {
        struct exact_parts parts[CONDITIONS_MOST][SURFACE_SUMS] = {{{{0}}}};
        for (int64_t f = begin; f < args->count && f < begin + FACE_PIECE; f++) {
            const struct surface_numbers *of =
                &args->d_numbers[args->d_pairs != NULL ? args->d_pairs[f] : f];
            double terms[SURFACE_SUMS];
            surface_face_terms(of, args->d_faces != NULL ? &args->d_faces[f] : NULL,
                               args->d_exchanges, args->joule_per_kelvin,
                               precision_get(args->precision, args->d_field, args->d_elements[f]),
                               terms);
            exact_parts_add(&parts[of->surface][SURFACE_FLOW], terms[SURFACE_FLOW]);
            exact_parts_add(&parts[of->surface][SURFACE_TEMPERATURE], terms[SURFACE_TEMPERATURE]);
        }
#pragma omp critical(sum_by_surface)
        for (int n = 0; n < args->nsurfaces * SURFACE_SUMS; n++) {
            exact_sum_add_parts(&args->d_sums[n], &parts[n / SURFACE_SUMS][n % SURFACE_SUMS]);
        }
    }
    return STATUS_OK;
}

static void number_row(const void *of, int64_t j, int64_t k)
{
    const struct number_classes_args *args = of;
    const struct device_medium *medium = args->medium;
    const uint8_t *classes = medium->d_class + layout_index(&medium->layout, 0, j, k);
    double *to = args->d_values + layout_index(&args->kept, 0, j, k);
    for (int64_t i = 0; i < args->kept.cells[AXIS_X]; i++) {
        to[i] = args->d_numbers[classes[i] & medium->mask];
    }
}

enum status cpu_number_classes(struct queue *queue, const struct number_classes_args *args)
{
    return share_rows(&args->kept, args, number_row);
}

/* --- classes that change --------------------------------------------------------------------- */

/* Cells that are skipped at once, where all have one class and none of them changes. */
enum { ALIKE = 64 };

/* DEFINE_CHANGE(precision, type of a cell); change_row returns whether a cell has changed. */
#define DEFINE_CHANGE(name, REAL)                                                                  \
    static bool stay_##name(const struct change_classes_args *c, const REAL *cells,                \
                            const uint8_t *classes, int64_t n)                                     \
    {                                                                                              \
        const int first = classes[0];                                                              \
        const double at = c->d_at[first & c->mask];                                                \
        int others = 0;                                                                            \
        int reached = 0;                                                                           \
        _Pragma("omp simd reduction(| : others)") for (int64_t i = 0; i < n; i++)                  \
        {                                                                                          \
            others |= classes[i] ^ first;                                                          \
        }                                                                                          \
        if ((others & c->mask) != 0) {                                                             \
            return false;                                                                          \
        }                                                                                          \
        if (at == (double)INFINITY) {                                                              \
            return true;                                                                           \
        }                                                                                          \
        _Pragma("omp simd reduction(| : reached)") for (int64_t i = 0; i < n; i++)                 \
        {                                                                                          \
            reached |= (double)cells[i] >= at;                                                     \
        }                                                                                          \
        return reached == 0;                                                                       \
    }                                                                                              \
    static bool change_row_##name(const struct change_classes_args *c, const REAL *cells,          \
                                  uint8_t *classes, int64_t n)                                     \
    {                                                                                              \
        bool changed = false;                                                                      \
        for (int64_t begin = 0; begin < n; begin += ALIKE) {                                       \
            const int64_t end = n - begin < ALIKE ? n : begin + ALIKE;                             \
            const bool stay = stay_##name(c, cells + begin, classes + begin, end - begin);         \
            for (int64_t i = begin; i < end && !stay; i++) {                                       \
                const uint8_t own = classes[i] & c->mask;                                          \
                if ((double)cells[i] >= c->d_at[own] && c->d_to[own] != own) {                     \
                    classes[i] = c->d_to[own];                                                     \
                    changed = true;                                                                \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
        return changed;                                                                            \
    }
DEFINE_CHANGE(float64, double)
DEFINE_CHANGE(float32, float)
#undef DEFINE_CHANGE

enum status cpu_change_classes(struct queue *queue, const struct change_classes_args *args)
{
    const struct layout *layout = &args->layout;
    const struct layout *of_class = &args->of_class;
    const struct box *box = &args->box;
    const int64_t nx = box_extent(box, AXIS_X);
    const int64_t ny = box_extent(box, AXIS_Y);
    const int64_t nrows = ny * box_extent(box, AXIS_Z);
    int64_t lo[2] = {INT64_MAX, INT64_MAX}; /* rows with changes, in y and z */
    int64_t hi[2] = {INT64_MIN, INT64_MIN};
    const bool several = share_is_worthwhile(box, 1);
#pragma omp parallel for schedule(static) reduction(min : lo) reduction(max : hi) if (several)
    for (int64_t row = 0; row < nrows; row++) {
        const int64_t j = box->lo[AXIS_Y] + row % ny;
        const int64_t k = box->lo[AXIS_Z] + row / ny;
        const int64_t at = layout_index(layout, box->lo[AXIS_X], j, k);
        uint8_t *classes = args->d_class + layout_index(of_class, box->lo[AXIS_X], j, k);
        const bool changed =
            layout->precision == PRECISION_FLOAT64
                ? change_row_float64(args, (const double *)args->d_field + at, classes, nx)
                : change_row_float32(args, (const float *)args->d_field + at, classes, nx);
        lo[0] = changed && j < lo[0] ? j : lo[0];
        lo[1] = changed && k < lo[1] ? k : lo[1];
        hi[0] = changed && j > hi[0] ? j : hi[0];
        hi[1] = changed && k > hi[1] ? k : hi[1];
    }
    if (lo[0] <= hi[0] && args->mask != UINT8_MAX) {
        classes_flag_rows(of_class, lo[0] - 1, hi[0] + 2, lo[1] - 1, hi[1] + 2, args->d_class);
    }
    return STATUS_OK;
}
