#include "config/units.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <udunits2.h>

bool units_supported(void)
{
    return true;
}

/* The decimal number of few digits that UDUNITS' factor is a rounding of; else the factor itself.
 */
static long double tidy(double factor)
{
    char text[32];
    snprintf(text, sizeof text, "%.12g", factor);
    const long double decimal = strtold(text, NULL);
    return fabsl(decimal - factor) <= 1e-14L * fabsl(decimal) ? decimal : (long double)factor;
}

/* "0.1" times 10^-3 is the number "0.1e-3". */
static double shift_point(const char *number, int length, int power)
{
    enum { MOST = 100000 }; /* far beyond the exponents of a double */
    char text[400];
    const int digits = (int)strcspn(number, "eE");
    long exponent = digits < length ? strtol(number + digits + 1, NULL, 10) : 0;
    exponent = exponent > MOST ? MOST : exponent < -MOST ? -MOST : exponent;
    snprintf(text, sizeof text, "%.*se%ld", digits < length ? digits : length, number,
             exponent + power);
    return strtod(text, NULL);
}

/* False for a reciprocal (Hz for s) or a logarithm. */
static bool convert(const cv_converter *converter, const char *number, double *value,
                    bool *has_zero)
{
    /* a power of two leaves the factor exact where there is no zero point */
    const double far = 0x1p20;
    const double zero = cv_convert_double(converter, 0);
    const double slope = (cv_convert_double(converter, far) - zero) / far;
    const double near = cv_convert_double(converter, 0x1p10);
    if (!isfinite(zero) || !isfinite(slope) || slope <= 0 ||
        fabs(zero + slope * 0x1p10 - near) > 1e-9 * fabs(near)) {
        return false;
    }
    char *end = NULL;
    const long double typed = strtold(number, &end);
    const long double factor = tidy(slope);
    const int power = (int)lrint(log10(slope));
    *has_zero = zero != 0;
    *value = !*has_zero && fabsl(factor / powl(10, power) - 1) < 1e-14L
                 ? shift_point(number, (int)(end - number), power)
                 : (double)(typed * factor + tidy(zero));
    return true;
}

static enum status parse_and_convert(const ut_system *system, const char *number, const char *name,
                                     const struct schema_unit *unit, double *value, bool *has_zero)
{
    ut_unit *from = ut_parse(system, name, UT_UTF8);
    ut_unit *to = ut_parse(system, unit->name, UT_UTF8);
    const bool known = from != NULL && to != NULL;
    cv_converter *converter =
        known && ut_are_convertible(from, to) ? ut_get_converter(from, to) : NULL;
    const bool converted = converter != NULL && convert(converter, number, value, has_zero);
    cv_free(converter);
    ut_free(from);
    ut_free(to);
    return !known       ? fail(STATUS_INPUT, "unknown unit")
           : !converted ? fail(STATUS_INPUT, "not %s", unit->quantity)
                        : STATUS_OK;
}

enum status units_convert(struct units **units, const char *number, const char *name,
                          const struct schema_unit *unit, double *value, bool *has_zero)
{
    /* UDUNITS and strtod depend on the locale: 0,5 */
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    TRY(CHECK_MEMORY(plain != (locale_t)0, "no memory for a locale"));
    const locale_t before = uselocale(plain);
    ut_set_error_message_handler(ut_ignore); /* or it writes to stderr */
    enum status status = STATUS_OK;
    if (*units == NULL) {
        *units = (struct units *)ut_read_xml(NULL);
    }
    if (*units != NULL) {
        status = parse_and_convert((ut_system *)*units, number, name, unit, value, has_zero);
    } else {
        const char *path = getenv("UDUNITS2_XML_PATH");
        status = fail(STATUS_INPUT,
                      "units cannot be converted: UDUNITS cannot read its database%s%.200s, set "
                      "UDUNITS2_XML_PATH to its udunits2.xml",
                      path != NULL ? " " : "", path != NULL ? path : "");
    }
    uselocale(before);
    freelocale(plain);
    return status;
}

void units_destroy(struct units *units)
{
    ut_free_system((ut_system *)units);
}
