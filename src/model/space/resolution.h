/* Whether the grid resolves the shapes of `parts` and of patches, and has faces for `contacts`. */
#pragma once

#include "model/operator/map/class_map.h"

/* STATUS_INPUT, with the line in the configuration, when a part or patch contains no cell centre.
 * Conditions are left to resolution_check_cells and patch_survey_apply. */
enum status resolution_check(const struct problem *problem);

/* After class_survey_apply: STATUS_INPUT when a part given by a condition has no cells. */
enum status resolution_check_cells(const struct problem *problem);

/* Compare the cells of entry `index`, of the parts and then of the patches, with its shape. `text`
 * receives a warning when thickness, area or volume differ by more than 5 %, else "". False behind
 * the last entry. */
enum { RESOLUTION_TEXT = 512 };
bool resolution_warning(const struct problem *problem, int index, char text[RESOLUTION_TEXT]);
void resolution_warn(const struct problem *problem); /* all of them, to the log */

/* With the survey of all cells: STATUS_INPUT when the materials of a contact or surface never meet,
 * not even after cells have become another material. */
enum status resolution_check_contacts(const struct problem *problem,
                                      const struct class_survey *survey);
