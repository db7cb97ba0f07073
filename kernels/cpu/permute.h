/* Tables of a line's length, looked up for all its cells at once. With AVX-512 only. */
#ifndef ISOTHERM_KERNELS_CPU_PERMUTE_H
#define ISOTHERM_KERNELS_CPU_PERMUTE_H

#include "kernels/cpu/stream.h"

#if STREAM_HAS_WIDE

/* Segments by number, as many as a line has cells, of which each cell finds its own. */
struct window_float64 {
    __m512d middle, by_2, by_1; /* where segment 4 begins, 2 and on, 1 and on */
};
struct window_float32 {
    __m512 middle, by_4, by_2, by_1;
};

/* Segment s begins at begin[s], which grows. */
KERNEL_INLINE struct window_float64 window_of_float64(const double *begin)
{
    return (struct window_float64){_mm512_set1_pd(begin[4]), _mm512_loadu_pd(begin + 2),
                                   _mm512_loadu_pd(begin + 1)};
}

KERNEL_INLINE struct window_float32 window_of_float32(const float *begin)
{
    return (struct window_float32){_mm512_set1_ps(begin[8]), _mm512_loadu_ps(begin + 4),
                                   _mm512_loadu_ps(begin + 2), _mm512_loadu_ps(begin + 1)};
}

/* The number of the segment of each cell, by halving. */
KERNEL_INLINE __m512i window_at_float64(const struct window_float64 *window, const double *u)
{
    const __m512d x = _mm512_loadu_pd(u);
    __mmask8 above = _mm512_cmp_pd_mask(x, window->middle, _CMP_GE_OQ);
    __m512i at = _mm512_maskz_set1_epi64(above, 4);
    above = _mm512_cmp_pd_mask(x, _mm512_permutexvar_pd(at, window->by_2), _CMP_GE_OQ);
    at = _mm512_mask_add_epi64(at, above, at, _mm512_set1_epi64(2));
    above = _mm512_cmp_pd_mask(x, _mm512_permutexvar_pd(at, window->by_1), _CMP_GE_OQ);
    return _mm512_mask_add_epi64(at, above, at, _mm512_set1_epi64(1));
}

KERNEL_INLINE __m512i window_at_float32(const struct window_float32 *window, const float *u)
{
    const __m512 x = _mm512_loadu_ps(u);
    __mmask16 above = _mm512_cmp_ps_mask(x, window->middle, _CMP_GE_OQ);
    __m512i at = _mm512_maskz_set1_epi32(above, 8);
    above = _mm512_cmp_ps_mask(x, _mm512_permutexvar_ps(at, window->by_4), _CMP_GE_OQ);
    at = _mm512_mask_add_epi32(at, above, at, _mm512_set1_epi32(4));
    above = _mm512_cmp_ps_mask(x, _mm512_permutexvar_ps(at, window->by_2), _CMP_GE_OQ);
    at = _mm512_mask_add_epi32(at, above, at, _mm512_set1_epi32(2));
    above = _mm512_cmp_ps_mask(x, _mm512_permutexvar_ps(at, window->by_1), _CMP_GE_OQ);
    return _mm512_mask_add_epi32(at, above, at, _mm512_set1_epi32(1));
}

/* An element of a table for each cell. */
KERNEL_INLINE void window_element_float64(__m512i at, const double *table, double *to)
{
    _mm512_storeu_pd(to, _mm512_permutexvar_pd(at, _mm512_loadu_pd(table)));
}

KERNEL_INLINE void window_element_float32(__m512i at, const float *table, float *to)
{
    _mm512_storeu_ps(to, _mm512_permutexvar_ps(at, _mm512_loadu_ps(table)));
}

#endif
#endif
