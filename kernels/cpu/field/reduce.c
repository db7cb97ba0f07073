/* Reductions of a field: extremes, exact sum, invalid cells, hash. Threads add integers or take
 * extremes, so the result does not depend on the order. */
#include <math.h>
#include <string.h>

#include <omp.h>

#include "kernels/cell/heat_cell.h"
#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/schedule/share.h"
#include "kernels/cpu/schedule/tally.h"

/* Cells per pass: the size of the buffer for widened float32 cells. */
enum { CHUNK = EXACT_BINADE_MAX_TERMS };

static int64_t global_index(const struct placement *at, int64_t i, int64_t j, int64_t k)
{
    const int64_t *n = at->global_cells;
    return ((at->offset[AXIS_Z] + k) * n[AXIS_Y] + at->offset[AXIS_Y] + j) * n[AXIS_X] +
           at->offset[AXIS_X] + i;
}

/* What one thread has found. */
struct findings {
    double min, max;
    struct tally tally;
    struct tally heat;
    int64_t bad_cells, first_bad;
};

static double value_of(int64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The usual chunk: positive cells in one binade, which can be compared and added as integers.
 * Otherwise returns false and adds nothing. */
static bool find_in_binade(struct findings *f, const double *cells, int64_t n)
{
    enum { FRACTION_BITS = 52, BIAS = 1023 };
    int64_t min = INT64_MAX;
    int64_t max = INT64_MIN;
    uint64_t sum = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t bits = exact_bits(cells[i]);
        min = bits < min ? bits : min;
        max = bits > max ? bits : max;
        sum += (uint64_t)bits;
    }
    const int64_t exponent = (max >> FRACTION_BITS) - BIAS; /* large for NaN and infinities */
    if (min < 0 || min >> FRACTION_BITS != max >> FRACTION_BITS ||
        exponent < EXACT_LEAST_EXPONENT || exponent > EXACT_MOST_EXPONENT) {
        return false;
    }
    f->min = fmin(f->min, value_of(min));
    f->max = fmax(f->max, value_of(max));
    tally_add_binade(&f->tally, (int)exponent, sum, n);
    return true;
}

/* At most CHUNK cells, widened to double; `index` is the global index of the first. */
static void find_in_chunk(struct findings *f, const double *cells, int64_t n, int64_t index)
{
    if (find_in_binade(f, cells, n)) {
        return;
    }
    double min = INFINITY;
    double max = -INFINITY;
    int64_t nbad = 0;
#pragma omp simd reduction(min : min) reduction(max : max) reduction(+ : nbad)
    for (int64_t i = 0; i < n; i++) {
        const bool good = fabs(cells[i]) < EXACT_SUM_LIMIT; /* false for NaN */
        const double low = good ? cells[i] : INFINITY;
        const double high = good ? cells[i] : -INFINITY;
        min = low < min ? low : min;
        max = high > max ? high : max;
        nbad += good ? 0 : 1;
    }
    if (nbad < n) { /* else the result depends on the compiler's initial value */
        f->min = min < f->min ? min : f->min;
        f->max = max > f->max ? max : f->max;
    }
    tally_add_float64(&f->tally, cells, n);
    if (nbad > 0) {
        f->bad_cells += nbad;
        int64_t i = 0;
        while (fabs(cells[i]) < EXACT_SUM_LIMIT) {
            i++;
        }
        if (f->first_bad < 0 || index + i < f->first_bad) {
            f->first_bad = index + i;
        }
    }
}

/* At most CHUNK cells from (i, j, k) on; invalid ones count as 0. */
static void find_heat(struct findings *f, const double *cells, const struct summarise_args *args,
                      int64_t i, int64_t j, int64_t k, int64_t n)
{
    const struct device_medium *medium = args->medium;
    const int64_t first = layout_index(&medium->layout, i, j, k);
    double term[CHUNK];
    const bool of_classes = medium->d_sigma == NULL;
    for (int64_t c = 0; c < n; c++) {
        const double weight = of_classes
                                  ? medium->d_weight[medium->d_class[first + c] & medium->mask]
                                  : medium_cell_weight(medium, args->layout.precision, first + c,
                                                       (const int64_t[]){i + c, j, k});
        term[c] = tally_term(cells[c]) * weight;
    }
    tally_add_float64(&f->heat, term, n);
}

/* The same as find_in_chunk without the cells of ambients. */
static void find_in_body(struct findings *f, const double *cells, const uint8_t *of_class,
                         const struct device_medium *medium, int64_t n, int64_t index)
{
    for (int64_t begin = 0, end; begin < n; begin = end + 1) {
        end = begin;
        while (end < n && medium->d_weight[of_class[end] & medium->mask] > 0) {
            end++;
        }
        if (end > begin) {
            find_in_chunk(f, cells + begin, end - begin, index + begin);
        }
    }
}

static void find_in_piece(struct findings *f, const struct summarise_args *args,
                          const struct box *piece)
{
    const struct layout *layout = &args->layout;
    const struct device_medium *medium = args->medium;
    double wide[CHUNK];
    for (int64_t k = piece->lo[AXIS_Z]; k < piece->hi[AXIS_Z]; k++) {
        for (int64_t j = piece->lo[AXIS_Y]; j < piece->hi[AXIS_Y]; j++) {
            for (int64_t i = piece->lo[AXIS_X]; i < piece->hi[AXIS_X]; i += CHUNK) {
                const int64_t left = piece->hi[AXIS_X] - i;
                const int64_t n = left < CHUNK ? left : CHUNK;
                const int64_t at = layout_index(layout, i, j, k);
                const double *cells = wide;
                if (layout->precision == PRECISION_FLOAT64) {
                    cells = (const double *)args->d_field + at;
                } else {
                    for (int64_t c = 0; c < n; c++) {
                        wide[c] = (double)((const float *)args->d_field)[at + c];
                    }
                    for (int64_t c = 0; c < n && args->d_times != NULL; c++) {
                        wide[c] *= (double)args->d_times[at + c];
                    }
                }
                const int64_t index = global_index(&args->placement, i, j, k);
                if (medium == NULL) {
                    find_in_chunk(f, cells, n, index);
                    continue;
                }
                const uint8_t *of_class = medium->d_class + layout_index(&medium->layout, i, j, k);
                if (medium->has_ambients) {
                    find_in_body(f, cells, of_class, medium, n, index);
                } else {
                    find_in_chunk(f, cells, n, index);
                }
                find_heat(f, cells, args, i, j, k, n);
            }
        }
    }
}

/* One thread at a time. */
static void merge_findings(struct field_summary *summary, struct findings *f)
{
    tally_flush(&f->tally);
    exact_sum_add(&summary->sum, &f->tally.sum);
    tally_flush(&f->heat);
    exact_sum_add(&summary->heat, &f->heat.sum);
    /* + 0.0: report 0 rather than -0, which compares equal */
    summary->min = f->min < summary->min ? f->min + 0.0 : summary->min;
    summary->max = f->max > summary->max ? f->max + 0.0 : summary->max;
    summary->bad_cells += f->bad_cells;
    if (f->first_bad >= 0 && (summary->first_bad < 0 || f->first_bad < summary->first_bad)) {
        summary->first_bad = f->first_bad;
    }
}

enum status cpu_summarise(struct queue *queue, const struct summarise_args *args)
{
    const struct box owned = layout_owned(&args->layout);
    struct field_summary found = {.min = INFINITY, .max = -INFINITY, .first_bad = -1};
#pragma omp parallel if (share_is_worthwhile(&owned, 1))
    {
        struct findings mine = {.min = INFINITY, .max = -INFINITY, .first_bad = -1};
        struct box pieces[SHARE_PIECES];
        const int npieces = share_box(&owned, omp_get_thread_num(), omp_get_num_threads(), pieces);
        for (int p = 0; p < npieces; p++) {
            find_in_piece(&mine, args, &pieces[p]);
        }
#pragma omp critical(summarise)
        merge_findings(&found, &mine);
    }
    *args->h_summary = found;
    return STATUS_OK;
}

static uint64_t hash_float64(const double *cells, int64_t n, uint64_t index)
{
    uint64_t sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++) {
        sum += heat_cell_hash(index + (uint64_t)i, (uint64_t)exact_bits(cells[i]));
    }
    return sum;
}

static uint64_t hash_float32(const float *cells, int64_t n, uint64_t index)
{
    uint64_t sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &cells[i], sizeof bits);
        sum += heat_cell_hash(index + (uint64_t)i, bits);
    }
    return sum;
}

static uint64_t hash_piece(const struct hash_args *args, const struct box *piece)
{
    const struct layout *layout = &args->layout;
    uint64_t sum = 0;
    const int64_t nx = box_extent(piece, AXIS_X);
    for (int64_t k = piece->lo[AXIS_Z]; k < piece->hi[AXIS_Z]; k++) {
        for (int64_t j = piece->lo[AXIS_Y]; j < piece->hi[AXIS_Y]; j++) {
            const int64_t at = layout_index(layout, piece->lo[AXIS_X], j, k);
            const uint64_t index =
                (uint64_t)global_index(&args->placement, piece->lo[AXIS_X], j, k);
            sum += layout->precision == PRECISION_FLOAT64
                       ? hash_float64((const double *)args->d_field + at, nx, index)
                       : hash_float32((const float *)args->d_field + at, nx, index);
        }
    }
    return sum;
}

enum status cpu_hash(struct queue *queue, const struct hash_args *args)
{
    const struct box owned = layout_owned(&args->layout);
    uint64_t sum = 0;
#pragma omp parallel reduction(+ : sum) if (share_is_worthwhile(&owned, 1))
    {
        struct box pieces[SHARE_PIECES];
        const int npieces = share_box(&owned, omp_get_thread_num(), omp_get_num_threads(), pieces);
        for (int p = 0; p < npieces; p++) {
            sum += hash_piece(args, &pieces[p]);
        }
    }
    *args->h_hash = sum;
    return STATUS_OK;
}

/* Sum of the words of n bytes. */
static uint32_t bits_of_row(const char *row, size_t n)
{
    uint32_t sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t at = 0; at < n; at += sizeof(uint32_t)) {
        uint32_t word;
        memcpy(&word, row + at, sizeof word);
        sum += word;
    }
    return sum;
}

uint32_t cpu_bits_of(const struct add_bits_args *args, const struct box *box)
{
    const size_t cell = precision_bytes(args->layout.precision);
    const size_t n = (size_t)box_extent(box, AXIS_X) * cell;
    uint32_t sum = 0;
    for (int64_t k = box->lo[AXIS_Z]; k < box->hi[AXIS_Z]; k++) {
        for (int64_t j = box->lo[AXIS_Y]; j < box->hi[AXIS_Y]; j++) {
            const size_t at = (size_t)layout_index(&args->layout, box->lo[AXIS_X], j, k) * cell;
            sum += args->d_plus != NULL ? bits_of_row((const char *)args->d_plus + at, n) : 0;
            sum -= args->d_minus != NULL ? bits_of_row((const char *)args->d_minus + at, n) : 0;
        }
    }
    return sum;
}

enum status cpu_add_bits(struct queue *queue, const struct add_bits_args *args)
{
    uint32_t sum = 0;
    for (int b = 0; b < args->nboxes; b++) {
        const struct box *box = &args->boxes[b];
        if (box_is_empty(box)) {
            continue;
        }
#pragma omp parallel reduction(+ : sum) if (share_is_worthwhile(box, 1))
        {
            struct box pieces[SHARE_PIECES];
            const int npieces = share_box(box, omp_get_thread_num(), omp_get_num_threads(), pieces);
            for (int p = 0; p < npieces; p++) {
                sum += cpu_bits_of(args, &pieces[p]);
            }
        }
    }
    *args->d_bits += sum;
    return STATUS_OK;
}
