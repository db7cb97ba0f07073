#include "kernels/study/mhd/mhd.h"

#include <inttypes.h>

/* The planes of a field, with room for the end of its last row: fields begin with a plane. */
static int64_t planes_of(const struct layout *layout)
{
    return (layout->elements + layout->pitch_z - 1) / layout->pitch_z;
}

/* A periodic cube of edge 2 pi, and a time step of a tenth of the spacing. */
static enum status setup(const struct study_case *wanted, struct study_problem *problem)
{
    const double values[MHD_PARAMETERS] = {
        [MHD_VISCOSITY] = 5e-3,   [MHD_BULK_VISCOSITY] = 1e-2, [MHD_DIFFUSIVITY] = 5e-3,
        [MHD_PERMEABILITY] = 1.4, [MHD_HEAT_CAPACITY] = 1.0,   [MHD_ADIABATIC_INDEX] = 5.0 / 3.0,
        [MHD_SOUND_SPEED] = 1.0,  [MHD_LNRHO0] = 0.1,          [MHD_CONDUCTIVITY] = 1e-3,
        [MHD_HEATING] = 0.05};
    const int halo[AXIS_COUNT] = {MHD_RADIUS, MHD_RADIUS, MHD_RADIUS};
    double least = 0;
    *problem = (struct study_problem){.nfields = MHD_FIELDS, .radius = MHD_RADIUS};
    for (int n = 0; n < MHD_PARAMETERS; n++) {
        problem->parameter[n] = values[n];
    }
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const double spacing = 2.0 * 3.14159265358979323846 / (double)wanted->size[axis];
        least = axis == 0 || spacing < least ? spacing : least;
        problem->parameter[MHD_SPACING_X + axis] = spacing;
    }
    problem->parameter[MHD_TIME_STEP] = 0.1 * least;
    TRY(layout_create(wanted->size, halo, wanted->precision, &problem->layout));
    problem->field_pitch = planes_of(&problem->layout) * problem->layout.pitch_z;
    if (problem->field_pitch > INT32_MAX / MHD_FIELDS) {
        return fail(STATUS_INPUT, "at most %d values with halos, not %" PRId64, INT32_MAX,
                    problem->field_pitch * MHD_FIELDS);
    }
    return STATUS_OK;
}

/* Central differences of order 6, over the spacing. */
static void differences(const double *h, struct mhd_weights_float64 *w)
{
    const double first[3] = {45.0 / 60.0, -9.0 / 60.0, 1.0 / 60.0};
    const double second[3] = {270.0 / 180.0, -27.0 / 180.0, 2.0 / 180.0};
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        for (int a = 0; a < MHD_RADIUS; a++) {
            w->first[axis][a] = first[a] / h[axis];
            w->second[axis][a] = second[a] / (h[axis] * h[axis]);
        }
        w->second_centre[axis] = -490.0 / 180.0 / (h[axis] * h[axis]);
    }
}

/* The derivatives as the viscous force and the current need them. */
static void products(const double *h, double nu, double grad_div, double over_mu0,
                     struct mhd_weights_float64 *w)
{
    const double mixed[3] = {270.0 / 720.0, -27.0 / 720.0, 2.0 / 720.0};
    const int pairs[3][2] = {{AXIS_X, AXIS_Y}, {AXIS_X, AXIS_Z}, {AXIS_Y, AXIS_Z}};
    for (int n = 0; n < 3; n++) {
        for (int a = 0; a < MHD_RADIUS; a++) {
            const double weight = mixed[a] / (h[pairs[n][0]] * h[pairs[n][1]]);
            w->viscous[n][a] = nu * w->second[n][a];
            w->viscous_own[n][a] = (nu + grad_div) * w->second[n][a];
            w->viscous_mixed[n][a] = grad_div * weight;
            w->current_mixed[n][a] = over_mu0 * weight;
        }
        w->viscous_centre[n] =
            nu * (w->second_centre[0] + w->second_centre[1] + w->second_centre[2]) +
            grad_div * w->second_centre[n];
    }
}

void mhd_make_weights_float64(const struct study_problem *problem, struct mhd_weights_float64 *w)
{
    const double *p = problem->parameter;
    const double gamma = p[MHD_ADIABATIC_INDEX];
    const double cp = p[MHD_HEAT_CAPACITY];
    const double sound2 = p[MHD_SOUND_SPEED] * p[MHD_SOUND_SPEED];
    /* J. H. Williamson, J. Comput. Phys. 35 (1980) 48 */
    const double alpha3 = -153.0 / 128.0;
    const double beta2 = 15.0 / 16.0;
    *w = (struct mhd_weights_float64){
        .two_nu = 2.0 * p[MHD_VISCOSITY],
        .zeta = p[MHD_BULK_VISCOSITY],
        .eta = p[MHD_DIFFUSIVITY],
        .over_mu0 = 1.0 / p[MHD_PERMEABILITY],
        .eta_mu0 = p[MHD_DIFFUSIVITY] * p[MHD_PERMEABILITY],
        .over_cp = 1.0 / cp,
        .gamma_over_cp = gamma / cp,
        .gamma_less_1 = gamma - 1.0,
        .lnrho0 = p[MHD_LNRHO0],
        .sound2 = sound2,
        .over_t0 = (gamma - 1.0) * cp / sound2, /* c_s^2 = (gamma - 1) c_p T */
        .conductivity = p[MHD_CONDUCTIVITY],
        .heating = p[MHD_HEATING],
        .dt = p[MHD_TIME_STEP],
        .alpha = alpha3 / beta2,
        .beta = 8.0 / 15.0,
    };
    differences(p + MHD_SPACING_X, w);
    products(p + MHD_SPACING_X, p[MHD_VISCOSITY], p[MHD_VISCOSITY] / 3.0 + p[MHD_BULK_VISCOSITY],
             w->over_mu0, w);
}

void mhd_make_weights_float32(const struct study_problem *problem, struct mhd_weights_float32 *w)
{
    struct mhd_weights_float64 wide;
    mhd_make_weights_float64(problem, &wide);
    const double *from = (const double *)&wide; /* the same members, all of one type */
    float *to = (float *)w;
    for (size_t n = 0; n < sizeof wide / sizeof *from; n++) {
        to[n] = (float)from[n];
    }
}

#define DEFINE_ROW(type, suffix)                                                                   \
    static void row_##suffix(type *restrict out, const type *restrict in, int64_t n,               \
                             const struct study_problem *problem,                                  \
                             const struct mhd_weights_##suffix *w)                                 \
    {                                                                                              \
        const ptrdiff_t f = problem->field_pitch;                                                  \
        const ptrdiff_t y = problem->layout.pitch_y;                                               \
        const ptrdiff_t z = problem->layout.pitch_z;                                               \
        _Pragma("GCC ivdep") for (int64_t i = 0; i < n; i++)                                       \
        {                                                                                          \
            struct mhd_column_##suffix column;                                                     \
            type values[MHD_FIELDS];                                                               \
            for (int field = 0; field < MHD_FIELDS; field++) {                                     \
                values[field] = out[i + field * f];                                                \
            }                                                                                      \
            mhd_column_at_##suffix(in + i, f, y, z, w, &column);                                   \
            mhd_point_##suffix(in + i, f, y, &column, values, w, values);                          \
            for (int field = 0; field < MHD_FIELDS; field++) {                                     \
                out[i + field * f] = values[field];                                                \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static STUDY_ROWS(rows_##suffix, type, struct mhd_weights_##suffix, mhd_make_weights_##suffix, \
                      row_##suffix)
DEFINE_ROW(double, float64)
DEFINE_ROW(float, float32)

/* As in the study: every field read once and written once. The previous state, which is read too,
 * is not counted. */
static struct study_traffic traffic(const struct study_problem *problem, int part)
{
    const uint64_t points = study_cells(problem);
    const uint64_t bytes = MHD_FIELDS * points * precision_bytes(problem->layout.precision);
    return (struct study_traffic){.fetch_bytes = bytes, .write_bytes = bytes, .points = points};
}

static bool published(int index, enum precision precision, struct study_case *found)
{
    const int64_t n = index == 0 ? 128 : 256;
    *found = (struct study_case){{n, n, n}, precision, MHD_RADIUS};
    return index < 2;
}

/* In [0, 1], as in the study's verification. */
static double value(int field, int phase)
{
    return (double)phase / 100.0;
}

const struct study study_mhd = {
    .name = "mhd",
    .reads_output = true,
    .setup = setup,
    .traffic = traffic,
    .published = published,
    .value = value,
    .host = {{.name = "cached", .about = "row by row", .rows = {rows_float64, rows_float32}}}};
