#include "io/picture/picture_canvas.h"

#include <math.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "io/picture/font.h"

enum status canvas_create(int width, int height, struct canvas *canvas)
{
    const size_t bytes = (size_t)width * (size_t)height * sizeof(struct color);
    struct color *pixels = malloc(bytes);
    if (pixels == NULL) {
        return fail(STATUS_MEMORY, "no room for a picture of %d x %d pixels", width, height);
    }
    memset(pixels, 0xFF, bytes);
    *canvas = (struct canvas){.width = width, .height = height, .pixels = pixels};
    return STATUS_OK;
}

void canvas_destroy(struct canvas *canvas)
{
    free(canvas->pixels);
    canvas->pixels = NULL;
}

void canvas_set(struct canvas *canvas, int x, int y, struct color color)
{
    if (x >= 0 && x < canvas->width && y >= 0 && y < canvas->height) {
        canvas->pixels[(size_t)y * (size_t)canvas->width + (size_t)x] = color;
    }
}

void canvas_rectangle(struct canvas *canvas, int x, int y, int width, int height,
                      struct color color)
{
    for (int row = y; row < y + height; row++) {
        for (int column = x; column < x + width; column++) {
            canvas_set(canvas, column, row, color);
        }
    }
}

/* From the point (x, y) to the segment a-b. */
static double segment_distance(double x, double y, const double a[2], const double b[2])
{
    const double dx = b[0] - a[0];
    const double dy = b[1] - a[1];
    const double square = dx * dx + dy * dy;
    double along = square > 0.0 ? ((x - a[0]) * dx + (y - a[1]) * dy) / square : 0.0;
    along = fmin(fmax(along, 0.0), 1.0);
    return hypot(x - (a[0] + along * dx), y - (a[1] + along * dy));
}

static void cover_segment(const struct canvas *canvas, float *coverage, const double a[2],
                          const double b[2], double width)
{
    const double reach = 0.5 * width + 1.0;
    const int left = (int)fmax(floor(fmin(a[0], b[0]) - reach), 0.0);
    const int right = (int)fmin(ceil(fmax(a[0], b[0]) + reach), canvas->width);
    const int top = (int)fmax(floor(fmin(a[1], b[1]) - reach), 0.0);
    const int bottom = (int)fmin(ceil(fmax(a[1], b[1]) + reach), canvas->height);
    for (int y = top; y < bottom; y++) {
        for (int x = left; x < right; x++) {
            const double distance = segment_distance(x + 0.5, y + 0.5, a, b);
            const double share = fmin(fmax(0.5 * width + 0.5 - distance, 0.0), 1.0);
            float *covered = &coverage[(size_t)y * (size_t)canvas->width + (size_t)x];
            *covered = fmaxf(*covered, (float)share);
        }
    }
}

static uint8_t blend(uint8_t under, uint8_t over, float share)
{
    return (uint8_t)lroundf((float)under + ((float)over - (float)under) * share);
}

enum status canvas_polyline(struct canvas *canvas, const double (*points)[2], int n, double width,
                            struct color color)
{
    const size_t npixels = (size_t)canvas->width * (size_t)canvas->height;
    float *coverage = calloc(npixels, sizeof *coverage);
    if (coverage == NULL) {
        return fail(STATUS_MEMORY, "no room to draw a curve");
    }
    /* The whole line's coverage first: blended piece by piece, the joints would show. */
    for (int i = 0; i < n; i++) {
        cover_segment(canvas, coverage, points[i > 0 ? i - 1 : 0], points[i], width);
    }
    for (size_t i = 0; i < npixels; i++) {
        struct color *pixel = &canvas->pixels[i];
        pixel->red = blend(pixel->red, color.red, coverage[i]);
        pixel->green = blend(pixel->green, color.green, coverage[i]);
        pixel->blue = blend(pixel->blue, color.blue, coverage[i]);
    }
    free(coverage);
    return STATUS_OK;
}

void canvas_text(struct canvas *canvas, int x, int y, const char *text, struct color color)
{
    for (; *text != '\0'; text++, x += FONT_ADVANCE * TEXT_SCALE) {
        for (int row = 0; row < FONT_ROWS; row++) {
            for (int column = 0; column < FONT_WIDTH; column++) {
                if (font_pixel((unsigned char)*text, column, row)) {
                    canvas_rectangle(canvas, x + column * TEXT_SCALE, y + row * TEXT_SCALE,
                                     TEXT_SCALE, TEXT_SCALE, color);
                }
            }
        }
    }
}

int canvas_text_width(const char *text)
{
    const int n = (int)strlen(text);
    return n > 0 ? (n * FONT_ADVANCE - (FONT_ADVANCE - FONT_WIDTH)) * TEXT_SCALE : 0;
}

int canvas_text_height(void)
{
    return FONT_HEIGHT * TEXT_SCALE;
}

static void png_failed(png_structp png, png_const_charp message)
{
    (void)fail(STATUS_FILE, "libpng: %s", message);
    png_longjmp(png, 1);
}

static void png_warned(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

/* libpng leaves by longjmp when it fails; nothing in here changes after setjmp. */
static bool encode(FILE *file, png_structp png, png_infop info, const struct canvas *canvas,
                   png_text *texts, int ntexts)
{
    if (setjmp(png_jmpbuf(png))) {
        return false;
    }
    png_init_io(png, file);
    png_set_IHDR(png, info, (png_uint_32)canvas->width, (png_uint_32)canvas->height, 8,
                 PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_set_text(png, info, texts, ntexts);
    png_write_info(png, info);
    for (int y = 0; y < canvas->height; y++) {
        png_write_row(png, (png_const_bytep)&canvas->pixels[(size_t)y * (size_t)canvas->width]);
    }
    png_write_end(png, info);
    return true;
}

static enum status write_png(FILE *file, const struct canvas *canvas, const char *title)
{
    png_text texts[] = {
        {.compression = PNG_TEXT_COMPRESSION_NONE, .key = "Title", .text = (char *)title},
        {.compression = PNG_TEXT_COMPRESSION_NONE, .key = "Software", .text = "Isotherm"},
    };
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, png_failed, png_warned);
    png_infop info = png != NULL ? png_create_info_struct(png) : NULL;
    enum status status = STATUS_OK;
    if (info == NULL) {
        status = fail(STATUS_MEMORY, "no room for libpng's state");
    } else if (!encode(file, png, info, canvas, texts, 2)) {
        status = STATUS_FILE;
    }
    png_destroy_write_struct(&png, &info);
    return status;
}

enum status canvas_write_png(const struct canvas *canvas, const char *path, const char *title)
{
    char *bytes = NULL;
    size_t nbytes = 0;
    FILE *file = open_memstream(&bytes, &nbytes);
    if (file == NULL) {
        return fail(STATUS_MEMORY, "no room for %s", path);
    }
    enum status status = write_png(file, canvas, title);
    if (fclose(file) != 0 && status == STATUS_OK) {
        status = fail(STATUS_MEMORY, "no room for %s", path);
    }
    if (status == STATUS_OK) {
        status = file_replace(path, bytes, nbytes);
    }
    free(bytes);
    return status;
}
