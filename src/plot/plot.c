#include "plot/plot.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/log.h"
#include "model/field/quantity.h"

static bool is_picture(const char *output)
{
    return output != NULL && (path_ends_in(output, ".png") || path_ends_in(output, ".svg"));
}

double plot_celsius(const struct plot *plot)
{
    return plot->celsius && !quantity_used()->given ? 273.15 : 0.0;
}

enum status plot_path(struct plot *plot, const char *name, char path[PATH_BYTES])
{
    char folder[PATH_BYTES];
    char file[PATH_BYTES];
    if (is_picture(plot->output) && plot->drawn > 0) {
        return fail(STATUS_INPUT,
                    "--output %s is one picture, and there is more to plot: name it (the next is "
                    "%s), or give a folder",
                    plot->output, name);
    }
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

enum status plot_leave_out(const struct plot *plot, const char *name, const char *format, ...)
{
    char reason[STATUS_MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    if (plot->only != NULL) {
        return fail(STATUS_INPUT, "%s", reason);
    }
    log_info("no picture of %s: %s", name, reason);
    return STATUS_OK;
}
