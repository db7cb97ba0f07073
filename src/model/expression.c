#include "model/expression.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <muParserDLL.h>

struct expression {
    muParserHandle_t parser;
    int nvariables;
    double values[EXPRESSION_MAX_VARIABLES]; /* muparser reads the variables from here */
};

/* Without a handler of ours muparser may end the program; mupError is asked after each call. */
static void ignore_error(muParserHandle_t parser)
{
    (void)parser;
}

static double natural_log(double x)
{
    return log(x);
}

static double arc_tangent2(double y, double x)
{
    return atan2(y, x);
}

static void define_names(struct expression *expression, const char *const *variables,
                         int nvariables)
{
    muParserHandle_t parser = expression->parser;
    mupSetErrorHandler(parser, ignore_error);
    /* no locale: 0.5 is a number, ',' separates arguments */
    mupResetLocale(parser);
    mupSetArgSep(parser, ',');
    /* muparser has _pi and _e of its own, the former with 12 digits only */
    mupDefineConst(parser, "pi", 3.14159265358979323846);
    mupDefineConst(parser, "_pi", 3.14159265358979323846);
    mupDefineConst(parser, "e", 2.71828182845904523536);
    /* log has meant both logarithms in muparser's history; here it is the natural one */
    mupDefineFun1(parser, "log", natural_log, 1);
    mupDefineFun1(parser, "ln", natural_log, 1);
    mupDefineFun2(parser, "atan2", arc_tangent2, 1);
    expression->nvariables = nvariables;
    for (int i = 0; i < nvariables; i++) {
        mupDefineVar(parser, variables[i], &expression->values[i]);
    }
}

/* muparser would let a formula assign to its variables: x = 2. */
static const char *find_assignment(const char *text)
{
    for (const char *p = strchr(text, '='); p != NULL; p = strchr(p + 1, '=')) {
        const bool compares = p[1] == '=' || (p > text && strchr("=<>!", p[-1]) != NULL);
        if (!compares) {
            return p;
        }
    }
    return NULL;
}

/* The length of muparser's message without its own position: it counts from 0, people count
 * columns from 1. */
static int message_length(const char *message)
{
    static const char *const tails[] = {" found at position ", " at position "};
    size_t length = strlen(message);
    for (int i = 0; i < 2; i++) {
        const char *tail = strstr(message, tails[i]);
        if (tail != NULL) {
            const char *number = tail + strlen(tails[i]);
            if (number[strspn(number, "0123456789.")] == '\0') {
                length = (size_t)(tail - message);
                break;
            }
        }
    }
    while (length > 0 && message[length - 1] == '.') {
        length--;
    }
    return (int)length;
}

static enum status fail_parse(const char *text, muParserHandle_t parser)
{
    const char *message = mupGetErrorMsg(parser);
    const int position = mupGetErrorPos(parser);
    int shown = (int)strlen(text);
    while (shown > 0 && strchr(" \n\t\r", text[shown - 1]) != NULL) {
        shown--; /* a folded text of YAML ends with a newline */
    }
    shown = shown < 200 ? shown : 200;
    if (position < 0) {
        return fail(STATUS_INPUT, "%.*s (%.*s)", message_length(message), message, shown, text);
    }
    return fail(STATUS_INPUT, "%.*s at column %d (%.*s)", message_length(message), message,
                position + 1, shown, text);
}

static enum status parse(struct expression *expression, const char *text)
{
    const char *assignment = find_assignment(text);
    if (assignment != NULL) {
        return fail(STATUS_INPUT, "'=' (for '=='?) at column %d (%.200s)",
                    (int)(assignment - text) + 1, text);
    }
    mupErrorReset(expression->parser);
    mupSetExpr(expression->parser, text);
    if (mupError(expression->parser)) {
        return fail_parse(text, expression->parser);
    }
    int nresults = 0;
    (void)mupEvalMulti(expression->parser, &nresults);
    if (mupError(expression->parser)) {
        return fail_parse(text, expression->parser);
    }
    if (nresults != 1) {
        return fail(STATUS_INPUT, "%d values separated by commas (%.200s)", nresults, text);
    }
    return STATUS_OK;
}

enum status expression_create(const char *text, const char *const *variables, int nvariables,
                              struct expression **expression)
{
    *expression = NULL;
    struct expression *made = calloc(1, sizeof *made);
    if (made == NULL || (made->parser = mupCreate(muBASETYPE_FLOAT)) == NULL) {
        free(made);
        return fail(STATUS_MEMORY, "no memory for a formula");
    }
    define_names(made, variables, nvariables);
    const enum status status = parse(made, text);
    if (status != STATUS_OK) {
        expression_destroy(made);
        return status;
    }
    *expression = made;
    return STATUS_OK;
}

void expression_destroy(struct expression *expression)
{
    if (expression != NULL) {
        mupRelease(expression->parser);
        free(expression);
    }
}

double expression_evaluate(struct expression *expression, const double *values)
{
    memcpy(expression->values, values, sizeof(double) * (size_t)expression->nvariables);
    return mupEval(expression->parser);
}
