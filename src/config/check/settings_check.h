/* The checks in the `check` member of the schema's rows. STATUS_INPUT with the problem. */
#pragma once

#include "config/read/settings_value.h"
#include "config/settings.h"

/* All checks, after all keys have been read. */
enum status settings_check(struct settings *settings);
/* Lay out the cells of graded axes, of which grid.cells, lower and upper then tell. STATUS_INPUT
 * when an axis is given twice, is not ascending, or has too many cells or widths. */
enum status settings_check_axes(struct settings *settings);

/* After them. Beside ambients, and where properties vary from cell to cell, perfusion becomes
 * sources with a table over temperature. */
enum status settings_give_perfusion(struct settings *settings);

#define SETTINGS_CHECK(name)                                                                       \
    enum status settings_check_##name(const struct settings *settings, const struct item *item)
/* Sections, and entries of lists: */
SETTINGS_CHECK(material);
SETTINGS_CHECK(materials);
SETTINGS_CHECK(part);
SETTINGS_CHECK(contact);
SETTINGS_CHECK(ambient);
SETTINGS_CHECK(surface);
SETTINGS_CHECK(source);
SETTINGS_CHECK(sphere);
SETTINGS_CHECK(layer);
SETTINGS_CHECK(box);
SETTINGS_CHECK(face);
SETTINGS_CHECK(patch);
SETTINGS_CHECK(file);
SETTINGS_CHECK(slice);
SETTINGS_CHECK(probe);
SETTINGS_CHECK(impedance);
/* Values: */
SETTINGS_CHECK(part_material);
SETTINGS_CHECK(source_material);
SETTINGS_CHECK(source_surface);
SETTINGS_CHECK(source_radius);
SETTINGS_CHECK(source_position);
SETTINGS_CHECK(time);
SETTINGS_CHECK(impedance_to);
SETTINGS_CHECK(impedance_source);
SETTINGS_CHECK(inside);
SETTINGS_CHECK(derived);
SETTINGS_CHECK(melt_pool);
SETTINGS_CHECK(kelvins);
SETTINGS_CHECK(range);

static inline bool settings_axis_used(const struct settings *settings, int axis)
{
    return settings->grid.cells[axis] > 1;
}

/* A coordinate on `axis`, the item itself or a key `below` it, is from `low` to `high`; else
 * `what` ("the plane lies outside the box") is the message. */
enum status settings_check_within(const struct item *item, const char *below, const char *what,
                                  int axis, double at, double low, double high);

/* No earlier entry of the list has the name of this one, which is its first member; `compare` works
 * as strcmp. */
enum status settings_check_is_new(const struct item *entry,
                                  int (*compare)(const char *, const char *));

/* The kind of a factor for each cell, by the keys that are given. */
void settings_set_factor(struct shape_setting *factor);

/* The number of the entry with that name in a list of the configuration ("materials"), whose
 * structs have it at `place`, perhaps NULL. STATUS_INPUT about item or key, with the names of all
 * `noun`s.
 */
enum status settings_look_up(const struct settings *settings, const struct item *item,
                             const char *below, const char *name, const char *list, size_t place,
                             const char *noun, int *number);
