/*
 * request_state_fuzz.c - whatever a client sends as requestState, and with it
 *
 * The input is a flag byte, a text to seal up to the first zero byte, and the parameters
 * of a request as JSON. What was sealed for these parameters opens for them; cut, changed
 * or for other ones it does not; and what nobody sealed never opens.
 */
#include <stdlib.h>
#include <string.h>

#include "api/seal.h"
#include "json/value.h"

#define NOW 1000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const unsigned char key[MCPI_AEAD_KEY] = "a key for the fuzzer, 32 bytes.";

static void
require(bool holds)
{
    if (!holds)
        abort();
}

static int
open_text(const struct mcpi_seal *to, const char *sealed, size_t len, const char *text,
          size_t text_len)
{
    struct mcpi_buf into;
    int r;

    mcpi_buf_init(&into, NULL, MCPI_SEAL_MAX);
    r = mcpi_seal_open(to, NOW, sealed, len, &into);
    require(r == 0 || into.len == 0);
    require(r != 0 || into.len == text_len);
    require(r != 0 || text_len == 0 || memcmp(into.data, text, text_len) == 0);
    mcpi_buf_done(&into);
    return r;
}

static void
seal_is_for_these_only(struct mcpi_seal to, uint8_t flag, const char *text, size_t len)
{
    mcp_doc *other = NULL;
    struct mcpi_buf sealed;
    size_t at;

    mcpi_buf_init(&sealed, NULL, MCPI_SEAL_MAX);
    if (mcpi_seal_write(&to, NOW + 1, text, len, &sealed) == 0) {
        require(open_text(&to, sealed.data, sealed.len, text, len) == 0);
        at = flag % sealed.len;
        require(open_text(&to, sealed.data, at, text, len) < 0);
        sealed.data[at] = sealed.data[at] == 'A' ? 'B' : 'A';
        require(open_text(&to, sealed.data, sealed.len, text, len) < 0);
        mcpi_buf_clear(&sealed);
        require(mcpi_seal_write(&to, NOW, text, len, &sealed) == 0);
        require(open_text(&to, sealed.data, sealed.len, text, len) == MCP_E_TIMEOUT);
        mcpi_buf_clear(&sealed);
        require(mcpi_seal_write(&to, NOW + 1, text, len, &sealed) == 0);
        require(mcp_doc_parse("{\"not\":\"these\"}", 15, NULL, &other, NULL) == 0);
        if (!mcp_json_get(to.params, "not")) {
            to.params = mcp_doc_root(other);
            require(open_text(&to, sealed.data, sealed.len, text, len) < 0);
        }
        mcp_doc_free(other);
    }
    mcpi_buf_done(&sealed);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mcpi_seal to = {key, "someone", "tools/call", NULL};
    const char *text = (const char *)data + 1, *params;
    mcp_doc *doc = NULL;
    size_t len;

    if (size < 2)
        return 0;
    len = strnlen(text, size - 1);
    params = text + len;
    if (len < size - 1 &&
        mcp_doc_parse(params + 1, size - 2 - len, NULL, &doc, NULL) == 0 &&
        mcp_json_get_type(mcp_doc_root(doc)) == MCP_JSON_OBJECT &&
        !mcpi_json_has_duplicates(mcp_doc_root(doc)))
        to.params = mcp_doc_root(doc);
    require(open_text(&to, text, len, NULL, 0) < 0);
    seal_is_for_these_only(to, data[0], text, len);
    mcp_doc_free(doc);
    return 0;
}
