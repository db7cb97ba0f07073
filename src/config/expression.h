/* Formulas from the configuration, by muparser: numbers, the variables, the constants pi and e, and
 * the operators and functions below. */
#ifndef ISOTHERM_CONFIG_EXPRESSION_H
#define ISOTHERM_CONFIG_EXPRESSION_H

#include "base/status.h"

enum { EXPRESSION_MAX_VARIABLES = 4 };

/* What formulas know: for messages and for the reference. */
#define EXPRESSION_OPERATORS "+ - * / ^ < > <= >= == != && || ?:"
#define EXPRESSION_FUNCTIONS                                                                       \
    "sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh exp log ln log2 log10 "     \
    "sqrt abs min max sum avg rint sign"

struct expression;

/* Parse `text` as a function of the named variables (at most EXPRESSION_MAX_VARIABLES), e.g.
 * {"x", "y", "z"}, and evaluate it once to find unknown names. One thread at a time makes and
 * destroys formulas: muparser has one locale and one buffer of messages for all.
 * STATUS_INPUT with muparser's message and the position when it does not parse. */
enum status expression_create(const char *text, const char *const *variables, int nvariables,
                              struct expression **expression) MUST_CHECK;
void expression_destroy(struct expression *expression); /* takes NULL */

/* Evaluate; `values` in the order of the variables' names. The result may be NaN or infinite.
 * Several threads at a time if each has an object of its own. Not by muparser's bulk mode: that
 * parses again at each call, has a team of its own of at most 16 threads, and changes the number of
 * threads of the caller's. */
double expression_evaluate(struct expression *expression, const double *values);

#endif
