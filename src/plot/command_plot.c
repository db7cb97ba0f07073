/* isotherm plot: pictures of a run's files. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text/rows.h"
#include "io/picture/picture.h"
#include "io/series/csv.h"
#include "model/field/quantity.h"
#include "plot/plot.h"

enum { DIRECTORY, ONLY, OPERANDS = 17 };

static struct plot request = {.field = "T", .time = NAN, .from = NAN, .to = NAN};
static const char *operands[OPERANDS + 1];

static const struct option option_table[] = {
    {OPTION_STRING, "--with", "DIR2", "compare: curves of both, planes as DIR minus DIR2",
     &request.with},
    {OPTION_REAL, "--time", "T", "the saved time nearest to T s (default: the last)",
     &request.time},
    {OPTION_REAL, "--from", "T", "curves from the time T s on", &request.from},
    {OPTION_REAL, "--to", "T", "curves up to the time T s", &request.to},
    {OPTION_STRING, "--curve", "NAME,...", "of charts over time only these curves", &request.curve},
    {OPTION_FLAG, "--celsius", "", "temperatures in degrees Celsius", &request.celsius},
    {OPTION_STRING, "--plane", "z=0.05", "the plane across x, y or z (default: z, middle)",
     &request.plane},
    {OPTION_STRING, "--field", "NAME", "T (default), T_max, time_above, ...", &request.field},
    {OPTION_STRING, "--contours", "N|V,...", "isolines of planes: about N (up to 30), or at V",
     &request.contours},
    {OPTION_STRING, "--output", "NAME", "FILE.png, FILE.svg, or a folder (DIR/plots)",
     &request.output},
    {OPTION_STRING, "--film", "FILE", "a film of the states, .mp4 or .gif", &request.film},
    {OPTION_FLAG, "--svg", "", "write SVG instead of PNG", &request.svg},
    {OPTION_END, NULL, NULL, NULL, NULL},
};

static bool is_asked(const char *name)
{
    return request.only == NULL || strcmp(request.only, name) == 0;
}

/* NAME.csv of a line, or NAME.vtkhdf. */
static enum status plot_entry(const char *entry)
{
    char name[PATH_BYTES];
    char path[PATH_BYTES];
    bool is_line = false;
    const char *dot = strrchr(entry, '.');
    snprintf(name, sizeof name, "%.*s", dot != NULL ? (int)(dot - entry) : 0, entry);
    if (dot == NULL || !is_asked(name)) {
        return STATUS_OK;
    }
    if (strcmp(dot, ".vtkhdf") == 0) {
        return plot_plane(&request, name);
    }
    if (strcmp(dot, ".csv") != 0) {
        return STATUS_OK;
    }
    TRY(path_join(request.directory, entry, path));
    TRY(series_is_line(path, &is_line));
    return is_line ? plot_line(&request, name) : STATUS_OK;
}

/* Reported after all else is drawn: one damaged file hides no other. */
static void keep_first(enum status status, struct failure *first)
{
    if (first->code == STATUS_OK) {
        fail_keep(status, first);
    }
}

static enum status plot_entries(struct failure *first)
{
    SCOPED_BY(path_list_free) struct path_list names = {0};
    TRY(directory_list(request.directory, &names));
    for (int i = 0; i < names.count; i++) {
        keep_first(plot_entry(names.path[i]), first);
    }
    return STATUS_OK;
}

/* A number of lines, or values with commas. */
static enum status read_contours(struct plot *plot)
{
    const struct rows row = {.line = (char *)(uintptr_t)plot->contours};
    int count = 1;
    for (const char *at = plot->contours; *at != '\0'; at++) {
        count += *at == ',' ? 1 : 0;
    }
    FAIL_IF(count > PLOT_CONTOURS || !rows_numbers(&row, count, plot->levels),
            fail(STATUS_INPUT,
                 "--contours %s: give a number of lines up to %d, or values such as 400,500",
                 plot->contours, PLOT_CONTOURS));
    const double first = plot->levels[0];
    plot->nround =
        count == 1 && first == rint(first) && first >= 1 && first <= PLOT_CONTOURS ? (int)first : 0;
    plot->nlevels = plot->nround > 0 ? 0 : count;
    return STATUS_OK;
}

static enum status check_folder(const char *path)
{
    struct stat found;
    FAIL_IF(stat(path, &found) != 0,
            fail(STATUS_FILE, "cannot open the folder %s: %s", path, strerror(errno)));
    return S_ISDIR(found.st_mode)
               ? STATUS_OK
               : fail(STATUS_INPUT, "%s is not a folder; give the output folder of a run", path);
}

static bool has(const char *name)
{
    char path[PATH_BYTES];
    return path_join(request.directory, name, path) == STATUS_OK && file_exists(path);
}

static enum status plot_all(void)
{
    struct failure first = {.code = STATUS_OK};
    const int before = request.drawn;
    if (has("history.csv") || request.only != NULL) {
        keep_first(plot_times(&request, "history"), &first);
    }
    if (has("probes.csv") || request.only != NULL) {
        keep_first(plot_times(&request, "probes"), &first);
    }
    TRY(plot_entries(&first));
    TRY(fail_restore(&first));
    FAIL_IF(request.drawn == before && request.only != NULL,
            fail(STATUS_INPUT, "%s holds no %s to plot", request.directory, request.only));
    return request.drawn > 0
               ? STATUS_OK
               : fail(STATUS_INPUT,
                      "%s holds nothing to plot: no history.csv, probes.csv, lines or "
                      "snapshots with rows",
                      request.directory);
}

static enum status execute(void)
{
    request.directory = operands[DIRECTORY];
    FAIL_IF(!picture_supported(),
            fail(STATUS_FILE, "this build draws no pictures: install Cairo with PNG and SVG "
                              "(Debian: libcairo2-dev) and build again"));
    TRY(check_folder(request.directory));
    TRY(request.with != NULL ? check_folder(request.with) : STATUS_OK);
    TRY(request.contours != NULL ? read_contours(&request) : STATUS_OK);
    SCOPED_BY(settings_release) struct settings *settings = plot_settings(&request);
    request.settings = settings;
    if (settings != NULL) {
        quantity_use(settings);
    }
    int what = ONLY;
    if (request.film != NULL) {
        operands[ONLY] = operands[ONLY] != NULL ? operands[ONLY] : "snapshots";
        operands[ONLY + 1] = NULL; /* one film */
    }
    do {
        request.only = operands[what];
        TRY(plot_all());
    } while (operands[what] != NULL && operands[++what] != NULL);
    return STATUS_OK;
}

const struct command command_plot = {
    .name = "plot",
    .summary = "draw the files of a run: curves and planes",
    .line =
        {.usage = "isotherm plot DIR [WHAT...] [options]",
         .about =
             "Draw what the output folder DIR holds, also while the run continues. WHAT is one\n"
             "of: history, heat, faces, flows, melt_pool, melt_pool_volume, probes, zth,\n"
             "snapshots, the name of a line or of a region; without it: everything.",
         .example = "  $ isotherm plot out/quickstart\n"
                    "  $ isotherm plot out/a snapshots --time 60 --plane x --output middle.svg",
         .options = option_table,
         .operand = "DIR",
         .min_operands = 1,
         .max_operands = OPERANDS,
         .operands = operands},
    .execute = execute,
};
