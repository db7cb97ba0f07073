/* Derived fields of one cell: the expressions that every backend evaluates. Comparisons, and
 * arithmetic in a fixed order with explicit fma, for the same bits everywhere (heat_cell.h).
 * Included by C and by HIP sources. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/cell/fixed_exp.h"
#include "kernels/cell/heat_cell.h"

/* What `track` keeps of each cell. */
enum tracked {
    TRACK_HIGHEST,  /* K, so far; NaN before the first sample */
    TRACK_ARRIVAL,  /* s, of the first sample at or above the isotherm; NaN before */
    TRACK_ABOVE,    /* s, above the threshold */
    TRACK_COOLING,  /* K/s, the last time between the temperatures `cooling`; NaN before */
    TRACK_MELTED,   /* s, of the first sample above the melting temperature; NaN before */
    TRACK_FROZEN,   /* s, of the last sample that was below it again; NaN before */
    TRACK_MELTINGS, /* how often a sample was above it, and the one before was not */
    TRACK_DOSE,     /* min, thermal dose */
    TRACK_PREVIOUS, /* K, of the previous sample; the others of the past need it */
    TRACK_COOLED,   /* s, when a cell cooled through cooling[0], until it passes cooling[1]; NULL
                       where these are equal: a rate between the samples around them */
    TRACK_COUNT
};

/* One sample. The fields are float64 in device memory, with one layout without halo; NULL if not
 * kept. */
struct track_sample {
    bool first;        /* the first sample of these fields */
    double time;       /* s, of this sample */
    double weight;     /* s, since the previous sample; 0 for the first */
    double isotherm;   /* K */
    double cooling[2]; /* K: the temperatures of the rate, from above */
    double threshold;  /* K */
    double melting;    /* K */
    double *d_kept[TRACK_COUNT];
};

/* Cumulative equivalent minutes at 43 degC, CEM43, of one minute at a temperature in K: R^(43 - T)
 * with R = 0.5 from 43 degC on and 0.25 below (S. A. Sapareto, W. C. Dewey, Int. J. Radiation
 * Oncology Biology Physics 10, 1984). From 143 degC on as at 143 degC. */
KERNEL_INLINE double derived_dose_rate(double temperature)
{
    const double beyond = temperature - 316.15;
    const double halvings = beyond < 0 ? 2 * beyond : beyond > 100 ? 100.0 : beyond;
    return fixed_exp(0x1.62e42fefa39efp-1 * (halvings < -1000 ? -1000.0 : halvings));
}

/* The time at which a cell passes a temperature, linear between two samples. */
KERNEL_INLINE double derived_passage(const struct track_sample *sample, double before,
                                     double temperature, double passed)
{
    return fma(-sample->weight, (passed - temperature) / (before - temperature), sample->time);
}

KERNEL_INLINE void derived_cool(const struct track_sample *sample, int64_t at, double before,
                                double temperature)
{
    double *since = sample->d_kept[TRACK_COOLED];
    const double upper = sample->cooling[0];
    const double lower = sample->cooling[1];
    const bool passes = before >= lower && temperature < lower;
    double *rate = sample->d_kept[TRACK_COOLING] + at;
    if (since == NULL) {
        *rate = passes ? (before - temperature) / sample->weight : *rate;
        return;
    }
    if (before >= upper && temperature < upper) {
        since[at] = derived_passage(sample, before, temperature, upper);
    }
    if (passes && since[at] <= sample->time) { /* false for NaN: it has not been above since */
        *rate = (upper - lower) / (derived_passage(sample, before, temperature, lower) - since[at]);
        since[at] = NAN;
    }
}

/* Add a sample to what is kept at element `at`. */
KERNEL_INLINE void derived_track(const struct track_sample *sample, int64_t at, double temperature)
{
    double *const *kept = sample->d_kept;
    const bool first = sample->first;
    const bool melted = temperature > sample->melting;
    double before = temperature;
    if (kept[TRACK_HIGHEST] != NULL) {
        const double highest = kept[TRACK_HIGHEST][at];
        kept[TRACK_HIGHEST][at] = highest >= temperature ? highest : temperature;
    }
    if (kept[TRACK_ARRIVAL] != NULL) {
        const bool there = kept[TRACK_ARRIVAL][at] <= sample->time; /* false for NaN */
        if (!there && temperature >= sample->isotherm) {
            kept[TRACK_ARRIVAL][at] = sample->time;
        }
    }
    if (kept[TRACK_ABOVE] != NULL) {
        const double above = first ? 0.0 : kept[TRACK_ABOVE][at];
        kept[TRACK_ABOVE][at] = temperature > sample->threshold ? above + sample->weight : above;
    }
    if (kept[TRACK_MELTED] != NULL) {
        const bool there = kept[TRACK_MELTED][at] <= sample->time;
        if (!there && melted) {
            kept[TRACK_MELTED][at] = sample->time;
        }
    }
    if (kept[TRACK_DOSE] != NULL) {
        const double dose = first ? 0.0 : kept[TRACK_DOSE][at];
        kept[TRACK_DOSE][at] = fma(sample->weight / 60, derived_dose_rate(temperature), dose);
    }
    if (kept[TRACK_PREVIOUS] != NULL) {
        before = kept[TRACK_PREVIOUS][at];
        kept[TRACK_PREVIOUS][at] = temperature;
    }
    if (kept[TRACK_COOLING] != NULL && !first) {
        derived_cool(sample, at, before, temperature);
    }
    if (kept[TRACK_FROZEN] != NULL && !first && before > sample->melting && !melted) {
        kept[TRACK_FROZEN][at] = sample->time;
    }
    if (kept[TRACK_MELTINGS] != NULL) {
        const double meltings = first ? 0.0 : kept[TRACK_MELTINGS][at];
        const bool was = !first && before > sample->melting;
        kept[TRACK_MELTINGS][at] = melted && !was ? meltings + 1 : meltings;
    }
}

KERNEL_INLINE double derived_square(double qx, double qy, double qz)
{
    return fma(qx, qx, fma(qy, qy, qz * qz));
}

/* The square of the heat flux, W^2/m^4. scale: k / (2 h) per axis, W/(m^2 K): the mean of the
 * fluxes k (T - T+) / h through the two faces of the cell. The root is taken by extract_root, since
 * not every device rounds it as IEEE 754 requires. */
KERNEL_INLINE double derived_flux_squared(double xm, double xp, double ym, double yp, double zm,
                                          double zp, double sx, double sy, double sz)
{
    const double qx = sx * (xm - xp);
    const double qy = sy * (ym - yp);
    const double qz = sz * (zm - zp);
    return derived_square(qx, qy, qz);
}

/* The same in a medium of classes, for one axis: scale (gm (c - m) + gp (p - c)), with the
 * conductances g of medium_cell.h to the neighbours m and p. The sign does not matter. */
KERNEL_INLINE double derived_flux_between(double c, double m, double p, double gm, double gp,
                                          double scale)
{
    return scale * fma(gm, c - m, gp * (p - c));
}
