/* The factors of the cells at a face: of formulas and files, fixed or varying in time. */
#pragma once

#include "model/operator/map/patch_plane.h"

/* Paint the factors of the cells of a plane at time 0; after its patches. Keeps what later times
 * need. STATUS_INPUT, with the line of the configuration, when a factor is invalid; STATUS_FILE;
 * STATUS_MEMORY. */
enum status face_factors_create(const struct problem *problem, class_reader *read,
                                struct patch_plane *plane);
/* The host memory of a plane of that many cells. */
uint64_t face_factors_bytes(const struct problem *problem, enum face face, uint64_t cells);
void face_factors_destroy(struct face_factors *moving); /* takes NULL */

/* Widen the ranges of factors from files by those of all times. */
void face_factors_survey(const struct patch_plane *plane, struct class_survey *survey);

/* The factors at a time, as plane->h_factor has them: valid until BOUNDARY_TIMES other times are
 * asked for. STATUS_NUMERICS, on this rank only, when a formula has no valid value. Not
 * thread-safe. */
enum status face_factors_at(const struct problem *problem, const struct patch_plane *plane,
                            double time, const double *factor[BOUNDARY_FACTORS]);

/* Widen a range, K, by the temperatures at a time of this rank's cells whose maps are formulas that
 * vary: boundary_widen has the range of the others. Not where a formula has no valid value. */
void face_factors_widen(const struct problem *problem, enum face face,
                        const struct patch_plane *plane, double time, double *low, double *high);
