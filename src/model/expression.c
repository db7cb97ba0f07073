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

static enum status fail_parse(const char *text, muParserHandle_t parser)
{
    const char *reason = mupGetErrorMsg(parser);
    const int position = mupGetErrorPos(parser);
    int length = (int)strlen(reason);
    /* muparser counts positions from 0, people count columns from 1: leave its count out */
    static const char *const tails[] = {" found at position ", " at position "};
    for (int i = 0; i < 2; i++) {
        const char *tail = strstr(reason, tails[i]);
        if (tail != NULL && position >= 0) {
            const char *number = tail + strlen(tails[i]);
            if (number[strspn(number, "0123456789.")] == '\0') {
                length = (int)(tail - reason);
                break;
            }
        }
    }
    while (length > 0 && (reason[length - 1] == '.' || reason[length - 1] == '\n')) {
        length--;
    }
    if (position < 0) {
        return fail(STATUS_INPUT, "%.*s (%.200s)", length, reason, text);
    }
    return fail(STATUS_INPUT, "%.*s at column %d (%.200s)", length, reason, position + 1, text);
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
                              struct expression **result)
{
    *result = NULL;
    struct expression *expression = calloc(1, sizeof *expression);
    if (expression == NULL || (expression->parser = mupCreate(muBASETYPE_FLOAT)) == NULL) {
        free(expression);
        return fail(STATUS_MEMORY, "no memory for a formula");
    }
    define_names(expression, variables, nvariables);
    const enum status status = parse(expression, text);
    if (status != STATUS_OK) {
        expression_destroy(expression);
        return status;
    }
    *result = expression;
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
