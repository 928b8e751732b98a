/* scopes.c - sets of scopes, as OAuth writes them: words with blanks between */
#include "auth/scopes.h"

#include <string.h>

/* More words than any set has that is kept: who sends more wants to keep us busy. */
#define WORDS_MAX (MCPI_SCOPES_MAX / 2)

struct word {
    const char *at;
    size_t len;
};

/* The next word at or behind *at, which is moved behind it. */
static bool
word_next(const char *text, size_t len, size_t *at, struct word *ret_word)
{
    size_t from = *at, end;

    while (from < len && text[from] == ' ')
        from++;
    for (end = from; end < len && text[end] != ' ';)
        end++;
    *at = end;
    if (end == from)
        return false;
    *ret_word = (struct word){text + from, end - from};
    return true;
}

/* RFC 6749, 3.3. */
static bool
word_is_scope(struct word word)
{
    for (size_t i = 0; i < word.len; i++) {
        unsigned char c = (unsigned char)word.at[i];

        if (c < 0x21 || c > 0x7E || c == '"' || c == '\\')
            return false;
    }
    return true;
}

static bool
set_has(const char *set, size_t len, struct word word)
{
    struct word other;
    size_t at = 0;

    while (word_next(set, len, &at, &other))
        if (other.len == word.len && memcmp(other.at, word.at, word.len) == 0)
            return true;
    return false;
}

/* The whole word or nothing: half of one would be another scope. */
static void
set_add(struct mcpi_buf *into, struct word word)
{
    bool first = into->len == 0;
    char *at;

    if (!word_is_scope(word) || set_has(into->data, into->len, word))
        return;
    at = mcpi_buf_reserve(into, word.len + (first ? 0 : 1));
    if (!at)
        return;
    if (!first)
        *at++ = ' ';
    memcpy(at, word.at, word.len);
    mcpi_buf_commit(into, word.len + (first ? 0 : 1));
}

/* Takes words from what may be had of them. */
static void
add(struct mcpi_buf *into, const char *text, size_t len, int *left)
{
    struct word word;
    size_t at = 0;

    while (*left > 0 && into->status == 0 && word_next(text, len, &at, &word)) {
        set_add(into, word);
        (*left)--;
    }
}

void
mcpi_scopes_add(struct mcpi_buf *into, const char *text)
{
    int left = WORDS_MAX;

    if (text)
        add(into, text, strlen(text), &left);
}

void
mcpi_scopes_add_json(struct mcpi_buf *into, const mcp_json *list)
{
    int left = WORDS_MAX;

    if (mcp_json_get_type(list) != MCP_JSON_ARRAY)
        return;
    for (mcp_json_iterator it = mcp_json_each(list); left > 0 && mcp_json_next(&it);)
        add(into, mcp_json_string(it.value, ""), mcp_json_string_length(it.value),
            &left);
}

bool
mcpi_scopes_are(const char *text)
{
    size_t len = text ? strlen(text) : 0, at = 0;
    int left = WORDS_MAX;
    struct word word;

    while (word_next(text, len, &at, &word))
        if (left-- == 0 || !word_is_scope(word))
            return false;
    return true;
}

bool
mcpi_scopes_have_n(const char *set, size_t set_len, const char *words)
{
    size_t len = words ? strlen(words) : 0;
    struct word word;
    size_t at = 0;

    if (!set)
        set_len = 0;
    while (word_next(words, len, &at, &word))
        if (!set_has(set, set_len, word))
            return false;
    return true;
}

bool
mcpi_scopes_have(const char *set, const char *words)
{
    return mcpi_scopes_have_n(set, set ? strlen(set) : 0, words);
}
