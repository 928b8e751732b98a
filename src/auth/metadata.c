/* metadata.c - what a resource and an issuer publish of themselves: read and judged */
#include "auth/metadata.h"

#include <string.h>

#include "auth/place.h"
#include "json/value.h"

/* ---- members ------------------------------------------------------------- */

/* null is how some say that there is none. */
static const mcp_json *
member(const mcp_json *object, const char *key)
{
    const mcp_json *value = mcp_json_get(object, key);

    return mcp_json_get_type(value) == MCP_JSON_NULL ? NULL : value;
}

static const mcp_json *
member_array(const mcp_json *object, const char *key)
{
    const mcp_json *value = member(object, key);

    return mcp_json_get_type(value) == MCP_JSON_ARRAY ? value : NULL;
}

/* A string that a C string can hold, or NULL. */
static const char *
whole_text(const mcp_json *value)
{
    const char *text = mcp_json_string(value, NULL);

    return text && strlen(text) == mcp_json_string_length(value) ? text : NULL;
}

bool
mcpi_metadata_lists(const mcp_json *list, const char *word)
{
    for (mcp_json_iterator it = mcp_json_each(list); mcp_json_next(&it);)
        if (mcp_json_is_string(it.value, word))
            return true;
    return false;
}

static const char *
document_fault(const mcp_json *json)
{
    if (mcp_json_get_type(json) != MCP_JSON_OBJECT)
        return "the metadata is no JSON object";
    return mcpi_json_has_duplicates(json) ? "the metadata names a key twice" : NULL;
}

/* RFC 8414, 2: no query, no fragment. */
static bool
is_issuer(const char *text)
{
    struct mcpi_place place;

    return mcpi_place_is_safe(text) && mcpi_place_read(text, &place) &&
           place.query_len == 0;
}

/* ---- a resource ---------------------------------------------------------- */

/* Who cannot be used is passed over; what is no text makes all of it doubtful. */
static const char *
issuers_fault(const mcp_json *issuers, const char **ret_first)
{
    const char *first = NULL;

    if (mcp_json_count(issuers) == 0)
        return "the resource's metadata names no authorization server";
    for (mcp_json_iterator it = mcp_json_each(issuers); mcp_json_next(&it);) {
        const char *text = whole_text(it.value);

        if (!text)
            return "the resource's metadata names an authorization server that is no "
                   "text";
        if (!first && is_issuer(text))
            first = text;
    }
    *ret_first = first;
    return first ? NULL
                 : "the resource's metadata names no authorization server that is safe";
}

const char *
mcpi_resource_metadata_read(const mcp_json *json, const char *server_url,
                            struct mcpi_resource_metadata *ret)
{
    struct mcpi_resource_metadata read = {0};
    const char *fault = document_fault(json);

    if (fault)
        return fault;
    read.resource = whole_text(member(json, "resource"));
    if (!read.resource)
        return "the resource's metadata does not say what it is about";
    if (!mcpi_place_covers(read.resource, server_url))
        return "the resource's metadata is about another resource";
    read.issuers = member_array(json, "authorization_servers");
    fault = issuers_fault(read.issuers, &read.issuer);
    if (fault)
        return fault;
    read.scopes = member_array(json, "scopes_supported");
    read.dpop_required = mcp_json_bool(
        member(json, "dpop_bound_access_tokens_required"), false);
    *ret = read;
    return NULL;
}

/* ---- an issuer ----------------------------------------------------------- */

/* False: it is there, and cannot be used. */
static bool
read_endpoint(const mcp_json *json, const char *key, const char **ret_url)
{
    const mcp_json *value = member(json, key);
    const char *url = whole_text(value);

    if (value && !mcpi_place_is_safe(url))
        return false;
    *ret_url = url;
    return true;
}

static const char *
endpoints_fault(const mcp_json *json, struct mcpi_issuer_metadata *read)
{
    if (!read_endpoint(json, "authorization_endpoint", &read->authorization_endpoint))
        return "the issuer's authorization endpoint is not safe, or no URL";
    if (!read_endpoint(json, "token_endpoint", &read->token_endpoint))
        return "the issuer's token endpoint is not safe, or no URL";
    if (!read_endpoint(json, "registration_endpoint", &read->registration_endpoint))
        return "the issuer's registration endpoint is not safe, or no URL";
    if (!read_endpoint(json, "jwks_uri", &read->jwks_uri))
        return "the issuer's keys are at a place that is not safe, or no URL";
    return NULL;
}

static void
read_auth_methods(const mcp_json *json, struct mcpi_issuer_metadata *read)
{
    const mcp_json *methods = member_array(json,
                                           "token_endpoint_auth_methods_supported");

    read->auth_none = mcpi_metadata_lists(methods, "none");
    read->auth_basic = !methods || mcpi_metadata_lists(methods, "client_secret_basic");
    read->auth_post = mcpi_metadata_lists(methods, "client_secret_post");
    read->auth_jwt = mcpi_metadata_lists(methods, "private_key_jwt");
    read->auth_algs = member_array(json,
                                   "token_endpoint_auth_signing_alg_values_supported");
}

static void
read_abilities(const mcp_json *json, struct mcpi_issuer_metadata *read)
{
    read->scopes = member_array(json, "scopes_supported");
    read->has_s256 = mcpi_metadata_lists(
        member_array(json, "code_challenge_methods_supported"), "S256");
    read->sends_iss = mcp_json_bool(
        member(json, "authorization_response_iss_parameter_supported"), false);
    read->takes_documents = mcp_json_bool(
        member(json, "client_id_metadata_document_supported"), false);
    read->knows_dpop = mcpi_metadata_lists(
        member_array(json, "dpop_signing_alg_values_supported"), "ES256");
}

const char *
mcpi_issuer_metadata_read(const mcp_json *json, const char *issuer,
                          struct mcpi_issuer_metadata *ret)
{
    struct mcpi_issuer_metadata read = {0};
    const char *fault = document_fault(json);

    if (fault)
        return fault;
    if (!is_issuer(issuer))
        return "the issuer is not safe, or no URL of an issuer";
    if (!mcp_json_is_string(member(json, "issuer"), issuer))
        return "the metadata is of another issuer";
    read.issuer = whole_text(member(json, "issuer"));
    fault = endpoints_fault(json, &read);
    if (fault)
        return fault;
    read_auth_methods(json, &read);
    read_abilities(json, &read);
    *ret = read;
    return NULL;
}
