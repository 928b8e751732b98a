/* cli_config_fuzz.c - configuration files and command lines of anybody, for mcpctl */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/config.h"
#include "cli/config_entry.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
expect(bool holds)
{
    if (!holds)
        abort();
}

/* A target has all that its kind needs, or there is a fault and nothing. */
static void
check_entry(const mcp_json *value, enum cli_config_variables variables,
            const mcp_json *inputs)
{
    const struct cli_config_place place = {"/work", true, variables, inputs};
    struct cli_text shown = {0}, fault = {0};
    struct cli_target target;
    char *text;

    expect(cli_config_entry_read(value, &place, &target, &shown, &fault) == 0);
    if (fault.length > 0) {
        expect(!target.argv && !target.url && !target.env && !target.headers);
    } else {
        expect(target.kind == CLI_TARGET_COMMAND ? target.argv && *target.argv[0]
                                                 : target.url != NULL);
        text = cli_target_describe(&target);
        expect(text != NULL);
        free(text);
    }
    (void)cli_config_entry_is_disabled(value);
    cli_target_done(&target);
    cli_text_done(&shown);
    cli_text_done(&fault);
}

/* What is JSON stays the same value, and what was made plain once is plain. */
static void
check_file(const char *text, size_t size)
{
    char *plain = malloc(size + 1), *again = malloc(size + 1);
    mcp_doc *doc = NULL, *strict = NULL;
    mcp_json_iterator it;

    expect(plain && again);
    memcpy(plain, text, size);
    cli_json_plain(plain, size);
    memcpy(again, plain, size);
    cli_json_plain(again, size);
    (void)mcp_doc_parse(plain, size, NULL, &doc, NULL);
    if (doc)
        expect(memcmp(plain, again, size) == 0);
    if (mcp_doc_parse(text, size, NULL, &strict, NULL) == 0)
        expect(mcp_json_equal(mcp_doc_root(doc), mcp_doc_root(strict)));
    check_entry(mcp_doc_root(doc), CLI_VARIABLES_BRACES, NULL);
    for (it = mcp_json_each(mcp_doc_root(doc)); mcp_json_next(&it);)
        check_entry(it.value, CLI_VARIABLES_ALL,
                    mcp_json_get(mcp_doc_root(doc), "inputs"));
    mcp_doc_free(doc);
    mcp_doc_free(strict);
    free(plain);
    free(again);
}

/* Words that are joined are split into the same again. */
static void
check_words(const char *text)
{
    char **words, **again, *joined;
    size_t i;

    if (cli_words_split(text, &words, NULL) < 0)
        return;
    joined = cli_words_join((const char *const *)words);
    expect(joined && cli_words_split(joined, &again, NULL) == 0);
    for (i = 0; words[i]; i++)
        expect(again[i] && strcmp(words[i], again[i]) == 0);
    expect(!again[i]);
    free(joined);
    cli_words_free(words);
    cli_words_free(again);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    expect(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    check_words(text);
    check_file(text, size);
    free(text);
    return 0;
}
