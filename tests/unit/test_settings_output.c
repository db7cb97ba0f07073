/* The keys of named outputs: read, and the exact messages where they do not fit. */
#include "test_settings_common.h"

#define RESERVED "checkpoints, history, pictures, postmortem, probes, report, run, snapshots, stop"
#define TIME "time:\n  end: 10\n"
/* from line 22 on */
#define REGION(keys) "output:\n  regions:\n    - " keys "\n" TIME

static const struct damage regions[] = {
    {TIME, "output: {history: {every: 3, interval: 2}}\n" TIME,
     "c.yaml:22: output.history.interval: given together with every; give one of them"},
    {TIME, "output: {checkpoints: {keep: 3}}\n" TIME,
     "c.yaml:22: output.checkpoints: neither every nor interval nor times nor logarithmic nor "
     "walltime; give one of them"},
    {TIME, "output: {checkpoints: {walltime: 0}}\n" TIME,
     "c.yaml:22: output.checkpoints.walltime: out of range (0); give a number above 0, in s"},
    {TIME, REGION("{name: a}"),
     "c.yaml:24: output.regions[0]: neither every nor interval nor times nor logarithmic; give one "
     "of them"},
    {TIME, REGION("{every: 1}"),
     "c.yaml:24: output.regions[0].name: missing; give a string, such as middle"},
    {TIME, REGION("{name: a, interval: 0}"),
     "c.yaml:24: output.regions[0].interval: out of range (0); give a number above 0, in s"},
    {TIME, REGION("{name: a/b, every: 1}"),
     "c.yaml:24: output.regions[0].name: not a valid file name (a/b); use letters, digits, _ and "
     "-, "
     "and do not begin with -"},
    {TIME, REGION("{name: -a, every: 1}"),
     "c.yaml:24: output.regions[0].name: not a valid file name (-a); use letters, digits, _ and -, "
     "and do not begin with -"},
    {TIME, REGION("{name: Stop, every: 1}"),
     "c.yaml:24: output.regions[0].name: reserved for the run's own files (Stop); give another "
     "name than " RESERVED},
    {TIME,
     REGION("{name: top, every: 1}\n    - {name: stop2, every: 1}\n    - {name: run, every: 1}"),
     "c.yaml:26: output.regions[2].name: reserved for the run's own files (run); give another "
     "name than " RESERVED},
    {TIME,
     REGION("{name: a123456789b123456789c123456789d123456789e123456, every: 1}\n"
            "    - {name: A123456789b123456789c123456789d123456789e1234567, every: 1}"),
     "c.yaml:25: output.regions[1].name: too long (48 characters); use at most 47"},
    {TIME, REGION("{name: mid, every: 1}\n    - {name: Mid, every: 2}"),
     "c.yaml:25: output.regions[1].name: output.regions[0] already has this name (Mid); choose "
     "another"},
    {TIME, REGION("{name: a, every: 1, box: {lower: [0, 0], upper: [0.5, 0.1]}}"),
     "c.yaml:24: output.regions[0].box.upper: the box lies outside the grid in x (0.5); give a "
     "value from 0 to 0.4"},
    {TIME, REGION("{name: a, every: 1, box: {lower: [0, 0, 0, 0], upper: [0.4, 0.1]}}"),
     "c.yaml:24: output.regions[0].box.lower: 4 entries ([0, 0, 0, 0]); give a list of 1 to 3 "
     "numbers, in m, such as [0.1, 0.2, 0.3]"},
    {TIME, REGION("{name: a, every: 1, stride: [0, 1]}"),
     "c.yaml:24: output.regions[0].stride: out of range (0); give a list of 1 to 3 integers "
     "of 1 or more, such as [4, 4, 4]"},
    {TIME, REGION("{name: a, every: 1, slice: {axis: z, at: 0.5}}"),
     "c.yaml:24: output.regions[0].slice.axis: the z axis has one cell, so the grid is already a "
     "slice; give an axis with more cells"},
    {TIME, REGION("{name: a, every: 1, slice: {axis: x, at: 0.5}}"),
     "c.yaml:24: output.regions[0].slice.at: the plane lies outside the grid in x (0.5); give a "
     "value from 0 to 0.4"},
    {TIME,
     REGION("{name: a, every: 1, box: {lower: [0.1, 0], upper: [0.2, 0.1]}, slice: {axis: x, at: "
            "0.05}}"),
     "c.yaml:24: output.regions[0].slice.at: the plane lies outside the box in x (0.05); give a "
     "value from 0.1 to 0.2"},
    {TIME, REGION("{name: a, every: 1, slice: {axis: w, at: 0}}"),
     "c.yaml:24: output.regions[0].slice.axis: unknown (w); give one of x, y, z"},
    {TIME, REGION("{name: a, every: 1, sclice: {axis: x, at: 0}}"),
     "c.yaml:24: output.regions[0].sclice: unknown key; did you mean 'slice'? valid keys: "
     "name, every, interval, times, logarithmic, box, slice, stride, derived, precision, compress"},
    {TIME, REGION("middle"),
     "c.yaml:24: output.regions[0]: not a section (middle); give the keys: name, every, interval, "
     "times, logarithmic, box, slice, stride, derived, precision, compress"},
    {TIME, "output: {regions: 3}\n" TIME,
     "c.yaml:22: output.regions: not a list (3); give a list of entries, such as - {name: middle, "
     "slice: {axis: z, at: 0.5}, every: 10}"},
    {TIME, "output: {snapshots: {every: 1, derived: [T_max, arrival_time]}}\n" TIME,
     "c.yaml:22: output.snapshots.derived: arrival_time needs output.derived.isotherm, which is "
     "missing; give it, in K"},
    {TIME, REGION("{name: a, every: 1, derived: [cooling_rate]}"),
     "c.yaml:24: output.regions[0].derived: cooling_rate needs output.derived.cooling, which is "
     "missing; give it, in K"},
    {TIME, "output: {derived: {cooling: [400, 400]}}\n" TIME,
     "c.yaml:22: output.derived.cooling: not a range (from 400 to 400); give the upper temperature "
     "first"},
    {TIME, REGION("{name: a, every: 1, derived: [meltings]}"),
     "c.yaml:24: output.regions[0].derived: a time or number of meltings needs "
     "output.melting, as no material has latent_heat; give it, in K"},
    {TIME, "output: {history: {melt_pool: true}}\n" TIME,
     "c.yaml:22: output.history.melt_pool: melt_pool needs output.melting, as no material has "
     "latent_heat; give it, in K"},
    {TIME, "output: {melting: 1e12}\n" TIME,
     "c.yaml:22: output.melting: out of range (1e12): sums of temperatures are exact only below "
     "1e12 K in magnitude; give auto or a number, in K"},
    {TIME, "output: {history: {melt_pool: maybe}}\n" TIME,
     "c.yaml:22: output.history.melt_pool: unknown (maybe); give one of false, true"},
    {TIME,
     "run: {watch: {temperature: difference}}\n"
     "output: {snapshots: {every: 1, derived: [CEM43]}}\n" TIME,
     "c.yaml:23: output.snapshots.derived: CEM43 needs absolute temperatures, not "
     "run.watch.temperature: difference"},
    {TIME, REGION("{name: a, every: 1, derived: [T_mex]}"),
     "c.yaml:24: output.regions[0].derived: unknown (T_mex), did you mean 'T_max'? give a list of "
     "some of T_max, arrival_time, time_above, heat_flux, liquid_fraction, cooling_rate, "
     "melt_time, freeze_time, meltings, CEM43, material, such as "
     "[T_max, heat_flux]"},
    {TIME, REGION("{name: a, every: 1, derived: {T_max: 1}}"),
     "c.yaml:24: output.regions[0].derived: not a list ({...}); give a list of some of T_max, "
     "arrival_time, time_above, heat_flux, liquid_fraction, cooling_rate, melt_time, freeze_time, "
     "meltings, CEM43, material, such as [T_max, heat_flux]"},
};

TEST_REFUSED(regions)

#define PROBES(points) "output:\n  probes: {every: 1, points: " points "}\n" TIME
#define LINE(keys) "output:\n  lines: [" keys "]\n" TIME

static const struct damage samples[] = {
    {TIME, PROBES("[{name: a, at: [0.5, 0.1]}]"),
     "c.yaml:23: output.probes.points[0].at: the point lies outside the grid in x (0.5); give a "
     "value from 0 to 0.4"},
    {TIME, PROBES("[{name: a, at: [0.1, 0.1]}, {name: a, at: [0.2, 0.1]}]"),
     "c.yaml:23: output.probes.points[1].name: output.probes.points[0] already has this name (a); "
     "choose another"},
    {TIME, PROBES("[{name: \"a,b\", at: [0.1, 0.1]}]"),
     "c.yaml:23: output.probes.points[0].name: not a valid file name (a,b); use letters, digits, _ "
     "and -, and do not begin with -"},
    {TIME, PROBES("[{name: a, at: [0.1]}]"),
     "c.yaml:23: output.probes.points[0].at: 1 entry ([0.1]); give 2, as many as grid.cells, or 3"},
    {TIME, "output: {probes: {every: 1}}\n" TIME,
     "c.yaml:22: output.probes.points: missing; give a list of entries, such as - {name: core, at: "
     "[0.5, 0.5, 0.5]}"},
    {TIME, LINE("{name: a, from: [0, 0], to: [0.4, 0.4], points: 3, every: 1}"),
     "c.yaml:23: output.lines[0].to: the point lies outside the grid in y (0.4); give a value from "
     "0 to 0.3"},
    {TIME, LINE("{name: a, from: [0, 0], to: [0.4, 0.3], points: 1, every: 1}"),
     "c.yaml:23: output.lines[0].points: out of range (1); give an integer from 2 to 1000000"},
    {TIME, LINE("{name: history, from: [0, 0], to: [0.4, 0.3], points: 3, every: 1}"),
     "c.yaml:23: output.lines[0].name: reserved for the run's own files (history); give "
     "another name than " RESERVED},
    {TIME,
     LINE("{name: a, from: [0, 0], to: [0.4, 0.3], points: 3, every: 1}, {name: A, from: [0, 0], "
          "to: [0.4, 0.3], points: 3, every: 1}"),
     "c.yaml:23: output.lines[1].name: output.lines[0] already has this name (A); choose another"},
};

TEST_REFUSED(samples)

TEST(regions_are_read)
{
    char *text = base_with(TIME, REGION("{name: mid_1, every: 3, slice: {axis: y, at: 0.1}}\n"
                                        "    - name: Box-2\n"
                                        "      interval: 0.25\n"
                                        "      box: {lower: [0.1, 0.05], upper: [0.4, 0.2]}\n"
                                        "      stride: [2, 3]\n"
                                        "      precision: float64\n"
                                        "      compress: 4"));
    struct settings *s = read_good(text, NULL, 0);
    assert_int_equal(s->output.nregions, 2);
    const struct region_setting *plane = &s->output.regions[0];
    const struct region_setting *box = &s->output.regions[1];
    assert_string_equal(plane->name, "mid_1");
    assert_int_equal(plane->file.cadence.every, 3);
    assert_int_equal(plane->file.precision, PRECISION_FLOAT32);
    assert_true(plane->has_slice && !plane->has_box && plane->slice_at == 0.1);
    assert_int_equal(plane->slice_axis, AXIS_Y);
    assert_int_equal(plane->stride[AXIS_X], 1);
    assert_true(box->has_box && !box->has_slice && box->file.cadence.interval == 0.25);
    assert_int_equal(box->file.cadence.every, 0);
    assert_true(box->lower[AXIS_Y] == 0.05 && box->upper[AXIS_X] == 0.4);
    assert_int_equal(box->stride[AXIS_Y], 3);
    assert_int_equal(box->stride[AXIS_Z], 1);
    assert_int_equal(box->file.precision, PRECISION_FLOAT64);
    assert_int_equal(box->file.compress, 4);
    settings_destroy(s);
    free(text);
}

/* --set: one of every and interval takes the place of the other. */
TEST(sets_reach_into_regions)
{
    static const char *const sets[] = {"output.regions[0].interval=0.5",
                                       "output.regions[1].name=other", "output.regions[1].every=9"};
    char *text = base_with(TIME, REGION("{name: a, every: 3}"));
    struct settings *s = read_good(text, sets, 3);
    assert_int_equal(s->output.nregions, 2);
    assert_int_equal(s->output.regions[0].file.cadence.every, 0);
    assert_true(s->output.regions[0].file.cadence.interval == 0.5);
    assert_string_equal(s->output.regions[1].name, "other");
    settings_destroy(s);
    free(text);
}

TEST_MAIN(NULL, NULL)
