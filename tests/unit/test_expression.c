/* Formulas: values, names, and the messages for what does not parse. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "config/expression.h"
#include "tests/test.h"

static const char *const names[] = {"x", "y", "z"};

static double value_at(const char *text, double x, double y, double z)
{
    const double values[] = {x, y, z};
    struct expression *expression = NULL;
    if (expression_create(text, names, 3, &expression) != STATUS_OK) {
        fail_msg("%s", fail_message());
        return 0;
    }
    const double result = expression_evaluate(expression, values);
    expression_destroy(expression);
    return result;
}

TEST(test_values)
{
    const double pi = acos(-1.0);
    const struct {
        const char *text;
        double expected;
    } cases[] = {
        {"300", 300},
        {"1.5e3", 1500},
        {"x + 2*y - z/4", 1 + 4 - 0.75},
        {"-x^2", -1},
        {"2^3^2", 512},
        {"pi", pi},
        {"e", exp(1.0)},
        {"sin(x) + cos(y) + tan(z)", sin(1.0) + cos(2.0) + tan(3.0)},
        {"asin(x/2) + acos(x/2) + atan(y)", asin(0.5) + acos(0.5) + atan(2.0)},
        {"atan2(x, y)", atan2(1, 2)},
        {"asinh(x) + acosh(y) + atanh(x/2)", asinh(1.0) + acosh(2.0) + atanh(0.5)},
        {"sum(x, y, z)", 6},
        {"avg(x, y, z)", 2},
        {"(x < y && y < z) + (x > y || y > z)", 1},
        {"sinh(x) + cosh(x) + tanh(x)", sinh(1.0) + cosh(1.0) + tanh(1.0)},
        {"exp(y)", exp(2.0)},
        {"log(y)", log(2.0)},
        {"ln(y)", log(2.0)},
        {"log2(8)", 3},
        {"log10(1000)", 3},
        {"sqrt(y)", sqrt(2.0)},
        {"abs(-z)", 3},
        {"min(x, y, z)", 1},
        {"max(x, y, z)", 3},
        {"rint(2.7)", 3},
        {"sign(-z)", -1},
        {"x < y ? 10 : 20", 10},
        {"x >= y ? 10 : 20", 20},
        {"(x == 1) + (x != 1) + (x <= 1)", 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const double got = value_at(cases[i].text, 1, 2, 3);
        if (!(fabs(got - cases[i].expected) <= 4e-16 * fabs(cases[i].expected))) {
            fail_msg("%s = %.17g, expected %.17g", cases[i].text, got, cases[i].expected);
        }
    }
}

/* Evaluating anew takes the new values, and nothing of the evaluation at creation stays. */
TEST(test_evaluates_again)
{
    struct expression *expression = NULL;
    assert_int_equal(expression_create("x*x - 1/y", names, 2, &expression), STATUS_OK);
    for (int i = 1; i < 100; i++) {
        const double values[] = {i, 2.0 * i};
        assert_true(expression_evaluate(expression, values) == (double)i * i - 1 / (2.0 * i));
    }
    const double zero[] = {0, 0};
    assert_true(isinf(expression_evaluate(expression, zero)));
    expression_destroy(expression);
    expression_destroy(NULL);
}

#define KNOWN "; names are x, y, z, pi, e, functions " EXPRESSION_FUNCTIONS

TEST(test_messages)
{
    static const char *const cases[][2] = {
        {"", "Expression is empty ()"},
        {"1 +", "Unexpected end of expression at column 5 (1 +)"},
        {"300 + foo", "unknown name \"foo\" at column 7 (300 + foo)" KNOWN},
        {"t", "unknown name \"t\" at column 1 (t)" KNOWN},
        {"foo(x)", "unknown name \"foo\" at column 1 (foo(x))" KNOWN},
        {"_pi", "unknown name \"_pi\" at column 1 (_pi)" KNOWN},
        {"x % 2", "unknown character at column 3 (x % 2); operators are " EXPRESSION_OPERATORS},
        {"2x", "Unexpected variable \"x\" at column 2 (2x)"},
        {"x y", "Unexpected variable \"y\" at column 3 (x y)"},
        {"3+*x", "Unexpected operator \"*\" at column 3 (3+*x)"},
        {"x = 2", "'=' (for '=='?) at column 3 (x = 2)"},
        {"1, 2", "2 values separated by commas (1, 2)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct expression *expression = (struct expression *)&expression;
        assert_int_equal(expression_create(cases[i][0], names, 3, &expression), STATUS_INPUT);
        assert_null(expression);
        assert_string_equal(fail_message(), cases[i][1]);
    }
}

/* What messages and the reference list is there. */
TEST(test_listed_functions)
{
    char list[] = EXPRESSION_FUNCTIONS;
    char *rest = NULL;
    int count = 0;
    for (char *name = strtok_r(list, " ", &rest); name; name = strtok_r(NULL, " ", &rest)) {
        char text[64];
        struct expression *expression = NULL;
        snprintf(text, sizeof text, strcmp(name, "atan2") == 0 ? "%s(x, y)" : "%s(x)", name);
        if (expression_create(text, names, 3, &expression) != STATUS_OK) {
            fail_msg("%s", fail_message());
        }
        expression_destroy(expression);
        count++;
    }
    assert_int_equal(count, 26);
}

/* Whatever the text, creation answers with a status: nothing is thrown or printed. */
TEST(test_odd_texts)
{
    static const char *const texts[] = {"\"abc\"", "'",     "((((",  "))))",   "sqrt(-1)", "1/0",
                                        "?",       "1 ? 2", ":",     "#",      "x{",       "1e400",
                                        "é",       "sum()", "min()", "sin",    "a b c",    "_",
                                        "x==",     "&&",    "!x",    "\t\n x", "1..2"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct expression *expression = NULL;
        const enum status status = expression_create(texts[i], names, 3, &expression);
        assert_true((status == STATUS_OK) == (expression != NULL));
        expression_destroy(expression);
    }
    char longest[20001];
    for (int i = 0; i < 20000; i++) {
        longest[i] = "(-"[i % 2];
    }
    longest[20000] = '\0';
    struct expression *expression = NULL;
    assert_int_equal(expression_create(longest, names, 3, &expression), STATUS_INPUT);
    assert_non_null(strstr(fail_message(), "too long: 20000 bytes ((-(-"));
    /* muparser's own message would not fit its buffer */
    for (int i = 0; i < 4; i++) {
        memset(longest, "%a.1"[i], 19000);
        memcpy(longest, "1 + 1 ", 6);
        longest[19000] = '\0';
        assert_int_equal(expression_create(longest, names, 3, &expression), STATUS_INPUT);
        assert_true(strlen(fail_message()) < 1000);
    }
}

TEST_MAIN(NULL, NULL)
