/* The frame of a test program. Each TEST(name) {...} is a test of its own; they run in the order of
 * the file, which ends with one of the mains. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* cmocka's macro `fail` would hide the function of base/status.h */
#undef fail
#undef fail_msg
#define fail_msg(...)                                                                              \
    do {                                                                                           \
        print_error(__VA_ARGS__);                                                                  \
        print_error("\n");                                                                         \
        _fail(__FILE__, __LINE__);                                                                 \
    } while (0)

enum { TESTS_MOST = 64 };

struct test_list {
    struct CMUnitTest tests[TESTS_MOST];
    size_t count;
};

static inline struct test_list *test_list(void)
{
    static struct test_list list;
    return &list;
}

static inline void test_add(const char *name, CMUnitTestFunction test, CMFixtureFunction setup,
                            CMFixtureFunction teardown)
{
    struct test_list *list = test_list();
    const struct CMUnitTest added = {name, test, setup, teardown, NULL};
    if (list->count == TESTS_MOST) {
        abort();
    }
    list->tests[list->count++] = added;
}

/* `setup` and `teardown`: before and after the test; NULL: none. */
#define TEST_WITH(name, setup, teardown)                                                           \
    static void name(void **test_state);                                                           \
    __attribute__((constructor(1000 + __LINE__))) static void name##_add(void)                     \
    {                                                                                              \
        test_add(#name, name, setup, teardown);                                                    \
    }                                                                                              \
    static void name(void **test_state __attribute__((unused)))
#define TEST(name) TEST_WITH(name, NULL, NULL)

/* Run all tests of this file, with `setup` before the first and `teardown` after the last one.
 * Returns the number of failures; 1 without a test. */
static inline int test_run(CMFixtureFunction setup, CMFixtureFunction teardown)
{
    const struct test_list *list = test_list();
    if (list->count == 0) {
        print_error("no test in the file that calls test_run\n");
        return 1;
    }
    return _cmocka_run_group_tests("tests", list->tests, list->count, setup, teardown);
}

#define TEST_MAIN(setup, teardown)                                                                 \
    int main(void)                                                                                 \
    {                                                                                              \
        return test_run(setup, teardown);                                                          \
    }
