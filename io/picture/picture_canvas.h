/* Pixels: rectangles, smooth lines, text, and the PNG file. Origin at the top left, y downward. */
#ifndef ISOTHERM_IO_PICTURE_PICTURE_CANVAS_H
#define ISOTHERM_IO_PICTURE_PICTURE_CANVAS_H

#include <stdint.h>

#include "base/status.h"
#include "io/picture/colormap.h"

struct canvas {
    int width;
    int height;
    struct color *pixels; /* [height][width] */
};

/* All white. STATUS_MEMORY when it does not fit. */
enum status canvas_create(int width, int height, struct canvas *canvas) MUST_CHECK;
void canvas_destroy(struct canvas *canvas); /* takes one that canvas_create never saw, zeroed */

/* What lies outside the canvas is left out, here and below. */
void canvas_set(struct canvas *canvas, int x, int y, struct color color);
void canvas_rectangle(struct canvas *canvas, int x, int y, int width, int height,
                      struct color color);

/* A line through n points (in pixels, the middle of the first pixel is 0.5), with smooth edges.
 * STATUS_MEMORY when there is no room for its coverage. */
enum status canvas_polyline(struct canvas *canvas, const double (*points)[2], int n, double width,
                            struct color color) MUST_CHECK;

/* Every pixel of the font becomes scale x scale; (x, y) is the text's top left. */
enum { TEXT_SCALE = 2 };
void canvas_text(struct canvas *canvas, int x, int y, const char *text, struct color color);
int canvas_text_width(const char *text);
int canvas_text_height(void);

/* Write a whole PNG file, as file_replace does; `title` becomes its Title entry. */
enum status canvas_write_png(const struct canvas *canvas, const char *path,
                             const char *title) MUST_CHECK;

#endif
