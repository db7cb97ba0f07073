#include <stdlib.h>

#include <tiffio.h>

#include "io/input/labels.h"

static void close_tiff(TIFF **tiff)
{
    if (*tiff != NULL) {
        TIFFClose(*tiff);
    }
}

/* The page of plane k, whose rows fit the grid. */
static enum status open_page(TIFF *tiff, const char *path, const struct grid *grid, int64_t k,
                             uint16_t *bits)
{
    uint32_t nx = 0;
    uint32_t ny = 0;
    uint16_t samples = 1;
    uint16_t format = SAMPLEFORMAT_UINT;
    FAIL_IF(!TIFFSetDirectory(tiff, (tdir_t)k),
            fail(STATUS_FILE, "page %lld of %.200s cannot be read", (long long)k, path));
    TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &nx);
    TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &ny);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &samples);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_BITSPERSAMPLE, bits);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLEFORMAT, &format);
    FAIL_IF(nx != grid->cells[AXIS_X] || ny != grid->cells[AXIS_Y],
            fail(STATUS_INPUT, "page %lld of %.200s has %u x %u pixels; the grid needs %lld x %lld",
                 (long long)k, path, nx, ny, (long long)grid->cells[AXIS_X],
                 (long long)grid->cells[AXIS_Y]));
    FAIL_IF(samples != 1 || (*bits != 8 && *bits != 16) || format != SAMPLEFORMAT_UINT ||
                TIFFIsTiled(tiff),
            fail(STATUS_INPUT,
                 "page %lld of %.200s has %d samples of %d bits; one of 8 or 16 bits, unsigned and "
                 "without tiles, is needed: labels, not colours",
                 (long long)k, path, samples, *bits));
    return STATUS_OK;
}

enum status labels_read_tiff(const char *path, const struct grid *grid, const struct box *box,
                             float *values)
{
    TIFFSetErrorHandler(NULL); /* the messages below name the page */
    TIFFSetWarningHandler(NULL);
    SCOPED_BY(close_tiff) TIFF *tiff = TIFFOpen(path, "r");
    FAIL_IF(tiff == NULL, fail(STATUS_FILE, "%.200s is missing, or not a TIFF file", path));
    const int64_t pages = TIFFNumberOfDirectories(tiff);
    FAIL_IF(pages != grid->cells[AXIS_Z],
            fail(STATUS_INPUT,
                 "%.200s has %lld pages; the grid needs %lld, one for each plane of z", path,
                 (long long)pages, (long long)grid->cells[AXIS_Z]));
    float *to = values;
    for (int64_t k = box->lo[AXIS_Z]; k < box->hi[AXIS_Z]; k++) {
        uint16_t bits = 0;
        TRY(open_page(tiff, path, grid, k, &bits));
        SCOPED_FREE unsigned char *row = calloc(1, (size_t)TIFFScanlineSize(tiff) + 1);
        TRY(CHECK_MEMORY(row != NULL, "no memory to read %.200s", path));
        for (int64_t j = 0; j < box->hi[AXIS_Y]; j++) { /* compressed rows are read in order */
            FAIL_IF(TIFFReadScanline(tiff, row, (uint32_t)j, 0) < 0,
                    fail(STATUS_FILE, "row %lld of page %lld of %.200s cannot be read",
                         (long long)j, (long long)k, path));
            for (int64_t i = box->lo[AXIS_X]; j >= box->lo[AXIS_Y] && i < box->hi[AXIS_X]; i++) {
                *to++ = bits == 8 ? (float)row[i] : (float)((const uint16_t *)(void *)row)[i];
            }
        }
    }
    return STATUS_OK;
}
