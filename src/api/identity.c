/* identity.c - who a client or a server says it is */
#include "api/identity.h"

#include <string.h>
#include <strings.h>

#include "base/text.h"

int
mcpi_text_check(const char *text, const char *what, mcp_error *err)
{
    if (!text || mcpi_utf8_valid(text, strlen(text)))
        return 0;
    return mcpi_error_set(err, MCP_E_INVAL, "the %s is not UTF-8", what);
}

/* ---- icons -------------------------------------------------------------- */

/* What a consumer must accept (2026-07-28, basic, Icons); all else it must refuse. */
static bool
icon_may_be_at(const char *src)
{
    return strncasecmp(src, "https://", 8) == 0 ||
           strncasecmp(src, "http://", 7) == 0 || strncasecmp(src, "data:", 5) == 0;
}

static bool
icon_has_theme(const char *theme)
{
    return strcmp(theme, "light") == 0 || strcmp(theme, "dark") == 0;
}

static int
icon_check(const mcp_icon *icon, mcp_error *err)
{
    int r;

    r = mcpi_text_check(icon->src, "src of an icon", err);
    if (r == 0)
        r = mcpi_text_check(icon->mime_type, "MIME type of an icon", err);
    if (r == 0)
        r = mcpi_text_check(icon->sizes, "sizes of an icon", err);
    if (r < 0)
        return r;
    if (!icon_may_be_at(icon->src))
        return mcpi_error_set(err, MCP_E_INVAL,
                              "an icon is at an https: or data: URI, not at %.80s",
                              icon->src);
    if (icon->theme && !icon_has_theme(icon->theme))
        return mcpi_error_set(err, MCP_E_INVAL,
                              "the theme of an icon is \"light\" or \"dark\"");
    return 0;
}

int
mcpi_icons_check(const mcp_icon *icons, mcp_error *err)
{
    int r = 0;

    for (; r == 0 && icons && icons->src; icons++)
        r = icon_check(icons, err);
    return r;
}

static void
sizes_build(mcp_builder *b, const char *sizes)
{
    size_t len;

    mcp_builder_begin_array(b, "sizes");
    for (sizes += strspn(sizes, " "); *sizes; sizes += strspn(sizes, " ")) {
        len = strcspn(sizes, " ");
        mcp_builder_string_n(b, NULL, sizes, len);
        sizes += len;
    }
    mcp_builder_end(b);
}

void
mcpi_icons_build(mcp_builder *b, const char *key, const mcp_icon *icons)
{
    if (!icons || !icons->src)
        return;
    mcp_builder_begin_array(b, key);
    for (; icons->src; icons++) {
        mcp_builder_begin_object(b, NULL);
        mcp_builder_string(b, "src", icons->src);
        if (icons->mime_type)
            mcp_builder_string(b, "mimeType", icons->mime_type);
        if (icons->sizes)
            sizes_build(b, icons->sizes);
        if (icons->theme)
            mcp_builder_string(b, "theme", icons->theme);
        mcp_builder_end(b);
    }
    mcp_builder_end(b);
}

/* ---- the whole ---------------------------------------------------------- */

static int
identity_check(const struct mcpi_implementation *who, mcp_error *err)
{
    const struct {
        const char *text, *what;
    } texts[] = {{who->name, "name"},
                 {who->version, "version"},
                 {who->title, "title"},
                 {who->description, "description"},
                 {who->website, "website"}};
    int r = 0;

    if (!who->name || !*who->name)
        return mcpi_error_set(err, MCP_E_INVAL, "the name is missing");
    if (!who->version || !*who->version)
        return mcpi_error_set(err, MCP_E_INVAL, "the version is missing");
    for (size_t i = 0; r == 0 && i < sizeof(texts) / sizeof(texts[0]); i++)
        r = mcpi_text_check(texts[i].text, texts[i].what, err);
    if (r == 0)
        r = mcpi_icons_check(who->icons, err);
    return r;
}

int
mcpi_identity_build(mcp_builder *b, const struct mcpi_implementation *who,
                    mcp_error *err)
{
    int r;

    r = identity_check(who, err);
    if (r < 0)
        return r;
    mcp_builder_begin_object(b, NULL);
    mcp_builder_string(b, "name", who->name);
    if (who->title)
        mcp_builder_string(b, "title", who->title);
    mcp_builder_string(b, "version", who->version);
    if (who->description)
        mcp_builder_string(b, "description", who->description);
    if (who->website)
        mcp_builder_string(b, "websiteUrl", who->website);
    mcpi_icons_build(b, "icons", who->icons);
    mcp_builder_end(b);
    r = mcp_builder_status(b);
    if (r < 0)
        (void)mcpi_error_set(err, r, "%s", mcp_status_text(r));
    return r;
}
