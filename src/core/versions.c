/* versions.c - the protocol revisions we speak */
#include "core/versions.h"

#include <string.h>

/* Newest first. */
static const char *const modern_versions[] = {MCPI_VERSION_MODERN};
static const char *const legacy_versions[] = {MCPI_VERSION_LEGACY, "2025-06-18",
                                              "2025-03-26", "2024-11-05"};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const *
versions_of(bool modern, size_t *ret_count)
{
    *ret_count = modern ? COUNT(modern_versions) : COUNT(legacy_versions);
    return modern ? modern_versions : legacy_versions;
}

bool
mcpi_version_is_before(const char *version, const char *other)
{
    return strcmp(version, other) < 0;
}

const char *
mcpi_version_find(const char *text, bool modern)
{
    size_t count;
    const char *const *versions = versions_of(modern, &count);

    for (size_t i = 0; text && i < count; i++)
        if (strcmp(versions[i], text) == 0)
            return versions[i];
    return NULL;
}

static bool
array_has(const mcp_json *array, const char *text)
{
    mcp_json_iterator it;

    for (it = mcp_json_each(array); mcp_json_next(&it);)
        if (mcp_json_is_string(it.value, text))
            return true;
    return false;
}

const char *
mcpi_version_choose(const mcp_json *supported, bool modern)
{
    size_t count;
    const char *const *versions = versions_of(modern, &count);

    if (mcp_json_get_type(supported) != MCP_JSON_ARRAY)
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (array_has(supported, versions[i]))
            return versions[i];
    return NULL;
}

static void
write_some(struct mcpi_buf *buf, bool modern, bool *comma)
{
    size_t count;
    const char *const *versions = versions_of(modern, &count);

    for (size_t i = 0; i < count; i++) {
        if (*comma)
            mcpi_buf_char(buf, ',');
        *comma = true;
        mcpi_buf_char(buf, '"');
        mcpi_buf_text(buf, versions[i]);
        mcpi_buf_char(buf, '"');
    }
}

void
mcpi_version_write(struct mcpi_buf *buf, bool modern, bool legacy)
{
    bool comma = false;

    mcpi_buf_char(buf, '[');
    if (modern)
        write_some(buf, true, &comma);
    if (legacy)
        write_some(buf, false, &comma);
    mcpi_buf_char(buf, ']');
}
