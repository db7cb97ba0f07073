/* A bitmap font for pictures: printable ASCII, 5 x 7 pixels and two rows below the line, drawn
 * for this project. */
#ifndef ISOTHERM_IO_PICTURE_FONT_H
#define ISOTHERM_IO_PICTURE_FONT_H

#include <stdbool.h>

enum { FONT_WIDTH = 5, FONT_HEIGHT = 7, FONT_ROWS = 9, FONT_ADVANCE = 6 };

/* Whether the glyph of `character` is dark at (column, row), row 0 on top; false beyond the glyph.
 * Anything but printable ASCII looks like '?'. */
bool font_pixel(unsigned char character, int column, int row);

#endif
