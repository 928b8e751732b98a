/* json_fuzz.c - what parses is written, read and copied back as the same value */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "json/value.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
expect(bool holds)
{
    if (!holds)
        abort();
}

/* The deepest the library reads at all: what is written must not become deeper. */
static const struct mcpi_json_limits limits = {.max_bytes = 1 << 20, .max_depth = 256};

static void
check_reads_back(const char *text, size_t len, const mcp_json *value)
{
    mcp_doc *doc;

    expect(mcpi_utf8_valid(text, len));
    expect(mcpi_doc_parse(NULL, text, len, &limits, &doc) == 0);
    expect(mcp_json_equal(mcp_doc_root(doc), value));
    mcp_doc_free(doc);
}

static void
check_printed(const mcp_json *value, bool pretty)
{
    size_t len;
    char *text;

    expect(mcp_json_print(value, pretty, NULL, &text, &len) == 0);
    expect(strlen(text) == len);
    if (len <= limits.max_bytes)
        check_reads_back(text, len, value);
    mcp_text_free(text, NULL);
}

/* A value built member by member. */
static void
copy_shallow(mcp_builder *b, const mcp_json *value)
{
    bool is_object = mcp_json_get_type(value) == MCP_JSON_OBJECT;
    mcp_json_iterator it;

    if (is_object)
        mcp_builder_begin_object(b, NULL);
    else
        mcp_builder_begin_array(b, NULL);
    for (it = mcp_json_each(value); mcp_json_next(&it);) {
        const char *key = mcp_json_string(it.key, NULL);

        /* a key with U+0000 in it cannot be named by a C string */
        if (key && strlen(key) != mcp_json_string_length(it.key))
            key = "cut";
        mcp_builder_value(b, key, it.value);
    }
    mcp_builder_end(b);
}

static void
check_built(const mcp_json *value)
{
    mcp_builder *b = mcp_builder_new(NULL);
    mcp_doc *doc;
    size_t len;
    const char *text;

    expect(b != NULL);
    mcp_builder_value(b, NULL, value);
    text = mcp_builder_text(b, &len);
    expect(text != NULL);
    check_reads_back(text, len, value);
    mcp_builder_reset(b);
    copy_shallow(b, value);
    expect(mcp_builder_parse(b, &doc) == 0);
    expect(mcp_json_count(mcp_doc_root(doc)) == mcp_json_count(value));
    mcp_doc_free(doc);
    mcp_builder_free(b);
}

/* The first member by a key is found, and a key met twice is a duplicate. */
static void
check_keys(const mcp_json *object)
{
    bool duplicates = false;
    mcp_json_iterator it;

    for (it = mcp_json_each(object); mcp_json_next(&it);) {
        if (it.key && mcp_json_get_n(object, mcp_json_string(it.key, NULL),
                                     mcp_json_string_length(it.key)) != it.value)
            duplicates = true;
    }
    expect(mcpi_json_has_duplicates(object) == duplicates);
}

/* What a strict reader takes, a lenient one takes as it is; and what only that one takes
 * is as good a value as any. */
static void
check_lenient(const char *text, size_t len, const mcp_json *strict)
{
    mcp_doc *doc;

    if (mcpi_doc_parse_lenient(NULL, text, len, &limits, &doc) < 0) {
        expect(!strict);
        return;
    }
    if (strict)
        expect(!mcpi_doc_is_repaired(doc) && mcp_json_equal(mcp_doc_root(doc), strict));
    check_printed(mcp_doc_root(doc), false);
    mcp_doc_free(doc);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mcp_json_options unique = MCP_JSON_OPTIONS(.max_depth = 256, .unique_keys = true);
    mcp_doc *doc, *strict;

    if (mcpi_doc_parse(NULL, (const char *)data, size, &limits, &doc) < 0) {
        expect(mcp_doc_parse((const char *)data, size, &unique, &strict, NULL) < 0);
        check_lenient((const char *)data, size, NULL);
        return 0;
    }
    check_lenient((const char *)data, size, mcp_doc_root(doc));
    check_printed(mcp_doc_root(doc), false);
    check_printed(mcp_doc_root(doc), true);
    check_built(mcp_doc_root(doc));
    check_keys(mcp_doc_root(doc));
    if (mcp_doc_parse((const char *)data, size, &unique, &strict, NULL) == 0) {
        expect(!mcpi_json_has_duplicates(mcp_doc_root(strict)));
        expect(mcp_json_equal(mcp_doc_root(strict), mcp_doc_root(doc)));
        mcp_doc_free(strict);
    }
    mcp_doc_free(doc);
    return 0;
}
