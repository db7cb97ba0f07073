/* The time scheme of a run, and the length of its steps. */
#include <math.h>
#include <stdio.h>

#include "model/medium/curve.h"
#include "model/superstep/superstep.h"
#include "model/timeline.h"

/* The rate of change of a cell that melts or becomes another material jumps. */
static const char *why_euler(const struct medium *medium)
{
    for (int m = 0; m < medium->nmaterials && medium->curves != NULL; m++) {
        if (medium->curves[m].melts) {
            return "a material melts";
        }
    }
    return medium->changes ? "a material becomes another one" : NULL;
}

/* Whether super steps of dt would save no levels. */
static bool is_short(const struct timeline *timeline)
{
    const struct time_setting *setting = &timeline->setting;
    const double steps = setting->dt / timeline->dt_stable * (1 - 1e-12);
    return setting->dt_auto || steps <= 1 ||
           (!setting->by_steps && steps <= superstep_stages(SCHEME_STS2, 2 * steps));
}

/* Whether forward Euler takes few steps and keeps the tolerance: the control would not earn back
 * its first steps. Errors of n steps were at most 2.4 / n of the range (docs/records/hip.md). */
static bool is_over_soon(const struct timeline *timeline)
{
    enum { FEW_STEPS = 100, ERROR = 3 };
    const struct time_setting *setting = &timeline->setting;
    const double steps = setting->end / (setting->safety * timeline->dt_stable);
    return !setting->by_steps && steps <= FEW_STEPS && steps * setting->tolerance >= ERROR &&
           setting->until_rate == 0 && setting->until_distance == 0;
}

double timeline_implicit_work(const struct timeline *timeline, int64_t cycles)
{
    enum { USUAL = 10 };
    return (double)((cycles > 0 ? cycles : USUAL) * timeline->cycle_levels +
                    timeline->linear_levels);
}

double timeline_longest_super_step(const struct timeline *timeline)
{
    return superstep_limit(SCHEME_STS2, timeline->stages_most) / 2 * timeline->dt_stable;
}

double timeline_implicit_least(const struct timeline *timeline)
{
    const int levels = timeline->stages_most + TIMELINE_ESTIMATE_LEVELS;
    return timeline_implicit_work(timeline, 0) * timeline_longest_super_step(timeline) / levels;
}

/* The levels that take about as long as a cycle of multigrid, and as finding the conductances
 * (docs/guide/time_schemes.md). */
static void find_work(struct timeline *timeline, const struct medium *medium, bool varies)
{
    enum { CYCLE = 60, UNIFORM_CYCLE = 200, LINEARISE = 200 };
    timeline->cycle_levels = medium->nclasses > 0 ? CYCLE : UNIFORM_CYCLE;
    timeline->linear_levels = varies ? LINEARISE : 0;
}

/* Whether `dt` is longer than any super step of order 2. Shorter ones always take super steps:
 * their levels are fewer than those that take as long as an implicit step. */
static bool is_long(const struct timeline *timeline)
{
    return timeline->why_explicit == NULL &&
           timeline->setting.dt > timeline_longest_super_step(timeline) * (1 + 1e-12);
}

/* Why super steps by a tolerance never become implicit ones; NULL: they may. */
static const char *why_explicit(const struct timeline *timeline)
{
    enum { FEW_STEPS = 4 };
    char key[CADENCE_KEY_BYTES + 16];
    const double least = timeline_implicit_least(timeline);
    return timeline->why_explicit != NULL ? timeline->why_explicit
           : timeline->setting.by_steps   ? "the end is a number of steps"
           : !(timeline->setting.end >= FEW_STEPS * least)
               ? "the run is too short for a few implicit steps that pay"
           : timeline_shortest_interval(timeline, key) < least
               ? "an output has an interval that is shorter than implicit steps that pay"
               : NULL;
}

/* Replace auto, and check that the problem allows the scheme. */
static enum status choose_scheme(struct timeline *timeline, const struct settings *settings,
                                 const struct medium *medium, bool linear)
{
    struct time_setting *setting = &timeline->setting;
    const char *why = why_euler(medium);
    const bool wants_tolerance = setting->tolerance > 0 || setting->max_error > 0;
    timeline->scheme_reason = "as configured";
    timeline->stages_most = superstep_stages_most(SCHEME_STS2, settings->run.precision, linear);
    if (setting->scheme == SCHEME_AUTO) {
        const bool soon = wants_tolerance && is_over_soon(timeline);
        const bool by_euler = soon || (!wants_tolerance && is_short(timeline));
        const bool longest = setting->dt_auto || setting->dt > timeline->dt_stable * (1 + 1e-12);
        const bool far = !wants_tolerance && is_long(timeline);
        setting->scheme = by_euler || why != NULL ? SCHEME_EULER
                          : far                   ? SCHEME_IMPLICIT
                                                  : SCHEME_STS2;
        setting->may_skip = wants_tolerance && setting->scheme == SCHEME_STS2;
        timeline->why_explicit = why_explicit(timeline);
        setting->may_be_implicit = setting->may_skip && timeline->why_explicit == NULL;
        timeline->scheme_reason =
            soon                           ? "auto: forward Euler keeps the tolerance in few steps"
            : by_euler && setting->dt_auto ? "auto: dt is the longest of forward Euler"
            : by_euler && longest          ? "auto: super steps of this dt take no fewer levels"
            : by_euler                     ? "auto: forward Euler can take this dt"
            : why != NULL                  ? why
            : far                          ? "auto: dt is longer than a super step can be"
            : setting->may_be_implicit     ? "auto: super steps by a tolerance, short ones partly "
                                             "without an estimate, or implicit steps"
            : wants_tolerance              ? "auto: super steps by a tolerance, "
                                             "short ones partly without an estimate"
                                           : "auto: dt is too long for forward Euler";
        setting->dt = by_euler && longest ? timeline->dt_stable : setting->dt;
    }
    setting->scheme = setting->monotone ? SCHEME_MONOTONE : setting->scheme;
    setting->by_tolerance =
        wants_tolerance && (setting->scheme == SCHEME_STS2 || setting->scheme == SCHEME_IMPLICIT);
    if (setting->scheme != SCHEME_EULER && why != NULL) {
        return settings_fail_at(timeline->origin, "time.scheme",
                                "super steps and implicit ones need smooth rates of change, but "
                                "%s; give euler",
                                why);
    }
    timeline->stages_most = superstep_stages_most(setting->scheme, settings->run.precision, linear);
    return setting->stages <= timeline->stages_most
               ? STATUS_OK
               : settings_fail_at(timeline->origin, "time.stages",
                                  "%d stages would amplify rounding errors too much with this "
                                  "precision%s; at most %d",
                                  setting->stages, linear ? "" : " in a nonlinear problem",
                                  timeline->stages_most);
}

static enum status choose_dt(struct timeline *timeline)
{
    const struct time_setting *setting = &timeline->setting;
    if (setting->scheme == SCHEME_IMPLICIT) {
        timeline->dt = setting->by_tolerance ? 2 * timeline->dt_stable : setting->dt;
        return STATUS_OK;
    }
    const int stages = setting->scheme == SCHEME_EULER ? 1
                       : setting->stages > 0           ? setting->stages
                                                       : timeline->stages_most;
    char of_stages[24] = "";
    const double stable = superstep_limit(setting->scheme, stages) / 2 * timeline->dt_stable;
    if (!(stable > 0) || !isfinite(stable)) {
        return settings_fail_at(timeline->origin, "material.conductivity",
                                "the largest stable time step would be %g s: the grid spacing or "
                                "the diffusivity is far out of range",
                                stable);
    }
    timeline->dt = setting->by_tolerance ? 2 * timeline->dt_stable
                   : setting->dt_auto    ? setting->safety * stable
                                         : setting->dt;
    /* a dt copied from a printed limit may exceed it in its last digits */
    if (timeline->dt > stable * (1 + 1e-12)) {
        if (stages > 1) {
            snprintf(of_stages, sizeof of_stages, " of %d stages", stages);
        }
        return settings_fail_at(timeline->origin, setting->dt_auto ? "time.safety" : "time.dt",
                                "the time step %.17g s is unstable on this grid; the largest "
                                "stable one%s is %.17g s%s",
                                timeline->dt, of_stages, stable,
                                stages == 1 || setting->stages > 0 ? " (`dt: auto` chooses it)"
                                                                   : "");
    }
    return STATUS_OK;
}

enum status timeline_choose_dt(struct timeline *timeline, const struct settings *settings,
                               const struct medium *medium, const struct rate_facts *rates)
{
    struct time_setting *setting = &timeline->setting;
    if (setting->steady.given) {
        setting->scheme = SCHEME_STEADY;
        setting->by_steps = true;
        setting->steps = 1;
        setting->stages = 1;
        timeline->dt = 1; /* s, a time without meaning */
        timeline->scheme_reason = "as configured";
        return STATUS_OK;
    }
    find_work(timeline, medium, !rates->linear || rates->coefficients);
    TRY(choose_scheme(timeline, settings, medium, rates->linear));
    return choose_dt(timeline);
}
