/* The expressions of the study `mhd` against the equations themselves: periodic fields whose
 * derivatives are known in closed form, put into the equations as they stand in
 * docs/developers/studies_mhd.md. The difference must fall with the sixth power of the spacing. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/study/mhd/mhd.h"
#include "tests/test.h"

static const double pi = 3.14159265358979323846;

/* A field is c + a times the product over the axes of sin(k x + phase). */
static const struct mode {
    double c, a;
    int k[AXIS_COUNT];
    double phase[AXIS_COUNT];
} modes[MHD_FIELDS] = {
    [MHD_LNRHO] = {0.2, 0.3, {1, 1, 2}, {0.1, 0.7, 1.9}},
    [MHD_UX] = {0.1, 0.5, {1, 2, 1}, {0.3, 1.1, 0.2}},
    [MHD_UY] = {-0.3, 0.4, {2, 1, 1}, {1.3, 0.5, 0.8}},
    [MHD_UZ] = {0.2, 0.6, {1, 1, 2}, {2.1, 0.4, 1.4}},
    [MHD_S] = {0.4, 0.2, {2, 1, 1}, {0.6, 1.7, 2.5}},
    [MHD_AX] = {0.0, 0.7, {1, 1, 1}, {0.9, 0.2, 0.4}},
    [MHD_AY] = {0.5, 0.5, {1, 2, 1}, {1.8, 1.2, 0.1}},
    [MHD_AZ] = {0.1, 0.6, {2, 1, 1}, {0.5, 2.2, 1.6}},
};

/* The derivative of this order on each axis. */
static double field_at(int field, const double x[AXIS_COUNT], int nx, int ny, int nz)
{
    const struct mode *mode = &modes[field];
    const int order[AXIS_COUNT] = {nx, ny, nz};
    double product = mode->a;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const double turn = mode->k[axis] * x[axis] + mode->phase[axis] + order[axis] * pi / 2;
        product *= pow(mode->k[axis], order[axis]) * sin(turn);
    }
    return nx + ny + nz == 0 ? mode->c + product : product;
}

/* Values, gradients and second derivatives. */
struct state {
    double value[MHD_FIELDS];
    double d[MHD_FIELDS][3];
    double dd[MHD_FIELDS][3][3];
};

static struct state state_at(const double x[AXIS_COUNT])
{
    struct state s;
    for (int f = 0; f < MHD_FIELDS; f++) {
        s.value[f] = field_at(f, x, 0, 0, 0);
        for (int i = 0; i < 3; i++) {
            s.d[f][i] = field_at(f, x, i == 0, i == 1, i == 2);
            for (int j = 0; j < 3; j++) {
                s.dd[f][i][j] =
                    field_at(f, x, (i == 0) + (j == 0), (i == 1) + (j == 1), (i == 2) + (j == 2));
            }
        }
    }
    return s;
}

static double laplacian(const struct state *s, int f)
{
    return s->dd[f][0][0] + s->dd[f][1][1] + s->dd[f][2][2];
}

static double grad_div(const struct state *s, int f, int i)
{
    return s->dd[f][i][0] + s->dd[f + 1][i][1] + s->dd[f + 2][i][2];
}

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static double cross(const double a[3], const double b[3], int i)
{
    return a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
}

/* The time derivatives by equations A1 to A4. */
static void rates_at(const struct state *s, const double *p, double rate[MHD_FIELDS])
{
    const double *u = s->value + MHD_UX;
    const double gamma = p[MHD_ADIABATIC_INDEX];
    const double cp = p[MHD_HEAT_CAPACITY];
    const double mu0 = p[MHD_PERMEABILITY];
    const double rho = exp(s->value[MHD_LNRHO]);
    const double div = s->d[MHD_UX][0] + s->d[MHD_UY][1] + s->d[MHD_UZ][2];
    const double sound2 =
        pow(p[MHD_SOUND_SPEED], 2) *
        exp(gamma * s->value[MHD_S] / cp + (gamma - 1) * (s->value[MHD_LNRHO] - p[MHD_LNRHO0]));
    const double temperature = sound2 / ((gamma - 1) * cp);
    double b[3];
    double j[3];
    double ln_t[3];
    double s2 = 0;
    for (int i = 0; i < 3; i++) {
        const int next = (i + 1) % 3;
        const int last = (i + 2) % 3;
        b[i] = s->d[MHD_AX + last][next] - s->d[MHD_AX + next][last];
        j[i] = (grad_div(s, MHD_AX, i) - laplacian(s, MHD_AX + i)) / mu0;
        ln_t[i] = gamma / cp * s->d[MHD_S][i] + (gamma - 1) * s->d[MHD_LNRHO][i];
    }
    for (int i = 0; i < 3; i++) {
        double sheared = 0;
        for (int n = 0; n < 3; n++) {
            const double shear =
                (s->d[MHD_UX + i][n] + s->d[MHD_UX + n][i]) / 2 - (i == n ? div / 3 : 0);
            sheared += shear * s->d[MHD_LNRHO][n];
            s2 += shear * shear;
        }
        rate[MHD_UX + i] =
            -dot(u, s->d[MHD_UX + i]) - sound2 * (s->d[MHD_S][i] / cp + s->d[MHD_LNRHO][i]) +
            cross(j, b, i) / rho +
            p[MHD_VISCOSITY] *
                (laplacian(s, MHD_UX + i) + grad_div(s, MHD_UX, i) / 3 + 2 * sheared) +
            p[MHD_BULK_VISCOSITY] * grad_div(s, MHD_UX, i);
        rate[MHD_AX + i] = cross(u, b, i) + p[MHD_DIFFUSIVITY] * laplacian(s, MHD_AX + i);
    }
    const double lap_ln_t =
        gamma / cp * laplacian(s, MHD_S) + (gamma - 1) * laplacian(s, MHD_LNRHO);
    const double conducted = p[MHD_CONDUCTIVITY] * temperature * (lap_ln_t + dot(ln_t, ln_t));
    const double heat = p[MHD_HEATING] + conducted + p[MHD_DIFFUSIVITY] * mu0 * dot(j, j) +
                        2 * rho * p[MHD_VISCOSITY] * s2 + p[MHD_BULK_VISCOSITY] * rho * div * div;
    rate[MHD_S] = heat / (rho * temperature) - dot(u, s->d[MHD_S]);
    rate[MHD_LNRHO] = -dot(u, s->d[MHD_LNRHO]) - div;
}

/* A point of the input; before the previous substep: 0.01 (field + 1) less. */
struct place {
    double x[AXIS_COUNT];
    const double *spacing;
};

static double input(const struct place *place, int field, int x, int y, int z)
{
    const double *h = place->spacing;
    const double at[AXIS_COUNT] = {place->x[0] + x * h[0], place->x[1] + y * h[1],
                                   place->x[2] + z * h[2]};
    return field < MHD_FIELDS
               ? field_at(field, at, 0, 0, 0)
               : field_at(field - MHD_FIELDS, at, 0, 0, 0) - 0.01 * (field - MHD_FIELDS + 1);
}

/* One point, by the host's kernel from cubes of the neighbourhood. */
static void compute(const struct study_problem *wanted,
                    double (*value)(const struct place *place, int field, int x, int y, int z),
                    const struct place *place, double results[MHD_FIELDS])
{
    enum { EDGE = 2 * MHD_RADIUS + 1, CUBE = EDGE * EDGE * EDGE, CENTRE = CUBE / 2 };
    static _Alignas(64) char in[MHD_FIELDS * CUBE * sizeof(double)];
    static _Alignas(64) char out[MHD_FIELDS * CUBE * sizeof(double)];
    const enum precision precision = wanted->layout.precision;
    struct study_problem problem = *wanted;
    problem.layout = (struct layout){.precision = precision,
                                     .cells = {1, 1, 1},
                                     .origin = CENTRE,
                                     .pitch_y = EDGE,
                                     .pitch_z = EDGE * EDGE};
    problem.field_pitch = CUBE;
    for (int n = 0; n < MHD_FIELDS * CUBE; n++) {
        const int at = n % CUBE;
        precision_set(precision, in, n,
                      value(place, n / CUBE, at % EDGE - MHD_RADIUS, at / EDGE % EDGE - MHD_RADIUS,
                            at / EDGE / EDGE - MHD_RADIUS));
    }
    for (int f = 0; f < MHD_FIELDS; f++) {
        precision_set(precision, out, f * CUBE + CENTRE, value(place, MHD_FIELDS + f, 0, 0, 0));
    }
    study_run_on_host(&(struct study_call){
        .kernel = study_mhd.host, .problem = &problem, .d_out = out, .d_in = in});
    for (int f = 0; f < MHD_FIELDS; f++) {
        results[f] = precision_get(precision, out, f * CUBE + CENTRE);
    }
}

static struct study_problem problem_of(int n, enum precision precision)
{
    const struct study_case wanted = {.size = {n, n + n / 4, n + n / 2}, .precision = precision};
    struct study_problem problem;
    assert_int_equal(study_mhd.setup(&wanted, &problem), STATUS_OK);
    problem.parameter[MHD_VISCOSITY] = 0.3; /* every term matters */
    problem.parameter[MHD_BULK_VISCOSITY] = 0.2;
    problem.parameter[MHD_DIFFUSIVITY] = 0.4;
    problem.parameter[MHD_HEAT_CAPACITY] = 1.3;
    problem.parameter[MHD_SOUND_SPEED] = 0.9;
    problem.parameter[MHD_CONDUCTIVITY] = 0.25;
    problem.parameter[MHD_TIME_STEP] = 0.01;
    return problem;
}

/* The largest error of a field's rate, over the largest rate of that field, of all fields. */
static double worst_error(int n, enum precision precision)
{
    const struct study_problem problem = problem_of(n, precision);
    const double *p = problem.parameter;
    double error[MHD_FIELDS] = {0};
    double scale[MHD_FIELDS] = {0};
    for (int sample = 0; sample < 60; sample++) {
        const struct place place = {{0.37 * sample, 0.91 * sample, 1.73 * sample}, p};
        const struct state state = state_at(place.x);
        double rate[MHD_FIELDS];
        double results[MHD_FIELDS];
        rates_at(&state, p, rate);
        compute(&problem, input, &place, results);
        for (int f = 0; f < MHD_FIELDS; f++) {
            /* Williamson's third substep: w = alpha w + dt rate, f = f + beta w */
            const double w = 0.01 * (f + 1) / (15.0 / 16.0);
            const double found =
                ((results[f] - state.value[f]) / (8.0 / 15.0) + 153.0 / 128.0 * w) /
                p[MHD_TIME_STEP];
            error[f] = fmax(error[f], fabs(found - rate[f]));
            scale[f] = fmax(scale[f], fabs(rate[f]));
        }
    }
    double worst = 0;
    for (int f = 0; f < MHD_FIELDS; f++) {
        worst = fmax(worst, error[f] / scale[f]);
    }
    return worst;
}

TEST(the_order_is_six)
{
    const double errors[] = {worst_error(16, PRECISION_FLOAT64), worst_error(32, PRECISION_FLOAT64),
                             worst_error(64, PRECISION_FLOAT64)};
    print_message("errors %.2e %.2e %.2e\n", errors[0], errors[1], errors[2]);
    assert_true(errors[0] < 2e-2);
    assert_in_range((int)(errors[0] / errors[1]), 48, 80);
    assert_in_range((int)(errors[1] / errors[2]), 56, 72);
    assert_true(worst_error(64, PRECISION_FLOAT32) < 1e-3);
}

/* A uniform state at rest: only the heating acts. */
static double uniform(const struct place *place, int field, int x, int y, int z)
{
    (void)place;
    (void)x;
    (void)y;
    (void)z;
    const int f = field % MHD_FIELDS;
    return f >= MHD_UX && f <= MHD_UZ ? 0.0 : 0.25 * (f + 1);
}

TEST(a_uniform_state_is_only_heated)
{
    const struct study_problem problem = problem_of(16, PRECISION_FLOAT64);
    const double *p = problem.parameter;
    double results[MHD_FIELDS];
    compute(&problem, uniform, NULL, results);
    for (int f = 0; f < MHD_FIELDS; f++) {
        const double before = uniform(NULL, f, 0, 0, 0);
        if (f != MHD_S) {
            assert_true(fabs(results[f] - before) < 1e-13);
            continue;
        }
        const double lnrho = uniform(NULL, MHD_LNRHO, 0, 0, 0);
        const double gamma = p[MHD_ADIABATIC_INDEX];
        const double ln_t = gamma * before / p[MHD_HEAT_CAPACITY] +
                            (gamma - 1) * (lnrho - p[MHD_LNRHO0]) +
                            log(pow(p[MHD_SOUND_SPEED], 2) / (gamma - 1) / p[MHD_HEAT_CAPACITY]);
        const double heated = p[MHD_TIME_STEP] * p[MHD_HEATING] * exp(-lnrho - ln_t);
        assert_true(fabs(results[f] - before - 8.0 / 15.0 * heated) < 1e-13);
    }
}

TEST(the_exponential_of_float32_is_accurate)
{
    for (int n = -87000; n <= 88000; n++) {
        const float x = (float)n / 1000.0F;
        const double wanted = exp((double)x);
        const float next = nextafterf((float)wanted, INFINITY);
        const double ulp = (double)next - (double)(float)wanted;
        assert_true(fabs((double)mhd_exp_float32(x) - wanted) < 1.5 * ulp);
    }
    assert_true(mhd_exp_float32(0.0F) == 1.0F);
}

/* The document's measure: all fields read once and written once. */
TEST(the_traffic_is_that_of_the_study)
{
    struct study_case wanted;
    struct study_problem problem;
    assert_true(study_mhd.published(0, PRECISION_FLOAT64, &wanted));
    assert_int_equal(study_mhd.setup(&wanted, &problem), STATUS_OK);
    const struct study_traffic traffic = study_mhd.traffic(&problem, 0);
    assert_int_equal(traffic.points, 128 * 128 * 128);
    assert_int_equal(traffic.fetch_bytes, INT64_C(8) * 8 * 128 * 128 * 128);
    assert_int_equal(traffic.write_bytes, traffic.fetch_bytes);
    assert_int_equal(problem.field_pitch % problem.layout.pitch_z, 0);
    assert_true(problem.field_pitch >= problem.layout.elements);
    assert_false(study_mhd.published(2, PRECISION_FLOAT64, &wanted));
}

TEST_MAIN(NULL, NULL)
