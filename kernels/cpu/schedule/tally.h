/* Exact sums of long runs of cells: one accumulator, fed a row at a time. */
#pragma once

#include <math.h>
#include <stddef.h>

#include "base/exact_sum.h"
#include "kernels/operations.h"

struct tally {
    struct exact_sum *target; /* receives the sum; NULL: no sum */
    struct exact_sum sum;
    struct exact_parts parts;
    int64_t nterms; /* in parts */
};

static inline void tally_flush(struct tally *tally)
{
    exact_sum_add_parts(&tally->sum, &tally->parts);
    tally->parts = (struct exact_parts){{0}};
    tally->nterms = 0;
}

/* Invalid cells, which summarise reports, count as 0: they would overflow the counters. */
static inline double tally_term(double x)
{
    return fabs(x) < EXACT_SUM_LIMIT ? x : 0.0;
}

static inline void tally_add_one(struct tally *tally, double x)
{
    if (tally->nterms == EXACT_PARTS_MAX_TERMS) {
        tally_flush(tally);
    }
    exact_parts_add(&tally->parts, tally_term(x));
    tally->nterms++;
}

/* See exact_parts_add_binade. */
static inline void tally_add_binade(struct tally *tally, int exponent, uint64_t bits, int64_t n)
{
    if (tally->nterms + n > EXACT_PARTS_MAX_TERMS) {
        tally_flush(tally);
    }
    exact_parts_add_binade(&tally->parts, exponent, bits, (uint64_t)n);
    tally->nterms += n;
}

/* The pieces of at most EXACT_PARTS_MAX_TERMS cells. */
#define TALLY_DEFINE_ADD(name, real)                                                               \
    static inline void name(struct tally *tally, const real *cells, int64_t n)                     \
    {                                                                                              \
        for (int64_t begin = 0, end; begin < n; begin = end) {                                     \
            end = n - begin < EXACT_PARTS_MAX_TERMS ? n : begin + EXACT_PARTS_MAX_TERMS;           \
            if (tally->nterms + (end - begin) > EXACT_PARTS_MAX_TERMS) {                           \
                tally_flush(tally);                                                                \
            }                                                                                      \
            int64_t p0 = 0;                                                                        \
            int64_t p1 = 0;                                                                        \
            int64_t p2 = 0;                                                                        \
            _Pragma("omp simd reduction(+ : p0, p1, p2)") for (int64_t i = begin; i < end; i++)    \
            {                                                                                      \
                struct exact_parts one = {{0}};                                                    \
                exact_parts_add(&one, tally_term((double)cells[i]));                               \
                p0 += one.part[0];                                                                 \
                p1 += one.part[1];                                                                 \
                p2 += one.part[2];                                                                 \
            }                                                                                      \
            tally->parts.part[0] += p0;                                                            \
            tally->parts.part[1] += p1;                                                            \
            tally->parts.part[2] += p2;                                                            \
            tally->nterms += end - begin;                                                          \
        }                                                                                          \
    }
TALLY_DEFINE_ADD(tally_add_float64, double)
TALLY_DEFINE_ADD(tally_add_float32, float)
#undef TALLY_DEFINE_ADD

static inline void tally_begin(struct tally tally[FACE_COUNT], const struct coefficients *args)
{
    for (int face = 0; face < FACE_COUNT; face++) {
        tally[face] = (struct tally){.target = args->d_face_sum[face]};
    }
}

/* One thread at a time. */
static inline void tally_end(struct tally tally[FACE_COUNT])
{
    for (int face = 0; face < FACE_COUNT; face++) {
        if (tally[face].target != NULL) {
            tally_flush(&tally[face]);
            exact_sum_add(tally[face].target, &tally[face].sum);
        }
    }
}
