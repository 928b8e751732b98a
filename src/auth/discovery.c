/* discovery.c - whom to ask for a token */
#include "auth/discovery.h"

#include <stdio.h>
#include <string.h>

#include "auth/place.h"
#include "base/mem.h"
#include "base/text.h"

/* All places of one document. */
#define PLACES_MAX ((size_t)4 * (MCPI_PLACE_MAX + 64))
#define WHY_MAX 240

void
mcpi_discovery_init(struct mcpi_discovery *d)
{
    mcpi_buf_init(&d->places, d->mem, PLACES_MAX);
}

static void
discovery_forget(struct mcpi_discovery *d)
{
    mcp_doc_free(d->resource_doc);
    mcp_doc_free(d->issuer_doc);
    mcpi_free(d->mem, d->own);
    d->resource_doc = d->issuer_doc = NULL;
    d->own = NULL;
    memset(&d->found, 0, sizeof(d->found));
}

void
mcpi_discovery_stop(struct mcpi_discovery *d)
{
    mcpi_lookup_abort(&d->lookup);
}

void
mcpi_discovery_done(struct mcpi_discovery *d)
{
    mcpi_discovery_stop(d);
    discovery_forget(d);
    mcpi_buf_done(&d->places);
}

bool
mcpi_discovery_has_found(const struct mcpi_discovery *d)
{
    return d->issuer_doc != NULL && !mcpi_lookup_is_open(&d->lookup);
}

static void
discovery_fail(struct mcpi_discovery *d, int status, const char *why)
{
    discovery_forget(d);
    d->done(d->user, status, why);
}

/* status: MCP_E_NOMEM says it all; anything else is told in words. */
static void
discovery_refuse(struct mcpi_discovery *d, int status, const char *what,
                 const char *why)
{
    char text[WHY_MAX];

    if (status == MCP_E_NOMEM) {
        discovery_fail(d, status, mcp_status_text(status));
        return;
    }
    snprintf(text, sizeof(text), "%s: %s", what, why);
    discovery_fail(d, MCP_E_AUTH, text);
}

/* ---- one place after the other ------------------------------------------------- */

typedef void looked_fn(void *user, const struct mcpi_lookup_answer *answer);

static bool
has_more_places(const struct mcpi_discovery *d)
{
    return d->next < d->places.len;
}

/* Look at the next place; there is one. */
static int
look(struct mcpi_discovery *d, looked_fn *looked, enum mcpi_address_kind nearest)
{
    const char *place = d->places.data + d->next;
    const struct mcpi_lookup_options opt = {.loop = d->loop,
                                            .fetcher = d->fetcher,
                                            .method = "GET",
                                            .url = place,
                                            .nearest = nearest,
                                            .limit_us = d->limit_us,
                                            .done = looked,
                                            .user = d};
    int r;

    d->next += strlen(place) + 1;
    r = mcpi_lookup_start(&d->lookup, &opt);
    return r == MCP_E_INVAL ? MCP_E_AUTH : r;
}

/* NULL: it is a document; else what is wrong. */
static const char *
document_fault(const struct mcpi_lookup_answer *answer, char *room, size_t size)
{
    if (answer->status < 0)
        return answer->why;
    if (answer->http != 200) {
        snprintf(room, size, "HTTP %d", answer->http);
        return room;
    }
    return answer->json ? NULL : "it is no JSON object";
}

/* ---- the issuer --------------------------------------------------------------- */

static looked_fn issuer_looked;

#define NO_URL "its issuer is no usable URL"
#define ANOTHER "it names another authorization server than the one that knows us"

static void
issuer_arrived(struct mcpi_discovery *d, const struct mcpi_lookup_answer *answer)
{
    const char *why;

    why = mcpi_issuer_metadata_read(answer->json, d->found.resource.issuer,
                                    &d->found.issuer);
    if (why) {
        discovery_refuse(d, 0, "metadata of the authorization server", why);
        return;
    }
    d->issuer_doc = mcp_doc_ref(answer->doc);
    d->done(d->user, 0, "");
}

/* An issuer that the program has named may be anywhere. */
static int
look_for_issuer(struct mcpi_discovery *d)
{
    return look(d, issuer_looked, d->only_issuer ? MCPI_ADDRESS_ANY : d->nearest);
}

/* Only who is not there is looked for elsewhere: anything else that is no document is a
 * fault of somebody whom we need. */
static void
issuer_looked(void *user, const struct mcpi_lookup_answer *answer)
{
    struct mcpi_discovery *d = user;
    char room[32];
    const char *why = document_fault(answer, room, sizeof(room));
    int r;

    if (!why) {
        issuer_arrived(d, answer);
    } else if (mcpi_lookup_is_refused(answer) && has_more_places(d)) {
        r = look_for_issuer(d);
        if (r < 0)
            discovery_refuse(d, r, "the authorization server", NO_URL);
    } else {
        discovery_refuse(d, answer->status, "no metadata of the authorization server",
                         why);
    }
}

static int
search_issuer(struct mcpi_discovery *d)
{
    const char *issuer = d->found.resource.issuer;
    int r;

    if (!mcpi_place_is_safe(issuer))
        return MCP_E_AUTH;
    mcpi_buf_clear(&d->places);
    d->next = 0;
    r = mcpi_place_issuer_metadata(&d->places, issuer);
    if (r < 0)
        return r == MCP_E_NOMEM ? r : MCP_E_AUTH;
    return look_for_issuer(d);
}

static void
go_on_with_issuer(struct mcpi_discovery *d)
{
    int r = search_issuer(d);

    if (r < 0)
        discovery_refuse(d, r, "the authorization server", NO_URL);
}

/* Resource and issuer are known; is that one whom we may ask? */
static bool
may_ask_issuer(const struct mcpi_discovery *d)
{
    return !d->only_issuer || strcmp(d->found.resource.issuer, d->only_issuer) == 0;
}

/* ---- the resource -------------------------------------------------------------- */

/* Resource and issuer that no document has. */
static int
know_ourselves(struct mcpi_discovery *d, const char *resource, const char *issuer,
               size_t issuer_len)
{
    size_t len = strlen(resource);
    char *at;

    d->own = mcpi_alloc(d->mem, len + issuer_len + 2);
    if (!d->own)
        return MCP_E_NOMEM;
    at = d->own;
    d->found.resource.resource = mcpi_text_stow(&at, resource, len);
    d->found.resource.issuer = mcpi_text_stow(&at, issuer, issuer_len);
    return 0;
}

/* A server without a document (before 2025-06-18) is at its issuer. */
static void
assume_origin(struct mcpi_discovery *d)
{
    const char *url = d->server_url;
    const char *host = strstr(url, "://");
    size_t len = host ? (size_t)(host - url) + 3 : 0;
    int r;

    len += strcspn(url + len, "/?");
    r = know_ourselves(d, url, url, len);
    if (r < 0)
        discovery_fail(d, r, mcp_status_text(r));
    else if (!may_ask_issuer(d))
        discovery_refuse(d, 0, "no metadata of the server", ANOTHER);
    else
        go_on_with_issuer(d);
}

static void
resource_arrived(struct mcpi_discovery *d, const struct mcpi_lookup_answer *answer)
{
    struct mcpi_resource_metadata *found = &d->found.resource;
    const char *why;

    why = mcpi_resource_metadata_read(answer->json, d->server_url, found);
    if (!why && d->only_issuer && !mcpi_metadata_lists(found->issuers, d->only_issuer))
        why = ANOTHER;
    if (why) {
        discovery_refuse(d, 0, "metadata of the server", why);
        return;
    }
    if (d->only_issuer)
        found->issuer = d->only_issuer;
    d->resource_doc = mcp_doc_ref(answer->doc);
    go_on_with_issuer(d);
}

static void
resource_looked(void *user, const struct mcpi_lookup_answer *answer)
{
    struct mcpi_discovery *d = user;
    char room[32];
    const char *why = document_fault(answer, room, sizeof(room));
    int r;

    if (!why) {
        resource_arrived(d, answer);
    } else if (!mcpi_lookup_is_refused(answer) || d->by_challenge) {
        discovery_refuse(d, answer->status, "no metadata of the server", why);
    } else if (has_more_places(d)) {
        r = look(d, resource_looked, d->nearest);
        if (r < 0)
            discovery_refuse(d, r, "metadata of the server", "no usable URL");
    } else {
        assume_origin(d);
    }
}

/* ---- starting ------------------------------------------------------------------ */

static int
places_of_resource(struct mcpi_discovery *d, const char *hint)
{
    mcpi_buf_clear(&d->places);
    d->next = 0;
    d->by_challenge = *hint != '\0';
    if (!d->by_challenge)
        return mcpi_place_resource_metadata(&d->places, d->server_url);
    if (!mcpi_place_is_safe(hint))
        return MCP_E_AUTH;
    mcpi_buf_append(&d->places, hint, strlen(hint) + 1);
    return d->places.status;
}

int
mcpi_discovery_start(struct mcpi_discovery *d, const char *hint)
{
    int r;

    mcpi_discovery_stop(d);
    discovery_forget(d);
    r = places_of_resource(d, hint);
    return r < 0 ? r : look(d, resource_looked, d->nearest);
}

int
mcpi_discovery_start_issuer(struct mcpi_discovery *d, const char *resource,
                            const char *issuer)
{
    int r;

    mcpi_discovery_stop(d);
    discovery_forget(d);
    r = know_ourselves(d, resource, issuer, strlen(issuer));
    if (r == 0 && !may_ask_issuer(d))
        r = MCP_E_AUTH;
    return r < 0 ? r : search_issuer(d);
}
