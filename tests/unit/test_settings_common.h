/* A small configuration for the tests to damage, and what to expect of it. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/settings.h"
#include "tests/test.h"

static const char base_text[] =
    "title: base\n"                                                /* 1 */
    "grid:\n"                                                      /* 2 */
    "  cells: [16, 12]\n"                                          /* 3 */
    "  lower: [0, 0]\n"                                            /* 4 */
    "  upper: [0.4, 0.3]\n"                                        /* 5 */
    "material:\n"                                                  /* 6 */
    "  conductivity: 45\n"                                         /* 7 */
    "  density: 7850\n"                                            /* 8 */
    "  heat_capacity: 490\n"                                       /* 9 */
    "initial:\n"                                                   /* 10 */
    "  - uniform: {value: 300}\n"                                  /* 11 */
    "  - sphere: {center: [0.1, 0.1], radius: 0.05, value: 900}\n" /* 12 */
    "  - box:\n"                                                   /* 13 */
    "      lower: [0.2, 0.1]\n"                                    /* 14 */
    "      upper: [0.3, 0.2]\n"                                    /* 15 */
    "      value: 200\n"                                           /* 16 */
    "boundary:\n"                                                  /* 17 */
    "  x_min: {type: temperature, value: 350}\n"                   /* 18 */
    "  x_max: {type: flux, value: -5}\n"                           /* 19 */
    "  y_min: {type: convection, coefficient: 10, ambient: 293}\n" /* 20 */
    "  y_max: {type: temperature, value: \"300 + t\"}\n"           /* 21 */
    "time:\n"                                                      /* 22 */
    "  end: 10\n";                                                 /* 23 */

/* A copy of base_text with the first `from` replaced by `to`; caller frees. */
static inline char *base_with(const char *from, const char *to)
{
    const char *at = strstr(base_text, from);
    if (at == NULL) {
        fail_msg("the base text has no '%s'", from);
        return NULL;
    }
    const size_t room = sizeof base_text + strlen(to);
    char *text = malloc(room);
    assert_non_null(text);
    snprintf(text, room, "%.*s%s%s", (int)(at - base_text), base_text, to, at + strlen(from));
    return text;
}

/* Must be readable. Caller destroys. */
static inline struct settings *read_good(const char *text, const char *const *sets, int nsets)
{
    struct settings *settings = NULL;
    if (settings_read_text("c.yaml", text, sets, nsets, &settings) != STATUS_OK) {
        fail_msg("%s", fail_message());
    }
    assert_non_null(settings);
    return settings;
}

/* Must be refused with STATUS_INPUT and exactly this message. */
static inline void expect_refused(const char *text, const char *const *sets, int nsets,
                                  const char *message)
{
    struct settings *settings = (struct settings *)&settings;
    const enum status status = settings_read_text("c.yaml", text, sets, nsets, &settings);
    if (status == STATUS_OK) {
        settings_destroy(settings);
        fail_msg("accepted; expected: %s", message);
    }
    assert_string_equal(fail_message(), message);
    assert_int_equal(status, STATUS_INPUT);
    assert_null(settings);
}

/* What is replaced in the base text, by what, and the message that must come. */
struct damage {
    const char *from;
    const char *to;
    const char *message;
};

static inline void expect_all(const struct damage *cases, size_t ncases)
{
    for (size_t i = 0; i < ncases; i++) {
        char *text = base_with(cases[i].from, cases[i].to);
        expect_refused(text, NULL, 0, cases[i].message);
        free(text);
    }
}

#define EXPECT_ALL(cases) expect_all(cases, sizeof(cases) / sizeof((cases)[0]))
#define TEST_REFUSED(cases)                                                                        \
    TEST(test_##cases)                                                                             \
    {                                                                                              \
        EXPECT_ALL(cases);                                                                         \
    }
