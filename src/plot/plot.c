#include "plot/plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "config/read/settings_tree.h"
#include "io/compare/compare.h"
#include "model/field/quantity.h"

static bool is_picture(const char *output)
{
    return output != NULL && (path_ends_in(output, ".png") || path_ends_in(output, ".svg"));
}

/* report.json is YAML, too. */
static enum status read_report(const char *directory, char **text)
{
    char path[PATH_BYTES];
    SCOPED_FREE char *bytes = NULL;
    size_t nbytes = 0;
    struct tree *root = NULL;
    TRY(path_join(directory, "report.json", path));
    TRY(file_read_all(path, (size_t)1 << 28, &bytes, &nbytes));
    struct settings_origin *origin = calloc(1, sizeof *origin);
    TRY(CHECK_MEMORY(origin != NULL, "no memory for %s", path));
    const enum status status = tree_parse(origin, NULL, bytes, nbytes, &root);
    const struct tree *config = status == STATUS_OK ? tree_child(root, "config") : NULL;
    *text = config != NULL && config->kind == TREE_SCALAR ? strdup(config->text) : NULL;
    origin_destroy(origin);
    return *text != NULL ? STATUS_OK : fail(STATUS_FILE, "%s has no configuration", path);
}

struct settings *plot_settings(const struct plot *plot)
{
    SCOPED_FREE char *text = NULL;
    struct settings *settings = NULL;
    if ((frames_configuration(plot->directory, &text) != STATUS_OK &&
         read_report(plot->directory, &text) != STATUS_OK) ||
        settings_read_text(plot->directory, text, NULL, 0, &settings) != STATUS_OK) {
        fail_clear();
    }
    return settings;
}

const char *plot_title(const struct plot *plot, const char *what, char title[PLOT_TEXT_BYTES])
{
    const char *of = plot->settings != NULL ? plot->settings->title : "untitled";
    const bool named = strcmp(of, "untitled") != 0;
    snprintf(title, PLOT_TEXT_BYTES, "%.150s%s%.300s", named ? of : "", named ? ": " : "", what);
    return title;
}

double plot_celsius(const struct plot *plot)
{
    return plot->celsius && !quantity_used()->given ? 273.15 : 0.0;
}

void plot_extend(double range[2], double value)
{
    if (isfinite(value)) {
        range[0] = fmin(range[0], value);
        range[1] = fmax(range[1], value);
    }
}

enum status plot_path(struct plot *plot, const char *name, char path[PATH_BYTES])
{
    char folder[PATH_BYTES];
    char file[PATH_BYTES];
    FAIL_IF(is_picture(plot->output) && plot->drawn > 0,
            fail(STATUS_INPUT,
                 "--output %s is one picture, and there is more to plot: name it (the next is "
                 "%s), or give a folder",
                 plot->output, name));
    if (is_picture(plot->output)) {
        return snprintf(path, PATH_BYTES, "%s", plot->output) < PATH_BYTES
                   ? STATUS_OK
                   : fail(STATUS_INPUT, "the path %.60s... is too long", plot->output);
    }
    TRY(path_join(plot->directory, plot->with != NULL ? "plots/comparison" : "plots", folder));
    const char *place = plot->output != NULL ? plot->output : folder;
    TRY(directory_make(place));
    snprintf(file, sizeof file, "%.1000s.%s", name, plot->svg ? "svg" : "png");
    return path_join(place, file, path);
}

void plot_done(struct plot *plot, const char *path)
{
    plot->drawn++;
    log_info("%s", path);
}

enum status plot_leave_out(const struct plot *plot, const char *name, enum status reason)
{
    FAIL_IF(plot->only != NULL, reason);
    log_info("no picture of %s: %s", name, fail_message());
    fail_clear();
    return STATUS_OK;
}
