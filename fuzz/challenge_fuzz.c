/* challenge_fuzz.c - any challenge, form and redirect is read or refused, and as it says */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "auth/challenge.h"
#include "auth/form.h"
#include "auth/redirect.h"
#include "auth/scopes.h"
#include "base/text.h"

#define HERE "http://127.0.0.1:8000/callback"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
expect(bool holds)
{
    if (!holds)
        abort();
}

/* Terminated, and of the exact size, so that a read beyond its end is caught. */
static char *
copy(const char *text, size_t len)
{
    char *made = malloc(len + 1);

    expect(made);
    memcpy(made, text, len);
    made[len] = '\0';
    return made;
}

/* ---- challenges ---------------------------------------------------------- */

static void
expect_plain(const char *text, size_t size)
{
    size_t len = strnlen(text, size);

    expect(len < size);
    for (size_t i = 0; i < len; i++)
        expect((unsigned char)text[i] >= 0x20 && text[i] != 0x7F);
}

static void
expect_sound(const struct mcpi_challenge *challenge)
{
    bool ours = challenge->bearer || challenge->dpop;

    expect_plain(challenge->resource_metadata, sizeof(challenge->resource_metadata));
    expect_plain(challenge->scope, sizeof(challenge->scope));
    expect_plain(challenge->error, sizeof(challenge->error));
    expect_plain(challenge->description, sizeof(challenge->description));
    expect(mcpi_utf8_valid(challenge->description, strlen(challenge->description)));
    expect(ours || (!challenge->resource_metadata[0] && !challenge->scope[0] &&
                    !challenge->error[0] && !challenge->description[0]));
}

/* Inside a quoted string of somebody else, and behind it, nothing of it is ours. */
static void
try_quoted(const char *text)
{
    struct mcpi_challenge challenge = {0}, empty = {0};
    struct mcpi_buf header;

    mcpi_buf_init(&header, NULL, SIZE_MAX);
    mcpi_buf_text(&header, "Basic realm=\"");
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            mcpi_buf_char(&header, '\\');
        mcpi_buf_char(&header, *text);
    }
    mcpi_buf_append(&header, "\"", 2);
    mcpi_challenge_read(&challenge, header.data);
    expect(memcmp(&challenge, &empty, sizeof(empty)) == 0);
    mcpi_buf_rewind(&header, header.len - 1);
    mcpi_buf_append(&header, ", Bearer scope=\"x\"", 19);
    mcpi_challenge_read(&challenge, header.data);
    expect(challenge.bearer && strcmp(challenge.scope, "x") == 0);
    mcpi_buf_done(&header);
}

/* Alone, twice, and with a sound one before it, which is not touched. */
static void
try_challenge(const char *text)
{
    struct mcpi_challenge first = {0}, again = {0}, after = {0};

    mcpi_challenge_read(&first, text);
    expect_sound(&first);
    mcpi_challenge_read(&again, text);
    mcpi_challenge_read(&again, text);
    expect(memcmp(&first, &again, sizeof(first)) == 0);
    mcpi_challenge_read(&after, "DPoP scope=\"x\", error=e");
    mcpi_challenge_read(&after, text);
    expect_sound(&after);
    expect(after.dpop && after.bearer == first.bearer);
    expect(strcmp(after.scope, "x") == 0 && strcmp(after.error, "e") == 0);
    expect(strcmp(after.description, first.description) == 0);
    try_quoted(text);
}

static void
try_scopes(const char *text)
{
    struct mcpi_buf set;
    size_t len;

    mcpi_buf_init(&set, NULL, MCPI_SCOPES_MAX);
    mcpi_scopes_add(&set, text);
    len = set.len;
    if (set.status == 0) {
        mcpi_scopes_add(&set, text);
        expect(set.len == len && set.status == 0);
    }
    mcpi_buf_rewind(&set, len);
    mcpi_buf_char(&set, '\0');
    if (set.status == 0)
        expect(mcpi_scopes_have_n(set.data, len, set.data));
    mcpi_buf_done(&set);
}

/* ---- forms and redirects ------------------------------------------------- */

static void
try_form(const char *text, size_t len)
{
    struct mcpi_buf form, value;
    int r;

    mcpi_buf_init(&form, NULL, SIZE_MAX);
    mcpi_buf_init(&value, NULL, SIZE_MAX);
    r = mcpi_form_find(&value, text, len, "code");
    expect(r == 0 || r == 1 || r == MCP_E_INVAL);
    expect(r == 1 ? value.len == strlen(value.data) + 1 : value.len == 0);
    mcpi_buf_clear(&value);
    mcpi_form_add(&form, "before", text);
    mcpi_form_add(&form, "code", text);
    expect(mcpi_form_find(&value, form.data, form.len, "code") == 1);
    expect(strcmp(value.data, text) == 0);
    mcpi_buf_done(&form);
    mcpi_buf_done(&value);
}

/* Is that the value of a name in the query, and the only one? NULL: is there none? */
static bool
query_has(const char *uri, const char *name, const char *text)
{
    const char *query = strchr(uri, '?');
    struct mcpi_buf value;
    bool same;
    int r;

    expect(query);
    mcpi_buf_init(&value, NULL, SIZE_MAX);
    r = mcpi_form_find(&value, query + 1, strlen(query + 1), name);
    same = text ? r == 1 && strcmp(value.data, text) == 0 : r == 0;
    mcpi_buf_done(&value);
    return same;
}

static void
try_redirect(const char *uri, bool sends_iss)
{
    const struct mcpi_redirect_rules rules = {HERE, "s", "https://a.example",
                                              sends_iss};
    struct mcpi_buf code;
    char why[100];
    int r;

    mcpi_buf_init(&code, NULL, SIZE_MAX);
    r = mcpi_redirect_read(uri, &rules, &code, why, sizeof(why));
    expect(r == 0 || r == MCP_E_AUTH);
    if (r == 0) {
        expect(query_has(uri, "state", "s") && query_has(uri, "code", code.data));
        expect(query_has(uri, "iss", "https://a.example") ||
               (!sends_iss && query_has(uri, "iss", NULL)));
        expect(query_has(uri, "error", NULL) && code.data[0] != '\0');
    } else {
        expect(code.len == 0 && why[0] != '\0' && strlen(why) < sizeof(why));
        expect_plain(why, sizeof(why));
    }
    mcpi_buf_done(&code);
}

static void
try_redirects(const char *text)
{
    struct mcpi_buf uri;

    try_redirect(text, false);
    mcpi_buf_init(&uri, NULL, SIZE_MAX);
    mcpi_buf_text(&uri, HERE "?state=s&");
    mcpi_buf_append(&uri, text, strlen(text) + 1);
    try_redirect(uri.data, false);
    try_redirect(uri.data, true);
    mcpi_buf_done(&uri);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = copy((const char *)data, size);

    try_challenge(text);
    try_scopes(text);
    try_form(text, size);
    try_redirects(text);
    free(text);
    return 0;
}
