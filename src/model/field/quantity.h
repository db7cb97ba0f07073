/* The diffusing quantity, for the labels of files, columns and messages: a temperature, unless the
 * configuration names another quantity. One for the process. */
#pragma once

#include "config/schema/schema.h"
#include "config/settings.h"

/* Use the labels of this configuration, which must outlive all output. */
void quantity_use(const struct settings *settings);
const struct quantity_setting *quantity_used(void);

/* A unit of temperatures and heat, in that of the quantity. "J", "W" and "m^3" become J/m or J/m^2,
 * for example, if axes of one cell have the default length of 1 m. */
const char *quantity_unit(const char *unit, char text[SCHEMA_UNIT_BYTES]);

static inline const char *quantity_content(void)
{
    return quantity_used()->given ? "content" : "heat";
}

/* Names of columns of a temperature, separated by commas and line ends, for the quantity in use; or
 * `back`. For a temperature they are copied. Caller frees; NULL: no memory. */
char *quantity_columns(const char *columns, bool back);

/* The note below the columns of a CSV file, with its line end: "" for a temperature. */
enum { QUANTITY_NOTE_BYTES = 600 };
const char *quantity_note(char note[QUANTITY_NOTE_BYTES]);
/* Use the quantity of the note with which a string begins; without one, or NULL: a temperature. */
void quantity_use_note(const char *text);
