/* metadata_fuzz.c - what is read of any metadata is about whom it was asked for, and safe */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "auth/metadata.h"
#include "auth/place.h"
#include "auth/scopes.h"
#include "json/value.h"

#define SERVER "https://mcp.example/v1/mcp"
#define ISSUER "https://auth.example"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
expect(bool holds)
{
    if (!holds)
        abort();
}

/* ---- places -------------------------------------------------------------- */

typedef int find_fn(struct mcpi_buf *into, const char *url);

/* Documents about a URL are where that is, and as safe. */
static void
try_documents(find_fn *find, const char *url, int most)
{
    struct mcpi_place place;
    struct mcpi_buf buf;
    size_t at = 0;
    int r;

    mcpi_buf_init(&buf, NULL, SIZE_MAX);
    r = find(&buf, url);
    expect(r == MCP_E_INVAL || (r > 0 && r <= most));
    expect(r > 0 || buf.len == 0);
    for (int i = 0; i < r; i++) {
        const char *one = buf.data + at;

        at += strlen(one) + 1;
        if (!mcpi_place_read(one, &place)) {
            expect(strlen(one) > MCPI_PLACE_MAX);
            continue;
        }
        expect(mcpi_place_same_origin(one, url));
        expect(mcpi_place_is_safe(one) == mcpi_place_is_safe(url));
        expect(strstr(place.path, "/.well-known/"));
    }
    expect(at == buf.len);
    mcpi_buf_done(&buf);
}

static void
expect_parts(const char *url, const struct mcpi_place *place)
{
    const char *end = url + strlen(url);

    expect(place->host > url && place->host_len > 0);
    expect(place->port > 0 && place->port <= UINT16_MAX);
    expect(place->path >= place->host + place->host_len);
    expect(place->path_len == 0 || place->path[0] == '/');
    expect(place->path + place->path_len == place->query);
    expect(place->query_len == 0 || place->query[0] == '?');
    expect(place->query + place->query_len == end);
    expect(!memchr(url, '@', (size_t)(place->path - url)));
    expect(!strpbrk(url, " #\\\n"));
}

static void
try_place(const char *url)
{
    struct mcpi_place place;
    bool is_url = mcpi_place_read(url, &place);

    expect(is_url == mcpi_place_same_origin(url, url));
    expect(is_url || !mcpi_place_is_safe(url));
    expect(is_url || !mcpi_place_covers(url, url));
    if (mcpi_place_covers(url, SERVER) || mcpi_place_covers(SERVER, url))
        expect(mcpi_place_same_origin(url, SERVER));
    if (is_url)
        expect_parts(url, &place);
    try_documents(mcpi_place_resource_metadata, url, 2);
    try_documents(mcpi_place_issuer_metadata, url, 3);
}

/* Every text in a value. */
static void
try_places(const mcp_json *json)
{
    const char *text = mcp_json_string(json, NULL);

    if (text)
        try_place(text);
    for (mcp_json_iterator it = mcp_json_each(json); mcp_json_next(&it);) {
        if (it.key)
            try_places(it.key);
        try_places(it.value);
    }
}

/* ---- metadata ------------------------------------------------------------ */

static void
expect_endpoint(const char *url)
{
    expect(!url || mcpi_place_is_safe(url));
}

static void
try_issuer(const mcp_json *json, const char *issuer)
{
    struct mcpi_issuer_metadata read = {0};

    if (mcpi_issuer_metadata_read(json, issuer, &read)) {
        expect(!read.issuer && !read.token_endpoint);
        return;
    }
    expect(!mcpi_json_has_duplicates(json));
    expect(strcmp(read.issuer, issuer) == 0 && mcpi_place_is_safe(issuer));
    expect(mcp_json_is_string(mcp_json_get(json, "issuer"), issuer));
    expect(!strpbrk(issuer, "?#")); /* an @ may stand in a path */
    expect_endpoint(read.authorization_endpoint);
    expect_endpoint(read.token_endpoint);
    expect_endpoint(read.registration_endpoint);
    expect_endpoint(read.jwks_uri);
    expect(!read.has_s256 || mcp_json_get(json, "code_challenge_methods_supported"));
}

static void
try_resource(const mcp_json *json, const char *server_url)
{
    struct mcpi_resource_metadata read = {0};
    struct mcpi_buf scopes;

    if (mcpi_resource_metadata_read(json, server_url, &read)) {
        expect(!read.resource && !read.issuer);
        return;
    }
    expect(!mcpi_json_has_duplicates(json));
    expect(mcpi_place_covers(read.resource, server_url));
    expect(mcpi_place_same_origin(read.resource, server_url));
    expect(mcpi_place_is_safe(read.issuer) && mcp_json_count(read.issuers) > 0);
    mcpi_buf_init(&scopes, NULL, MCPI_SCOPES_MAX);
    mcpi_scopes_add_json(&scopes, read.scopes);
    expect(!scopes.data || !memchr(scopes.data, '"', scopes.len));
    mcpi_buf_done(&scopes);
}

/* As what it was asked for as, and as what it says itself that it is. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct mcpi_json_limits limits = {1 << 20, 32};
    const mcp_json *json;
    mcp_doc *doc = NULL;

    if (mcpi_doc_parse(NULL, (const char *)data, size, &limits, &doc) < 0)
        return 0;
    json = mcp_doc_root(doc);
    try_issuer(json, ISSUER);
    try_issuer(json, mcp_json_string(mcp_json_get(json, "issuer"), ""));
    try_resource(json, SERVER);
    try_resource(json, mcp_json_string(mcp_json_get(json, "resource"), ""));
    try_places(json);
    mcp_doc_free(doc);
    return 0;
}
