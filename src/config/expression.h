/* Formulas in the configuration, by muparser: numbers, variables, the constants pi and e, and the
 * operators and functions below. */
#pragma once

#include <stdbool.h>

#include "base/status.h"

enum { EXPRESSION_MAX_VARIABLES = 4 };

/* For messages and the reference page. */
#define EXPRESSION_OPERATORS "+ - * / ^ < > <= >= == != && || ?:"
#define EXPRESSION_FUNCTIONS                                                                       \
    "sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh exp log ln log2 log10 "     \
    "sqrt abs min max sum avg rint sign"

struct expression;
struct number_setting;

/* Parse `text` as a function of the named variables (at most EXPRESSION_MAX_VARIABLES), e.g. {"x",
 * "y", "z"}, and evaluate it once to find unknown names. Not thread-safe, nor is
 * expression_destroy: muparser has one locale and one message buffer. STATUS_INPUT with muparser's
 * message and the column when it does not parse. */
enum status expression_create(const char *text, const char *const *variables, int nvariables,
                              struct expression **expression);
void expression_destroy(struct expression *expression); /* takes NULL */

/* Is `text` a formula of these variables? */
bool expression_is_of(const char *text, const char *const *variables, int nvariables);

/* "x", "y", "z", "t". */
extern const char *const expression_place_time[EXPRESSION_MAX_VARIABLES];

/* Evaluate; `values` in the order of the variables' names. The result may be NaN or infinite.
 * Thread-safe if each thread has its own object. muparser's bulk mode is not used: it parses again
 * at each call, and changes the caller's number of threads. */
double expression_evaluate(struct expression *expression, const double *values);

/* The formula of t of a number; NULL where it has none. Fails as expression_create. */
enum status expression_of_number(const struct number_setting *number,
                                 struct expression **expression);
/* The number at time t, s, by that expression. */
double expression_number_at(const struct number_setting *number, struct expression *expression,
                            double t);
