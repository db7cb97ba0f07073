/* The solutions. On an axis of length L:
 *   temperature: 0 at both ends        f = cos(beta x - pi/2),     beta L = pi
 *   flux:        insulated, plus a     f = cos(beta x),            beta L = pi
 *                steady slope -q/k
 *   convection:  both ends             f = cos(beta (x - L/2)),    beta tan(beta L/2) = hc/k
 *   periodic:                          f = cos(beta x + 0.3),      beta L = 2 pi
 *   mixed: insulated at x = 0,         f = cos(beta x),            beta tan(beta L) = hc/k
 *          convection at x = L
 * and T = base + slope x + prod f exp(-alpha t sum beta^2). In the semi-discrete solution beta^2
 * becomes (4/h^2) sin^2(beta h/2) and, for convection, hc/k = (2/h) tan(beta h/2) tan(beta ..).
 * Temperature as f(t): only the last axis varies, T = base + cos(beta x + 0.4) exp(-alpha beta^2
 * t), and its ends follow the solution; the semi-discrete value at a face has the factor cos(beta
 * h/2). Flux and convection as f(t) have the same solution; the coefficient varies too. So has
 * radiation, around HOT, with the ambient to which a face at that temperature loses that flux.
 * For orders above 2 the time steps must not show: n steps of forward Euler, exact in space,
 * multiply the mode by (1 - rate dt)^n, which is exp(-rate' t) at the times of the steps. The
 * solution is compared as means over cells: each mode has the factor sin(beta h/2) / (beta h/2). */
#include "app/command/verify_case.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/box.h"
#include "model/medium/boundary.h"
#include "model/superstep/superstep.h"

static const double PI = 3.14159265358979323846;
static const double CONDUCTIVITY = 2.5;                /* W/(m K) */
static const double HEAT_CAPACITY_VOLUME = 4.0 * 1.25; /* J/(m^3 K) */
static const double LENGTH[AXIS_COUNT] = {1.0, 0.8, 1.25};
static const double BASE = 2.0;        /* K */
static const double HOT = 500.0;       /* K, of faces that radiate */
static const double COEFFICIENT = 3.0; /* W/(m^2 K) */
static const double EMISSIVITY = 0.8;
static const double FLUX = 1.5; /* W/m^2, in at the lower end, out at the upper end */
static const double PHASE = 0.4;
static const double FOURIER = 0.4; /* alpha dt sum 1/h^2: 1/6 would cancel two errors */
static const double DECAY = 0.7;   /* the mode decays to exp(-DECAY) */

enum { STAGES = 16 }; /* of super steps */

struct mode {
    double beta;  /* 1/m */
    double phase; /* f = cos(beta x + phase) */
    double decay; /* beta^2, or its discrete counterpart */
    double h;
};

struct scene {
    enum verify_kind kind;
    int dimensions;
    int moving_axis; /* of kinds with functions of time; otherwise -1 */
    int cells;
    bool discrete;
    struct mode mode[AXIS_COUNT];
    bool stiff;  /* the initial state has a mode that varies from cell to cell */
    double rate; /* 1/s */
    int order;   /* of the stencil */
    enum time_scheme scheme;
};

const char *verify_kind_name(enum verify_kind kind)
{
    static const char *const names[VERIFY_KINDS] = {
#define VERIFY_NAME(name, text) text,
        VERIFY_KIND_LIST(VERIFY_NAME)
#undef VERIFY_NAME
    };
    return names[kind];
}

/* Left-hand sides of the convection conditions, rising from 0 to infinity in (0, limit). */
static double robin_balance(double beta, double reach, double h)
{
    /* h = 0: the limit of (2/h) tan(beta h/2) */
    const double slope = h > 0 ? 2.0 / h * tan(beta * h / 2.0) : beta;
    return slope * tan(beta * reach);
}

static double solve_robin(double reach, double h)
{
    double low = 0;
    double high = PI / (2.0 * reach);
    for (int i = 0; i < 200; i++) {
        const double middle = 0.5 * (low + high);
        if (robin_balance(middle, reach, h) < COEFFICIENT / CONDUCTIVITY) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return 0.5 * (low + high);
}

static bool is_of_time(enum verify_kind kind)
{
    return kind == VERIFY_TEMPERATURE_OF_TIME || kind >= VERIFY_FLUX_OF_TIME;
}

static double base_of(const struct scene *scene)
{
    return scene->kind == VERIFY_RADIATION_OF_TIME ? HOT : BASE;
}

static void make_mode(struct scene *scene, int axis)
{
    struct mode *mode = &scene->mode[axis];
    const double length = LENGTH[axis];
    mode->h = length / scene->cells;
    const double h = scene->discrete ? mode->h : 0;
    const bool centred = scene->kind == VERIFY_CONVECTION;
    mode->beta = centred || scene->kind == VERIFY_MIXED
                     ? solve_robin(centred ? length / 2.0 : length, h)
                     : (scene->kind == VERIFY_PERIODIC ? 2.0 : 1.0) * PI / length;
    mode->phase = centred                             ? -mode->beta * length / 2.0
                  : scene->kind == VERIFY_TEMPERATURE ? -PI / 2.0
                  : scene->kind == VERIFY_PERIODIC    ? 0.3
                  : is_of_time(scene->kind)           ? PHASE
                                                      : 0;
    const double s = 2.0 / mode->h * sin(mode->beta * mode->h / 2.0);
    mode->decay = scene->discrete ? s * s : mode->beta * mode->beta;
}

static bool moves(const struct scene *scene, int axis)
{
    return axis < scene->dimensions && (scene->moving_axis < 0 || scene->moving_axis == axis);
}

static void make_scene(enum verify_kind kind, int dimensions, int cells, bool discrete,
                       struct scene *scene)
{
    *scene = (struct scene){
        .kind = kind,
        .dimensions = dimensions,
        .moving_axis = is_of_time(kind) ? dimensions - 1 : -1,
        .cells = cells,
        .discrete = discrete,
        .order = 2,
    };
    for (int axis = 0; axis < dimensions; axis++) {
        make_mode(scene, axis);
        if (moves(scene, axis)) {
            scene->rate += CONDUCTIVITY / HEAT_CAPACITY_VOLUME * scene->mode[axis].decay;
        }
    }
}

/* The mean of the modes over a cell, over their value at its centre; 1 for order 2. */
static double share_of_mean(const struct scene *scene)
{
    double share = 1;
    for (int axis = 0; axis < scene->dimensions && scene->order > 2; axis++) {
        const double half = scene->mode[axis].beta * scene->mode[axis].h / 2;
        share *= moves(scene, axis) ? sin(half) / half : 1;
    }
    return share;
}

/* T(x, y, z, t), or T(x, y, z) at t = 0. */
static void add_solution(FILE *out, const struct scene *scene, bool with_time)
{
    fprintf(out, "%.17g", base_of(scene));
    if (scene->kind == VERIFY_FLUX) {
        for (int axis = 0; axis < scene->dimensions; axis++) {
            fprintf(out, "-%.17g*%s", FLUX / CONDUCTIVITY, axis_name((enum axis)axis));
        }
    }
    fprintf(out, "+%.17g", with_time ? share_of_mean(scene) : 1.0);
    for (int axis = 0; axis < scene->dimensions; axis++) {
        if (moves(scene, axis)) {
            fprintf(out, "*cos(%.17g*%s+(%.17g))", scene->mode[axis].beta,
                    axis_name((enum axis)axis), scene->mode[axis].phase);
        }
    }
    if (with_time) {
        fprintf(out, "*exp(-%.17g*t)", scene->rate);
    }
    for (int axis = 0; axis < scene->dimensions && scene->stiff && !with_time; axis++) {
        const int half_waves = scene->cells - (scene->kind == VERIFY_PERIODIC ? 2 : 1);
        fprintf(out, "%scos(%.17g*%s)", axis == 0 ? "+" : "*", half_waves * PI / LENGTH[axis],
                axis_name((enum axis)axis));
    }
}

/* A face at which the solution varies in time. With b = beta h/2, the temperature of the face has
 * the factor cos b, and the heat that flows in is k 2/h sin b times the sine in place of the
 * cosine. */
static void add_face_of_time(FILE *out, const struct scene *scene, int axis, enum side side)
{
    const struct mode *mode = &scene->mode[axis];
    const double phase = mode->beta * (side == SIDE_MIN ? 0 : LENGTH[axis]) + PHASE;
    const double face = (scene->discrete ? cos(mode->beta * mode->h / 2.0) : 1.0) * cos(phase);
    const double slope = sqrt(mode->decay) * sin(phase) * (side == SIDE_MIN ? 1 : -1);
    if (!moves(scene, axis)) {
        fprintf(out, "{type: flux, value: 0}\n");
    } else if (scene->kind == VERIFY_FLUX_OF_TIME) {
        fprintf(out, "{type: flux, value: \"(%.17g)*exp(-%.17g*t)\"}\n", CONDUCTIVITY * slope,
                scene->rate);
    } else if (scene->kind == VERIFY_TEMPERATURE_OF_TIME) {
        fprintf(out, "{type: temperature, value: \"%.17g+(%.17g)*exp(-%.17g*t)\"}\n", BASE, face,
                scene->rate);
    } else if (scene->kind == VERIFY_RADIATION_OF_TIME) {
        const double lost = CONDUCTIVITY * slope / (EMISSIVITY * STEFAN_BOLTZMANN);
        fprintf(out,
                "{type: radiation, emissivity: %.17g, ambient: "
                "\"sqrt(sqrt((%.17g+(%.17g)*exp(-%.17g*t))^4+(%.17g)*exp(-%.17g*t)))\"}\n",
                EMISSIVITY, HOT, face, scene->rate, lost, scene->rate);
    } else {
        char coefficient[80];
        snprintf(coefficient, sizeof coefficient, "%.17g*(1+0.5*sin(%.17g*t))", COEFFICIENT,
                 3 * scene->rate);
        fprintf(out,
                "{type: convection, coefficient: \"%s\", "
                "ambient: \"%.17g+((%.17g)+(%.17g)/(%s))*exp(-%.17g*t)\"}\n",
                coefficient, BASE, face, CONDUCTIVITY * slope, coefficient, scene->rate);
    }
}

static void add_face(FILE *out, const struct scene *scene, int axis, enum side side)
{
    const bool closed = scene->kind == VERIFY_MIXED && side == SIDE_MIN;
    fprintf(out, "  %s: ", face_name(face_of((enum axis)axis, side)));
    if (is_of_time(scene->kind)) {
        add_face_of_time(out, scene, axis, side);
    } else if (scene->kind == VERIFY_TEMPERATURE) {
        fprintf(out, "{type: temperature, value: %.17g}\n", BASE);
    } else if (scene->kind == VERIFY_FLUX || closed) {
        fprintf(out, "{type: flux, value: %.17g}\n", closed ? 0 : side == SIDE_MIN ? FLUX : -FLUX);
    } else if (scene->kind == VERIFY_PERIODIC) {
        fprintf(out, "{type: periodic}\n");
    } else {
        fprintf(out, "{type: convection, coefficient: %.17g, ambient: %.17g}\n", COEFFICIENT, BASE);
    }
}

static void add_config(FILE *out, const struct scene *scene, double dt, int steps)
{
    int n[AXIS_COUNT];
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        n[axis] = axis < scene->dimensions ? scene->cells : 1;
    }
    fprintf(out, "title: verify\n");
    fprintf(out, "grid: {cells: [%d, %d, %d], lower: [0, 0, 0], upper: [%.17g, %.17g, %.17g]}\n",
            n[0], n[1], n[2], LENGTH[0], LENGTH[1], LENGTH[2]);
    fprintf(out, "material: {conductivity: %.17g, density: 4.0, heat_capacity: %.17g}\n",
            CONDUCTIVITY, HEAT_CAPACITY_VOLUME / 4.0);
    fprintf(out, "initial:\n  - expression: {value: \"");
    add_solution(out, scene, false);
    fprintf(out, "\"}\nboundary:\n");
    for (int axis = 0; axis < scene->dimensions; axis++) {
        add_face(out, scene, axis, SIDE_MIN);
        add_face(out, scene, axis, SIDE_MAX);
    }
    fprintf(out, "time: {steps: %d, dt: %.17g", steps, dt);
    if (scene->scheme != SCHEME_EULER) {
        fprintf(out,
                scene->scheme == SCHEME_IMPLICIT ? ", scheme: implicit"
                : scene->scheme == SCHEME_STS1   ? ", scheme: sts1, stages: %d"
                : scene->scheme == SCHEME_STS2   ? ", scheme: sts2, stages: %d"
                                                 : ", scheme: sts2, monotone: true, stages: %d",
                STAGES);
    }
    fprintf(out, "}\n");
    fprintf(out, "run: {%sstencil: {order: %d}}\n",
            scene->kind == VERIFY_RADIATION_OF_TIME ? "" : "watch: {temperature: difference}, ",
            scene->order);
}

static enum status write_problem(const struct scene *scene, double dt, int steps,
                                 struct verify_problem *problem)
{
    FILE *config = fmemopen(problem->config, sizeof problem->config, "w");
    FILE *exact = fmemopen(problem->exact, sizeof problem->exact, "w");
    bool complete = config != NULL && exact != NULL;
    if (complete) {
        add_config(config, scene, dt, steps);
        add_solution(exact, scene, true);
    }
    complete = (config == NULL || fclose(config) == 0) && complete;
    complete = (exact == NULL || fclose(exact) == 0) && complete;
    return CHECK_MEMORY(complete, "a verification problem is too long");
}

/* dt with alpha dt sum 1/h^2 = fourier. */
static double step_of(const struct scene *scene, double fourier)
{
    double inverse = 0;
    for (int axis = 0; axis < scene->dimensions; axis++) {
        inverse += 1.0 / (scene->mode[axis].h * scene->mode[axis].h);
    }
    return fourier * HEAT_CAPACITY_VOLUME / CONDUCTIVITY / inverse;
}

static void choose_steps(const struct scene *scene, double *dt, int *steps)
{
    *dt = step_of(scene, FOURIER);
    *steps = (int)ceil(DECAY / scene->rate / *dt);
}

enum status verify_problem_in_space(enum verify_kind kind, int dimensions, int level,
                                    struct verify_problem *problem)
{
    struct scene scene;
    double dt = 0;
    int steps = 0;
    make_scene(kind, dimensions, 12, false, &scene);
    choose_steps(&scene, &dt, &steps);
    make_scene(kind, dimensions, 12 << level, false, &scene);
    const int factor = 1 << (2 * level); /* the same end time for all levels */
    return write_problem(&scene, dt / factor, steps * factor, problem);
}

enum status verify_problem_of_order(enum verify_kind kind, int order, int dimensions, int level,
                                    struct verify_problem *problem)
{
    /* of the higher orders, rounding would show on finer grids */
    static const int coarsest[] = {[4] = 16, [6] = 12, [8] = 8};
    const int cells = coarsest[order] * (level == 0 ? 4 : level == 1 ? 6 : 9) / 4;
    static const double fourier = 0.15; /* of the stiffest closure at most 2 / 12.3 */
    struct scene scene;
    make_scene(kind, dimensions, cells, false, &scene);
    const double end = DECAY / 4 / scene.rate; /* the same for all levels */
    const int steps = (int)ceil(end / step_of(&scene, fourier));
    const double dt = end / steps;
    scene.order = order;
    scene.rate = -log1p(-scene.rate * dt) / dt;
    return write_problem(&scene, dt, steps, problem);
}

enum status verify_problem_in_time(enum verify_kind kind, enum time_scheme scheme, int dimensions,
                                   int level, struct verify_problem *problem)
{
    struct scene scene;
    double dt = 0;
    int steps = 0;
    make_scene(kind, dimensions, scheme == SCHEME_EULER ? 24 : 16, true, &scene);
    choose_steps(&scene, &dt, &steps);
    scene.scheme = scheme;
    if (scheme != SCHEME_EULER) {
        const double end = steps * dt;
        const double longest = superstep_limit(scheme, STAGES) / 2 * step_of(&scene, 0.5);
        steps = scheme == SCHEME_IMPLICIT ? 8 : 4 * (int)ceil(end / longest);
        dt = end / steps;
        if (level == VERIFY_STIFF) {
            scene.stiff = true;
            return write_problem(&scene, longest, 10, problem);
        }
    }
    return write_problem(&scene, dt / (1 << level), steps << level, problem);
}
