/* The reference of all keys as Markdown, for docs/reference/configuration.md. What keys and
 * sections mean is taken from the page as it is: "?" where it lacks one. Caller frees. NULL when
 * out of memory. */
#pragma once

char *settings_reference(const char *page);
