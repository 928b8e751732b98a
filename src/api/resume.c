/* resume.c - tokens that a call is taken up again with */
#include "api/resume.h"

#include <string.h>

#include "json/value.h"

void
mcpi_resume_write(struct mcpi_buf *into, const struct mcpi_id *id, const char *event)
{
    mcpi_id_write(into, id);
    mcpi_buf_char(into, ' ');
    mcpi_buf_text(into, event);
}

/* How long the id in front is; there may be blanks in it if it is a text. */
static size_t
token_split(const char *token)
{
    const char *at = token;

    if (*at != '"')
        return strcspn(token, " ");
    for (at++; *at && *at != '"'; at++)
        if (*at == '\\' && at[1])
            at++;
    return (size_t)(at - token) + (*at == '"');
}

/* Such as we send: what a user can name. */
static bool
id_is_ours(const struct mcpi_id *id)
{
    if (id->kind != MCPI_ID_STRING)
        return id->kind == MCPI_ID_INT;
    return id->len <= MCPI_ID_MAX && strlen(id->text) == id->len;
}

/* It goes into a header line. */
static bool
event_is_sayable(const char *event)
{
    const char *at = event;

    for (; *at; at++)
        if ((unsigned char)*at < ' ' || *at == '\x7f')
            return false;
    return at > event && (size_t)(at - event) <= MCPI_SSE_NAME_MAX;
}

int
mcpi_resume_read(const mcp_allocator *mem, const char *token, struct mcpi_resume *ret)
{
    const struct mcpi_json_limits limits = {MCPI_RESUME_MAX, 1};
    struct mcpi_resume read = {.doc = NULL};
    size_t len;
    int r;

    if (strnlen(token, MCPI_RESUME_MAX + 1) > MCPI_RESUME_MAX)
        return MCP_E_INVAL;
    len = token_split(token);
    if (token[len] != ' ' || !event_is_sayable(token + len + 1))
        return MCP_E_INVAL;
    r = mcpi_doc_parse(mem, token, len, &limits, &read.doc);
    if (r < 0)
        return r == MCP_E_NOMEM ? r : MCP_E_INVAL;
    read.id = mcpi_id_read(mcp_doc_root(read.doc));
    read.event = token + len + 1;
    if (!id_is_ours(&read.id)) {
        mcpi_resume_done(&read);
        return MCP_E_INVAL;
    }
    *ret = read;
    return 0;
}

void
mcpi_resume_done(struct mcpi_resume *resume)
{
    mcp_doc_free(resume->doc);
    resume->doc = NULL;
}
