/* Boundary conditions as closures: the value beyond a face from the one inside. */
#pragma once

#include "base/box.h"
#include "config/expression.h"
#include "kernels/backend.h"
#include "model/medium/medium.h"
#include "model/space/grid.h"
#include "model/superstep/superstep.h"

struct boundary_condition {
    struct boundary_setting setting;                 /* borrows strings of the settings */
    struct expression *expression[BOUNDARY_NUMBERS]; /* of t; NULL for a number */
    const char *name;                                /* of a named patch, or NULL; borrowed */
    int64_t cells; /* of the face that have this condition; set by patch_survey_apply */
    bool moves;    /* a factor varies in time */
    bool open;     /* by a formula, so that its range is that at time 0 */
    /* The range of its cells' factors; 1 and 1 before patch_survey_apply, and without any. */
    struct boundary_range {
        double least, most;
    } range[BOUNDARY_FACTORS];
};

struct boundary {
    struct boundary_condition *face[FACE_COUNT]; /* of the face, then of its patches */
    int nconditions[FACE_COUNT];                 /* at least 1 */
    bool periodic[AXIS_COUNT];
    /* Of each entry of `surfaces` that exchanges (surface_setting_exchanges); of the others of the
     * kind BOUNDARY_UNUSED. */
    struct boundary_condition *surface;
    int nsurfaces; /* 0: none of them exchanges */
};

/* Does entry `s` of `surfaces` exchange? */
static inline bool boundary_exchanges(const struct boundary *boundary, int s)
{
    return s >= 0 && s < boundary->nsurfaces &&
           boundary->surface[s].setting.kind != BOUNDARY_UNUSED;
}

/* The keys of the quantities of a condition. */
extern const char *const boundary_number_names[BOUNDARY_NUMBERS];

/* "boundary.z_max.patches[1].NAME": a key of condition `patch` of a face; 0 is the face's own. */
enum { BOUNDARY_KEY_BYTES = 80 };
const char *boundary_key(enum face face, int patch, const char *name, char key[BOUNDARY_KEY_BYTES]);

/* The largest number of conditions of a face. */
int boundary_most_conditions(const struct boundary *boundary);

/* Does a number of any condition of a face have a factor for each cell? */
bool boundary_has_factors(const struct boundary *boundary, enum face face);
/* Does no heat pass the face, at any time? */
bool boundary_is_insulated(const struct boundary *boundary, enum face face);
/* Do the cells of the face have patches or factors: a patch_plane? */
bool boundary_is_painted(const struct boundary *boundary, enum face face);

enum status boundary_create(const struct settings *settings, struct boundary *boundary);
void boundary_destroy(struct boundary *boundary);

/* The next named patch, in the order of faces and their patches; false after the last. Starts after
 * face 0, patch 0. */
bool boundary_next_named(const struct boundary *boundary, int *face, int *patch);

/* Does any condition vary in time? And that of any surface? */
bool boundary_varies(const struct boundary *boundary);
bool boundary_surface_varies(const struct boundary *boundary);

/* Does any heat transfer coefficient? */
bool boundary_coefficient_varies(const struct boundary *boundary);

/* Does any condition radiate? */
bool boundary_any_radiates(const struct boundary *boundary);

/* A condition at one time, as all other code knows it: a given temperature; or a flux, convection
 * and radiation together. */
struct boundary_state {
    bool closed;                     /* false: periodic */
    bool fixed;                      /* BOUNDARY_VALUE is the temperature of the face, not a flux */
    double number[BOUNDARY_NUMBERS]; /* in the units of the settings; 0: not used */
    double emissivity;               /* 0: does not radiate */
};

/* Condition `patch` of `face` at time t, where boundary_check finds no error. */
struct boundary_state boundary_at(const struct boundary *boundary, const struct grid *grid,
                                  enum face face, int patch, const struct instant *when);

/* A condition of that boundary, such as that of a surface. */
struct boundary_state boundary_condition_at(const struct boundary_condition *condition,
                                            const struct instant *when);

/* The times at which an instant needs the data: its own, and of a level the start, the middle and
 * the end of the super step. Returns their number. */
enum { BOUNDARY_TIMES = 4 };
int boundary_times(const struct instant *when, double times[BOUNDARY_TIMES]);
/* The condition at each of them, where a cell's own factors follow: for boundary_moving. */
void boundary_at_times(const struct boundary *boundary, const struct grid *grid, enum face face,
                       int patch, const struct instant *when,
                       struct boundary_state at[BOUNDARY_TIMES]);
/* The condition of a cell that has these factors at these times. */
struct boundary_state boundary_moving(const struct boundary_setting *setting,
                                      const struct instant *when,
                                      const struct boundary_state at[BOUNDARY_TIMES],
                                      double factor[BOUNDARY_TIMES][BOUNDARY_FACTORS]);

/* The condition of a cell that has these factors. */
struct boundary_state boundary_scaled(const struct boundary_setting *setting,
                                      const struct boundary_state *now,
                                      const double factor[BOUNDARY_FACTORS]);
/* The conditions at the extremes of the factors: all combinations, boundary_corners of them. */
int boundary_corners(const struct boundary_condition *condition);
struct boundary_state boundary_corner(const struct boundary_condition *condition,
                                      const struct boundary_state *now, int corner);

/* Widen a range, K, by the temperatures of the boundary at that time. */
void boundary_widen(const struct boundary *boundary, const struct grid *grid,
                    const struct instant *when, double *low, double *high);

/* The same by the temperatures of one condition. */
void boundary_widen_by(const struct boundary_state *now, double *low, double *high);

/* STATUS_NUMERICS, with the key, when a formula gives no valid value at time t; with `settings`
 * STATUS_INPUT, with the line of the face in the configuration. */
enum status boundary_check(const struct settings *settings, const struct boundary *boundary,
                           const struct grid *grid, const struct medium *medium,
                           const struct instant *when);

/* The Stefan-Boltzmann constant, W/(m^2 K^4); CODATA 2018, exact. */
#define STEFAN_BOLTZMANN 5.670374419e-8

/* outside = a inside + b (docs/reference/numerics.md), unrounded, where the cells inside have the
 * conductivity k, W/(m K), and the extent h, m, across the face:
 *   temperature Tb:            a = -1, b = 2 Tb
 *   flux q, convection hc, Ta: a = (2k - hc h) / (2k + hc h), b = 2 (hc h Ta + q h) / (2k + hc h)
 *   periodic, unused:          q = 0, hc = 0
 * With radiation outside = 2 F - inside, with the temperature F of the face from
 * a F + e F^4 = inside + b; hc = 0 without convection:
 *   a = 1 + hc h / (2k), b = (hc Ta + eps sigma Ts^4) h / (2k), e = eps sigma h / (2k) */
struct face_closure {
    double a;
    double b; /* K */
    double e; /* 1/K^3; 0: does not radiate */
};
struct face_closure boundary_close(const struct boundary_state *now, double k, double h);

/* The same for any conductivity. */
struct face_exchange boundary_exchange(const struct boundary_state *now);
