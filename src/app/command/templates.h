/* The configurations of configs/templates and a script, which the build makes part of the program.
 */
#pragma once

struct config_template {
    const char *name;
    const char *text; /* its first line is a comment: a sentence on what the problem is */
};

extern const struct config_template config_templates[]; /* ends with a NULL name */
extern const char sweep_script[];                       /* jobscripts/sweep.py */
