#include "config/expression.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <muParserDLL.h>

#include "config/settings.h"

enum { NAMES_BYTES = 128, LONGEST_NAME = 60, CACHE_LINE = 64 };

/* muparser's ecUNASSIGNABLE_TOKEN and ecEXPRESSION_TOO_LONG, which its C header does not define */
enum { UNKNOWN_TOKEN = 1, TOO_LONG = 37 };

struct expression {
    /* muparser reads the variables from here. A cache line of its own: other threads write to
     * theirs. */
    _Alignas(CACHE_LINE) double values[EXPRESSION_MAX_VARIABLES];
    muParserHandle_t parser;
    const char *const *variables; /* valid during parsing */
    int nvariables;
};

/* Without an error handler muparser may end the program; mupError is checked after each call. */
static void ignore_error(muParserHandle_t parser)
{
}

static void define_names(struct expression *expression, const char *const *variables,
                         int nvariables)
{
    muParserHandle_t parser = expression->parser;
    mupSetErrorHandler(parser, ignore_error);
    /* independent of the locale: 0.5 is a number, ',' separates arguments */
    mupResetLocale(parser);
    mupSetArgSep(parser, ',');
    /* muparser's _pi has 12 digits only */
    mupClearConst(parser);
    mupDefineConst(parser, "pi", 3.14159265358979323846);
    mupDefineConst(parser, "e", 2.71828182845904523536);
    /* log has meant either logarithm in versions of muparser; here it is the natural one */
    mupDefineFun1(parser, "log", log, 1);
    mupDefineFun1(parser, "ln", log, 1);
    mupDefineFun2(parser, "atan2", atan2, 1);
    expression->variables = variables;
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

/* The length of muparser's message without its position, which counts from 0: users count columns
 * from 1. */
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

/* "x, y, z, pi, e" */
static void list_names(const struct expression *expression, char names[NAMES_BYTES])
{
    names[0] = '\0';
    for (int i = 0; i < expression->nvariables; i++) {
        text_add(names, NAMES_BYTES, ", ", "%s", expression->variables[i]);
    }
    text_add(names, NAMES_BYTES, ", ", "pi, e");
}

/* An unknown name or character: muparser does not list the valid ones. */
static enum status fail_unknown(const struct expression *expression, const char *text, int position,
                                int shown)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    char names[NAMES_BYTES];
    const char *token = text + position;
    int length = (int)strspn(token, letters);
    FAIL_IF(length == 0,
            fail(STATUS_INPUT, "unknown character at column %d (%.*s); operators are %s",
                 position + 1, shown, text, EXPRESSION_OPERATORS));
    length = length < LONGEST_NAME ? length : LONGEST_NAME;
    list_names(expression, names);
    return fail(STATUS_INPUT,
                "unknown name \"%.*s\" at column %d (%.*s); names are %s, functions %s", length,
                token, position + 1, shown, text, names, EXPRESSION_FUNCTIONS);
}

/* The parser's last error. muparser writes it, with a part of the formula, into a buffer of 2048
 * bytes without checking its length. */
static const char *parser_message(muParserHandle_t parser, const char *text)
{
    return strlen(text) < 1000 ? mupGetErrorMsg(parser) : "Syntax error";
}

static enum status fail_parse(const struct expression *expression, const char *text)
{
    muParserHandle_t parser = expression->parser;
    const int position = mupGetErrorPos(parser);
    int shown = (int)strlen(text);
    while (shown > 0 && strchr(" \n\t\r", text[shown - 1]) != NULL) {
        shown--; /* a folded string of YAML ends with a newline */
    }
    FAIL_IF(mupGetErrorCode(parser) == UNKNOWN_TOKEN && position >= 0 && position < shown,
            fail_unknown(expression, text, position, shown < 200 ? shown : 200));
    shown = shown < 200 ? shown : 200;
    FAIL_IF(mupGetErrorCode(parser) == TOO_LONG,
            fail(STATUS_INPUT, "too long: %zu bytes (%.*s...)", strlen(text), shown, text));
    const char *message = parser_message(parser, text);
    FAIL_IF(position < 0,
            fail(STATUS_INPUT, "%.*s (%.*s)", message_length(message), message, shown, text));
    return fail(STATUS_INPUT, "%.*s at column %d (%.*s)", message_length(message), message,
                position + 1, shown, text);
}

static enum status parse(struct expression *expression, const char *text)
{
    const char *assignment = find_assignment(text);
    FAIL_IF(assignment != NULL, fail(STATUS_INPUT, "'=' (for '=='?) at column %d (%.200s)",
                                     (int)(assignment - text) + 1, text));
    const char *power = strstr(text, "**");
    FAIL_IF(power != NULL, fail(STATUS_INPUT, "'**' (for '^'?) at column %d (%.200s)",
                                (int)(power - text) + 1, text));
    mupErrorReset(expression->parser);
    mupSetExpr(expression->parser, text);
    FAIL_IF(mupError(expression->parser), fail_parse(expression, text));
    int nresults = 0;
    (void)mupEvalMulti(expression->parser, &nresults);
    FAIL_IF(mupError(expression->parser), fail_parse(expression, text));
    return nresults != 1
               ? fail(STATUS_INPUT, "%d values separated by commas (%.200s)", nresults, text)
               : STATUS_OK;
}

enum status expression_create(const char *text, const char *const *variables, int nvariables,
                              struct expression **expression)
{
    *expression = NULL;
    struct expression *built = aligned_alloc(CACHE_LINE, sizeof *built);
    if (built != NULL) {
        *built = (struct expression){.parser = mupCreate(muBASETYPE_FLOAT)};
    }
    if (built == NULL || built->parser == NULL) {
        free(built);
        return fail(STATUS_MEMORY, "no memory for a formula");
    }
    define_names(built, variables, nvariables);
    const enum status status = parse(built, text);
    if (status == STATUS_OK) {
        *expression = built;
    } else {
        expression_destroy(built);
    }
    return status;
}

void expression_destroy(struct expression *expression)
{
    if (expression != NULL) {
        mupRelease(expression->parser);
        free(expression);
    }
}

const char *const expression_place_time[EXPRESSION_MAX_VARIABLES] = {"x", "y", "z", "t"};

bool expression_is_of(const char *text, const char *const *variables, int nvariables)
{
    struct expression *expression = NULL;
    const enum status status = expression_create(text, variables, nvariables, &expression);
    expression_destroy(expression);
    if (status != STATUS_OK) {
        fail_clear();
    }
    return status == STATUS_OK;
}

double expression_evaluate(struct expression *expression, const double *values)
{
    memcpy(expression->values, values, sizeof(double) * (size_t)expression->nvariables);
    return mupEval(expression->parser);
}

enum status expression_of_number(const struct number_setting *number,
                                 struct expression **expression)
{
    static const char *const variables[] = {"t"};
    *expression = NULL;
    return number->formula != NULL && number->table == NULL
               ? expression_create(number->formula, variables, 1, expression)
               : STATUS_OK;
}

double expression_number_at(const struct number_setting *number, struct expression *expression,
                            double t)
{
    return number->table != NULL ? table_at(number->table, t)
           : expression != NULL  ? expression_evaluate(expression, &t)
                                 : number->value;
}
