/* The reference of all keys as Markdown, for docs/reference/configuration.md. Caller frees. NULL when
 * out of memory. */
#pragma once

char *settings_reference(void);
