/* isotherm import: a configuration from inputs of HotSpot or 3D-ICE, by jobscripts/import.py. */
#include <inttypes.h>
#include <stdio.h>

#include "app/command/commands.h"

enum { FILES_MOST = 6 };

static struct {
    const char *files[FILES_MOST];
    const char *output;
    int64_t cells, layer_cells;
    bool transient;
} options = {.output = "imported.yaml"};

static const struct option option_table[] = {
    {OPTION_STRING, "--output", "FILE", "the configuration (default imported.yaml)",
     &options.output},
    {OPTION_COUNT, "--cells", "N", "cells across the chip (default 64, or as in .stk)",
     &options.cells},
    {OPTION_COUNT, "--layer-cells", "N", "cells across each layer (default 4; .stk: 1)",
     &options.layer_cells},
    {OPTION_FLAG, "--transient", "", "HotSpot: the power trace in time, not its mean",
     &options.transient},
    {OPTION_END, NULL, NULL, NULL, NULL},
};

static enum status execute(void)
{
    char cells[24];
    char layer_cells[24];
    snprintf(cells, sizeof cells, "%" PRId64, options.cells);
    snprintf(layer_cells, sizeof layer_cells, "%" PRId64, options.layer_cells);
    const char *words[SCRIPT_WORDS + FILES_MOST + 9] = {[SCRIPT_WORDS] = "--output",
                                                        options.output,
                                                        "--cells",
                                                        cells,
                                                        "--layer-cells",
                                                        layer_cells};
    int count = SCRIPT_WORDS + 6;
    if (options.transient) {
        words[count++] = "--transient";
    }
    words[count++] = "--";
    for (int i = 0; i < FILES_MOST && options.files[i] != NULL; i++) {
        words[count++] = options.files[i];
    }
    return script_execute(import_script, words);
}

const struct command command_import = {
    .name = "import",
    .summary = "write a configuration from inputs of HotSpot or 3D-ICE",
    .line = {.usage = "isotherm import FILE... [options]",
             .about =
                 "Turn the inputs of HotSpot (.flp or .lcf, .ptrace, .config, .materials) or of\n"
                 "3D-ICE (.stk; its .flp files are found from there) into a configuration, and\n"
                 "check it. The ending of a file gives its kind. Unsupported inputs, such as\n"
                 "microchannels, are errors. Needs Python 3.",
             .example = "  $ isotherm import ev6.flp gcc.ptrace hotspot.config --output ev6.yaml\n"
                        "  $ isotherm import stack.stk --output stack.yaml",
             .options = option_table,
             .operand = "FILE",
             .min_operands = 1,
             .max_operands = FILES_MOST,
             .operands = options.files},
    .execute = execute,
};
