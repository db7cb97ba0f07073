/* The precision of the files that kernels/CMakeLists.txt compiles for each one, and lines of cells
 * in it. */
#pragma once

#include "kernels/cpu/schedule/stream.h"

#if ISOTHERM_REAL_IS_DOUBLE
#define REAL double
#define FMA fma
#define NAMED(name) name##_float64
enum { REAL_IS_DOUBLE = true };
#else
#define REAL float
#define FMA fmaf
#define NAMED(name) name##_float32
enum { REAL_IS_DOUBLE = false };
#endif

#if STREAM_HAS_WIDE
/* All cells of the line are the same. */
KERNEL_INLINE struct stream_line stream_line_of(REAL cell)
{
    return (struct stream_line){REAL_IS_DOUBLE ? _mm512_castpd_si512(_mm512_set1_pd((double)cell))
                                               : _mm512_castps_si512(_mm512_set1_ps((float)cell))};
}

/* The line with another value of the cells of which `cells` has a bit. */
KERNEL_INLINE struct stream_line stream_line_with_bits(struct stream_line line, unsigned cells,
                                                       __m512i other)
{
    return (struct stream_line){REAL_IS_DOUBLE
                                    ? _mm512_mask_mov_epi64(line.bits, (__mmask8)cells, other)
                                    : _mm512_mask_mov_epi32(line.bits, (__mmask16)cells, other)};
}

/* The line with another value of one cell. */
KERNEL_INLINE struct stream_line stream_line_with(struct stream_line line, int at, REAL cell)
{
    return stream_line_with_bits(line, 1U << at, stream_line_of(cell).bits);
}

/* A bit for each cell of a line that is at least `value`. */
KERNEL_INLINE unsigned stream_line_reached(struct stream_line line, REAL value)
{
    const __m512i other = stream_line_of(value).bits;
    return REAL_IS_DOUBLE ? _mm512_cmp_pd_mask(_mm512_castsi512_pd(line.bits),
                                               _mm512_castsi512_pd(other), _CMP_GE_OQ)
                          : _mm512_cmp_ps_mask(_mm512_castsi512_ps(line.bits),
                                               _mm512_castsi512_ps(other), _CMP_GE_OQ);
}

/* Of each cell of a line the number of the last of four ascending values that it is not below; 0
 * if there is none. */
KERNEL_INLINE struct stream_line stream_line_find(struct stream_line line, const REAL begin[4])
{
    struct stream_line at = {_mm512_setzero_si512()};
    for (int n = 1; n < 4; n++) {
        at = stream_line_with_bits(at, stream_line_reached(line, begin[n]),
                                   REAL_IS_DOUBLE ? _mm512_set1_epi64(n) : _mm512_set1_epi32(n));
    }
    return at;
}

/* Of each cell that one of four values. */
KERNEL_INLINE struct stream_line stream_line_choose(struct stream_line at, const REAL of[4])
{
    return (struct stream_line){
        REAL_IS_DOUBLE ? _mm512_castpd_si512(_mm512_permutexvar_pd(
                             at.bits, _mm512_castpd256_pd512(_mm256_loadu_pd((const double *)of))))
                       : _mm512_castps_si512(_mm512_permutexvar_ps(
                             at.bits, _mm512_castps128_ps512(_mm_loadu_ps((const float *)of))))};
}
#endif

/* Are all cells of a line in [from, to)? */
KERNEL_INLINE bool line_within(const REAL *u, REAL from, REAL to)
{
#if STREAM_HAS_WIDE
    const __m512i x = stream_line_load(u).bits;
    const __m512i end = stream_line_of(to).bits;
    const unsigned reached = stream_line_reached((struct stream_line){x}, from);
    return REAL_IS_DOUBLE ? _mm512_mask_cmp_pd_mask((__mmask8)reached, _mm512_castsi512_pd(x),
                                                    _mm512_castsi512_pd(end), _CMP_LT_OQ) == 0xFF
                          : _mm512_mask_cmp_ps_mask((__mmask16)reached, _mm512_castsi512_ps(x),
                                                    _mm512_castsi512_ps(end), _CMP_LT_OQ) == 0xFFFF;
#elif defined(__AVX__)
    __m256 in = _mm256_castsi256_ps(_mm256_set1_epi64x(-1));
    for (int half = 0; half < 2; half++) {
        const REAL *part = u + half * (STREAM_PART_BYTES / sizeof(REAL));
        if (REAL_IS_DOUBLE) {
            const __m256d x = _mm256_loadu_pd((const double *)part);
            const __m256d of_x =
                _mm256_and_pd(_mm256_cmp_pd(x, _mm256_set1_pd((double)from), _CMP_GE_OQ),
                              _mm256_cmp_pd(x, _mm256_set1_pd((double)to), _CMP_LT_OQ));
            in = _mm256_and_ps(in, _mm256_castpd_ps(of_x));
        } else {
            const __m256 x = _mm256_loadu_ps((const float *)part);
            const __m256 of_x =
                _mm256_and_ps(_mm256_cmp_ps(x, _mm256_set1_ps((float)from), _CMP_GE_OQ),
                              _mm256_cmp_ps(x, _mm256_set1_ps((float)to), _CMP_LT_OQ));
            in = _mm256_and_ps(in, of_x);
        }
    }
    return _mm256_movemask_ps(in) == 0xFF;
#else
    int outside = 0; /* without branches, so that the compiler uses vectors */
    for (size_t i = 0; i < STREAM_LINE_BYTES / sizeof(REAL); i++) {
        outside |= !(u[i] >= from) | !(u[i] < to);
    }
    return outside == 0;
#endif
}
