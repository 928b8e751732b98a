/* redirect.c - the answer of an authorization server, as the browser brings it: judged */
#include "auth/redirect.h"

#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>

#include "auth/form.h"
#include "auth/place.h"
#include "base/text.h"

struct answer {
    const mcp_allocator *mem;
    const struct mcpi_redirect_rules *rules;
    const char *query; /* behind '?' */
    size_t len;
    char *why;
    size_t size;
};

static int
refuse(const struct answer *answer, const char *why)
{
    (void)mcpi_text_clean(answer->why, answer->size, why, strlen(why));
    return MCP_E_AUTH;
}

/* ---- parameters ---------------------------------------------------------- */

/* As mcpi_form_find, into a buffer that is made here. */
static int
find(const struct answer *answer, const char *name, struct mcpi_buf *ret_value)
{
    mcpi_buf_init(ret_value, answer->mem, answer->len + 1);
    return mcpi_form_find(ret_value, answer->query, answer->len, name);
}

static void
forget(struct mcpi_buf *value)
{
    if (value->data)
        explicit_bzero(value->data, value->cap);
    mcpi_buf_done(value);
}

/* How long it takes says nothing of where they differ. */
static bool
same_secret(const struct mcpi_buf *value, const char *expected)
{
    size_t len = strlen(expected) + 1;

    return value->len == len && CRYPTO_memcmp(value->data, expected, len) == 0;
}

/* ---- the steps, in their order ------------------------------------------- */

static bool
is_uri(const char *uri)
{
    for (; *uri; uri++)
        if ((unsigned char)*uri <= 0x20 || *uri == 0x7F || *uri == '#')
            return false;
    return true;
}

/* "" and "/" are the same path. */
static bool
same_path(const struct mcpi_place *a, const struct mcpi_place *b)
{
    if (a->path_len <= 1 && b->path_len <= 1)
        return true;
    return a->path_len == b->path_len && memcmp(a->path, b->path, a->path_len) == 0;
}

/* Codes are longer than URLs may be: what is before the query is looked at alone. */
static bool
is_sent_to(const char *uri, const char *redirect_uri)
{
    size_t len = strcspn(uri, "?");
    struct mcpi_place place, expected;
    char base[MCPI_PLACE_MAX + 1];

    if (len >= sizeof(base) || !is_uri(uri))
        return false;
    memcpy(base, uri, len);
    base[len] = '\0';
    return mcpi_place_read(base, &place) && mcpi_place_read(redirect_uri, &expected) &&
           mcpi_place_same_origin(base, redirect_uri) && same_path(&place, &expected);
}

static int
check_state(const struct answer *answer)
{
    const char *expected = answer->rules->state;
    struct mcpi_buf state;
    int r = find(answer, "state", &state);

    if (r == 0)
        r = refuse(answer, "the answer to the sign-in has no state");
    else if (r == MCP_E_INVAL)
        r = refuse(answer, "the answer to the sign-in has a state that cannot be read");
    else if (r == 1 && (!expected || !expected[0] || !same_secret(&state, expected)))
        r = refuse(answer,
                   "the answer to the sign-in is not for this one: wrong state");
    forget(&state);
    return r < 0 ? r : 0;
}

/* 2026-07-28, authorization response validation: if it says who it is, that is compared
 * whatever was announced, and as it stands. */
static int
check_issuer(const struct answer *answer)
{
    const char *expected = answer->rules->issuer;
    struct mcpi_buf iss;
    int r = find(answer, "iss", &iss);

    if (r == 0 && answer->rules->sends_iss)
        r = refuse(answer,
                   "the answer to the sign-in does not say who it is from (iss)");
    else if (r == MCP_E_INVAL)
        r = refuse(answer, "the answer to the sign-in has an iss that cannot be read");
    else if (r == 1 && (!expected || strcmp(iss.data, expected) != 0))
        r = refuse(answer, "the answer to the sign-in is from another issuer (iss)");
    forget(&iss);
    return r < 0 ? r : 0;
}

/* What the server said, in front of people. */
static int
refuse_error(const struct answer *answer, const char *error)
{
    struct mcpi_buf more;
    char text[512]; /* longer than any message of ours */
    int r = find(answer, "error_description", &more);

    if (r == 1 && more.len > 1)
        (void)snprintf(text, sizeof(text),
                       "the authorization server refused: %.100s (%.300s)", error,
                       more.data);
    else
        (void)snprintf(text, sizeof(text), "the authorization server refused: %.100s",
                       error);
    forget(&more);
    return r == MCP_E_NOMEM ? r : refuse(answer, text);
}

static int
check_error(const struct answer *answer)
{
    struct mcpi_buf error;
    int r = find(answer, "error", &error);

    if (r == 1)
        r = refuse_error(answer, error.data);
    else if (r == MCP_E_INVAL)
        r = refuse(answer,
                   "the authorization server refused, and it cannot be read why");
    forget(&error);
    return r < 0 ? r : 0;
}

static int
take_code(const struct answer *answer, struct mcpi_buf *ret_code)
{
    size_t before = ret_code->len;
    int r = mcpi_form_find(ret_code, answer->query, answer->len, "code");

    if (r == 1 && ret_code->len - before > 1)
        return 0;
    mcpi_buf_truncate(ret_code, before);
    if (r == MCP_E_NOMEM)
        return r;
    if (r == MCP_E_LIMIT)
        return refuse(answer, "the answer to the sign-in has a code that is too long");
    if (r == MCP_E_INVAL)
        return refuse(answer,
                      "the answer to the sign-in has a code that cannot be read");
    return refuse(answer, "the answer to the sign-in has no code");
}

int
mcpi_redirect_read(const char *uri, const struct mcpi_redirect_rules *rules,
                   struct mcpi_buf *ret_code, char *why, size_t size)
{
    struct answer answer = {ret_code->mem, rules, "", 0, why, size};
    int r;

    if (!uri || !is_sent_to(uri, rules->redirect_uri))
        return refuse(&answer, "the answer to the sign-in was sent to another place");
    uri += strcspn(uri, "?");
    if (*uri == '?') {
        answer.query = uri + 1;
        answer.len = strlen(answer.query);
    }
    r = check_state(&answer);
    if (r == 0)
        r = check_issuer(&answer);
    if (r == 0)
        r = check_error(&answer);
    if (r == 0)
        r = take_code(&answer, ret_code);
    if (r == MCP_E_NOMEM)
        (void)mcpi_text_clean(why, size, mcp_status_text(r),
                              strlen(mcp_status_text(r)));
    return r;
}
