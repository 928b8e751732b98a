/*
 * metadata.h - what a resource and an issuer publish of themselves: read and judged
 *
 * RFC 9728, RFC 8414, OpenID Connect Discovery. Pure. A document is believed only if it
 * says that it is about what was asked for. Texts are the document's own, borrowed as long
 * as that lives.
 */
#ifndef MCPI_AUTH_METADATA_H
#define MCPI_AUTH_METADATA_H

#include <mcp/json.h>

/* Does an array have that text? Anything else: no. */
bool mcpi_metadata_lists(const mcp_json *array, const char *text);

struct mcpi_resource_metadata {
    const char *resource;    /* exactly as published */
    const char *issuer;      /* the first authorization server of those listed */
    const mcp_json *issuers; /* all: an array of strings, not empty */
    const mcp_json *scopes;  /* scopes_supported: an array; or NULL */
    bool dpop_required;      /* dpop_bound_access_tokens_required */
};

/* server_url: whom it must stand for (mcpi_place_covers). NULL: good; else what is wrong, a
 * constant sentence. */
const char *mcpi_resource_metadata_read(const mcp_json *json, const char *server_url,
                                        struct mcpi_resource_metadata *ret);

struct mcpi_issuer_metadata {
    const char *issuer;
    const char *authorization_endpoint; /* NULL: none; else safe (place.h) */
    const char *token_endpoint;         /* likewise */
    const char *registration_endpoint;
    const char *jwks_uri;
    const mcp_json *scopes; /* scopes_supported, or NULL */
    bool has_s256;          /* code_challenge_methods_supported has it */
    bool sends_iss;         /* authorization_response_iss_parameter_supported */
    bool takes_documents;   /* client_id_metadata_document_supported */
    bool knows_dpop;        /* dpop_signing_alg_values_supported has ES256 */
    /* token_endpoint_auth_methods_supported; without that member only basic. */
    bool auth_none, auth_basic, auth_post, auth_jwt;
    const mcp_json *auth_algs; /* token_endpoint_auth_signing_alg_values_supported */
};

/* issuer: what it was asked for as; compared as a string. An endpoint that is not safe, or
 * is no URL, makes the whole document unusable. NULL: good. */
const char *mcpi_issuer_metadata_read(const mcp_json *json, const char *issuer,
                                      struct mcpi_issuer_metadata *ret);

#endif
