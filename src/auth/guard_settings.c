/* guard_settings.c - the options of a guard: read, checked, complete, and kept */
#include "auth/guard_settings.h"

#include <string.h>

#include "auth/bearer.h"
#include "auth/place.h"
#include "auth/scopes.h"
#include "base/mem.h"
#include "base/text.h"

/* Clocks that are kept right differ by less than a second; most are. */
#define DEFAULT_LEEWAY_MS 30000
#define LEEWAY_MAX_MS 3600000
/* A key that its issuer gave up is believed for five minutes more, or ten. */
#define DEFAULT_KEYS_MS 300000
#define KEYS_MIN_MS 1000
#define KEYS_MAX_MS ((int64_t)24 * 3600 * 1000)
#define DOCUMENT_MAX ((size_t)256 * 1024)

static int
wrong(mcp_error *err, const char *member, const char *why)
{
    return mcpi_error_set(err, MCP_E_INVAL, "guard option %s: %s", member, why);
}

/* ---- checking --------------------------------------------------------------- */

static size_t
list_count(const char *const *list)
{
    size_t count = 0;

    while (list && list[count])
        count++;
    return count;
}

static int
url_check(const char *url, size_t max, const char *member, mcp_error *err)
{
    struct mcpi_place place;

    if (strlen(url) > max)
        return wrong(err, member, "is too long");
    if (!mcpi_place_read(url, &place) || strpbrk(url, "\"\\<>"))
        return wrong(err, member, "is no URL");
    if (!mcpi_place_is_safe(url))
        return wrong(err, member, "must be https, or http on loopback");
    return 0;
}

static int
resource_check(const mcp_guard_options *opt, mcp_error *err)
{
    struct mcpi_place place;
    int r;

    if (!opt->resource)
        return wrong(err, "resource", "is missing");
    r = url_check(opt->resource, MCPI_GUARD_RESOURCE_MAX, "resource", err);
    if (r == 0 && mcpi_place_read(opt->resource, &place) && place.query_len > 0)
        return wrong(err, "resource", "must not have a query");
    return r;
}

static int
issuers_check(const mcp_guard_options *opt, mcp_error *err)
{
    size_t count = list_count(opt->issuers);
    int r = 0;

    if (count == 0)
        return wrong(err, "issuers", "there must be one at least");
    if (count > MCPI_GUARD_ISSUERS_MAX)
        return wrong(err, "issuers", "are too many");
    for (size_t i = 0; r == 0 && i < count; i++)
        r = url_check(opt->issuers[i], MCPI_PLACE_MAX - 1, "issuers", err);
    return r;
}

/* Whose keys would they be? */
static int
keys_check(const mcp_guard_options *opt, mcp_error *err)
{
    if (opt->jwks && opt->jwks_uri)
        return wrong(err, "jwks_uri", "keys are given, so none are fetched");
    if ((opt->jwks || opt->jwks_uri) && opt->verify)
        return wrong(err, "verify", "checks itself, so keys are for nobody");
    if ((opt->jwks || opt->jwks_uri) && list_count(opt->issuers) > 1)
        return wrong(err, opt->jwks ? "jwks" : "jwks_uri", "there are several issuers");
    if (opt->jwks_uri)
        return url_check(opt->jwks_uri, MCPI_PLACE_MAX - 1, "jwks_uri", err);
    return 0;
}

static bool
word_is_scope(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (text[i] <= ' ' || text[i] > '~' || text[i] == '"' || text[i] == '\\')
            return false;
    return len > 0;
}

static int
words_check(const char *text, const char *member, mcp_error *err)
{
    if (strlen(text) > MCPI_GUARD_LIST_MAX)
        return wrong(err, member, "is too long");
    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        size_t len = strcspn(text, " ");

        if (!word_is_scope(text, len))
            return wrong(err, member, "has what is no scope");
        text += len;
    }
    return 0;
}

static int
scopes_check(const mcp_guard_options *opt, mcp_error *err)
{
    int r = opt->scope ? words_check(opt->scope, "scope", err) : 0;

    if (list_count(opt->scopes) > MCPI_GUARD_LIST_MAX ||
        list_count(opt->implies) > MCPI_GUARD_LIST_MAX)
        return wrong(err, "scopes", "are too many");
    for (size_t i = 0; r == 0 && i < list_count(opt->scopes); i++)
        if (!word_is_scope(opt->scopes[i], strlen(opt->scopes[i])))
            r = wrong(err, "scopes", "has what is no scope");
    for (size_t i = 0; r == 0 && i < list_count(opt->implies); i++)
        r = words_check(opt->implies[i], "implies", err);
    return r;
}

static int
times_take(mcp_guard_options *opt, mcp_error *err)
{
    if (opt->leeway_ms == 0)
        opt->leeway_ms = DEFAULT_LEEWAY_MS;
    if (opt->keys_ms == 0)
        opt->keys_ms = DEFAULT_KEYS_MS;
    if (opt->leeway_ms < 0 || opt->leeway_ms > LEEWAY_MAX_MS)
        return wrong(err, "leeway_ms", "must be from 0 to an hour");
    if (opt->keys_ms < KEYS_MIN_MS || opt->keys_ms > KEYS_MAX_MS)
        return wrong(err, "keys_ms", "must be from a second to a day");
    return 0;
}

static int
options_take(mcp_guard_options *opt, mcp_error *err)
{
    int r;

    r = resource_check(opt, err);
    if (r == 0)
        r = issuers_check(opt, err);
    if (r == 0)
        r = keys_check(opt, err);
    if (r == 0)
        r = scopes_check(opt, err);
    if (r == 0)
        r = times_take(opt, err);
    if (!opt->audience)
        opt->audience = opt->resource;
    return r;
}

/* ---- keeping ---------------------------------------------------------------- */

#define TEXTS 8
#define LISTS 3

static void
texts_of(mcp_guard_options *opt, const char **ret[TEXTS])
{
    ret[0] = &opt->resource;
    ret[1] = &opt->scope;
    ret[2] = &opt->name;
    ret[3] = &opt->documentation;
    ret[4] = &opt->jwks;
    ret[5] = &opt->jwks_uri;
    ret[6] = &opt->audience;
    ret[7] = &opt->tls_ca_file;
}

static void
lists_of(mcp_guard_options *opt, const char *const **ret[LISTS])
{
    ret[0] = &opt->issuers;
    ret[1] = &opt->scopes;
    ret[2] = &opt->implies;
}

static size_t
text_size(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

/* Pointers, which stand first, and texts. */
static size_t
slots_size(mcp_guard_options *opt)
{
    const char *const **lists[LISTS];
    size_t slots = 0;

    lists_of(opt, lists);
    for (int i = 0; i < LISTS; i++)
        slots += list_count(*lists[i]) + 1;
    return slots * sizeof(char *);
}

static size_t
texts_size(mcp_guard_options *opt)
{
    const char *const **lists[LISTS];
    const char **texts[TEXTS];
    size_t size = 0;

    texts_of(opt, texts);
    lists_of(opt, lists);
    for (int i = 0; i < TEXTS; i++)
        size += text_size(*texts[i]);
    for (int i = 0; i < LISTS; i++)
        for (size_t k = 0; k < list_count(*lists[i]); k++)
            size += text_size((*lists[i])[k]);
    return size;
}

static void
list_keep(const char *const **list, const char ***slots, char **at)
{
    const char **kept = *slots;
    size_t count = list_count(*list);

    for (size_t i = 0; i < count; i++)
        kept[i] = mcpi_text_stow(at, (*list)[i], strlen((*list)[i]));
    kept[count] = NULL;
    *slots += count + 1;
    *list = *list ? kept : NULL;
}

static void
options_keep(mcp_guard_options *opt, void *room)
{
    char *at = (char *)room + slots_size(opt);
    const char *const **lists[LISTS];
    const char **texts[TEXTS];
    const char **slots = room;

    texts_of(opt, texts);
    lists_of(opt, lists);
    for (int i = 0; i < LISTS; i++)
        list_keep(lists[i], &slots, &at);
    for (int i = 0; i < TEXTS; i++)
        *texts[i] = mcpi_text_stow(&at, *texts[i], *texts[i] ? strlen(*texts[i]) : 0);
}

/* ---- what follows from them ------------------------------------------------- */

/* Where a URL's path begins, or its end. */
static const char *
path_of(const char *url)
{
    struct mcpi_place place;

    return mcpi_place_read(url, &place) && place.path_len > 0 ? place.path : "/";
}

static int
places_find(struct mcpi_guard_settings *settings)
{
    const char *first, *second;
    int count;

    count = mcpi_place_resource_metadata(&settings->places, settings->opt.resource);
    if (count < 1)
        return count < 0 ? count : MCP_E_INVAL;
    first = settings->places.data;
    second = first + strlen(first) + 1;
    settings->metadata = first;
    settings->notice.path = path_of(first);
    settings->notice.other_path = count > 1 ? path_of(second) : NULL;
    return 0;
}

static int
document_write(struct mcpi_guard_settings *settings)
{
    const mcp_guard_options *opt = &settings->opt;
    const struct mcpi_bearer_resource what = {.resource = opt->resource,
                                              .issuers = opt->issuers,
                                              .scopes = opt->scopes,
                                              .name = opt->name,
                                              .documentation = opt->documentation,
                                              .dpop_only = opt->dpop_only};
    int r;

    r = mcpi_bearer_document(&what, &settings->document);
    settings->notice.text = settings->document.data;
    settings->notice.len = settings->document.len;
    return r;
}

static int
origin_write(struct mcpi_guard_settings *settings)
{
    const char *url = settings->opt.resource;
    struct mcpi_place place;
    char *at;
    size_t len;

    if (!mcpi_place_read(url, &place))
        return MCP_E_INVAL;
    len = place.path_len > 0 ? (size_t)(place.path - url) : strlen(url);
    settings->origin_text = at = mcpi_alloc(settings->mem, len + 1);
    if (!at)
        return MCP_E_NOMEM;
    settings->origin = mcpi_text_stow(&at, url, len);
    return 0;
}

/* ---- all of it --------------------------------------------------------------- */

int
mcpi_guard_settings_new(const mcp_guard_options *given,
                        struct mcpi_guard_settings **ret_settings, mcp_error *err)
{
    struct mcpi_guard_settings *settings;
    const mcp_allocator *mem;
    mcp_guard_options opt;
    int r;

    if (!given || mcpi_options_read(&opt, sizeof(opt), given) < 0)
        return mcpi_error_set(err, MCP_E_INVAL, "these are no options of a guard");
    mem = mcpi_mem_or_malloc(opt.allocator);
    r = options_take(&opt, err);
    if (r < 0)
        return r;
    settings = mcpi_alloc_zero(mem,
                               sizeof(*settings) + slots_size(&opt) + texts_size(&opt));
    if (!settings)
        return mcpi_error_set(err, MCP_E_NOMEM, "%s", mcp_status_text(MCP_E_NOMEM));
    settings->mem = mem;
    options_keep(&opt, settings + 1);
    settings->opt = opt;
    settings->issuer_count = list_count(opt.issuers);
    mcpi_buf_init(&settings->places, mem, (size_t)4 * MCPI_PLACE_MAX);
    mcpi_buf_init(&settings->document, mem, DOCUMENT_MAX);
    r = places_find(settings);
    if (r == 0)
        r = document_write(settings);
    if (r == 0)
        r = origin_write(settings);
    if (r < 0) {
        mcpi_guard_settings_free(settings);
        return mcpi_error_set(err, r, "the guard's document cannot be written: %s",
                              mcp_status_text(r));
    }
    *ret_settings = settings;
    return 0;
}

void
mcpi_guard_settings_free(struct mcpi_guard_settings *settings)
{
    if (!settings)
        return;
    mcpi_buf_done(&settings->places);
    mcpi_buf_done(&settings->document);
    mcpi_free(settings->mem, settings->origin_text);
    mcpi_free(settings->mem, settings);
}

/* Of a URL of the options; no nearer than loopback. */
static enum mcpi_address_kind
url_kind(const char *url)
{
    enum mcpi_address_kind kind = MCPI_ADDRESS_PUBLIC;
    struct mcpi_place place;

    if (url && mcpi_place_read(url, &place))
        kind = mcpi_address_kind_of_host(place.host, place.host_len);
    if (kind == MCPI_ADDRESS_PRIVATE || kind == MCPI_ADDRESS_LOOPBACK)
        return kind;
    return MCPI_ADDRESS_PUBLIC;
}

enum mcpi_address_kind
mcpi_guard_settings_nearest(const struct mcpi_guard_settings *settings,
                            const char *issuer)
{
    enum mcpi_address_kind a = url_kind(issuer), b = url_kind(settings->opt.jwks_uri);

    if (settings->opt.private_issuers)
        return MCPI_ADDRESS_LOOPBACK;
    return a > b ? a : b;
}

void
mcpi_guard_settings_imply(const struct mcpi_guard_settings *settings,
                          struct mcpi_buf *scopes)
{
    const char *const *implies = settings->opt.implies;
    size_t before;

    do {
        before = scopes->len;
        for (size_t i = 0; implies && implies[i]; i++) {
            char first[MCPI_GUARD_LIST_MAX + 1];
            const char *text = implies[i] + strspn(implies[i], " ");
            size_t len = strcspn(text, " ");

            memcpy(first, text, len);
            first[len] = '\0';
            if (len > 0 && mcpi_scopes_have_n(scopes->data, scopes->len, first))
                mcpi_scopes_add(scopes, text + len);
        }
    } while (scopes->len != before);
}
