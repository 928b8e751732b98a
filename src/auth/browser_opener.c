/*
 * browser_opener.c - which program shows a page to the user, and starting it
 *
 * $BROWSER is a list with colons between; each entry is words with spaces between, in
 * which %s is the page and %% a percent sign; without a %s the page is one more word.
 * There are no quotes: who needs them writes a script.
 */
#include "auth/browser_opener.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "auth/place.h"
#include "base/buf.h"
#include "base/mem.h"
#include "run/spawn.h"
#include "run/thread.h"

#define WAIT_PIDFD ((idtype_t)3)  /* P_PIDFD, which older headers do not have */
#define STACK ((size_t)64 * 1024) /* a thread that waits */
#define WORDS_MAX 64              /* of an entry; nobody needs a tenth of it */
#define BYTES_MAX ((size_t)256 * 1024)

/* ---- starting --------------------------------------------------------------------- */

static void *
child_await(void *user)
{
    int pidfd = (int)(intptr_t)user;
    siginfo_t info;

    while (waitid(WAIT_PIDFD, (id_t)pidfd, &info, WEXITED) != 0 && errno == EINTR)
        continue;
    (void)close(pidfd);
    return NULL;
}

/* Without a thread it is a zombie from its end until ours: no reason to show no page. */
static void
child_leave(int take_pidfd)
{
    pthread_t thread;

    if (take_pidfd < 0)
        return; /* it has ended, and somebody has waited for it */
    if (mcpi_thread_start(&thread, STACK, child_await, (void *)(intptr_t)take_pidfd) <
        0)
        (void)close(take_pidfd);
    else
        pthread_detach(thread);
}

static int
words_start(const mcp_allocator *mem, const char *const *words)
{
    const struct mcpi_process_options opt = {
        .mem = mem, .argv = words, .in = -1, .out = -1, .err = -1, .own_err = true};
    int pidfd, r;
    pid_t pid;

    r = mcpi_spawn(&opt, &pid, &pidfd, NULL);
    if (r == 0)
        child_leave(pidfd);
    return r;
}

/* ---- a command that was given --------------------------------------------------------- */

static size_t
words_count(const char *const *words)
{
    size_t count = 0;

    while (words[count])
        count++;
    return count;
}

/* One block: the words, and behind them their texts. */
static const char **
words_copy(const mcp_allocator *mem, const char *const *words)
{
    size_t count = words_count(words), bytes = 0;
    const char **copy;
    char *at;

    for (size_t i = 0; i < count; i++)
        bytes += strlen(words[i]) + 1;
    copy = mcpi_alloc(mem, (count + 1) * sizeof(*copy) + bytes);
    if (!copy)
        return NULL;
    at = (char *)(copy + count + 1);
    for (size_t i = 0; i < count; i++) {
        copy[i] = at;
        at = stpcpy(at, words[i]) + 1;
    }
    copy[count] = NULL;
    return copy;
}

static int
command_open(const struct mcpi_opener *opener, const char *url)
{
    size_t count = words_count(opener->command);
    const char **words;
    int r;

    if (count == 0)
        return MCP_E_INVAL;
    words = mcpi_alloc(opener->mem, (count + 2) * sizeof(*words));
    if (!words)
        return MCP_E_NOMEM;
    memcpy(words, opener->command, count * sizeof(*words));
    words[count] = url;
    words[count + 1] = NULL;
    r = words_start(opener->mem, words);
    mcpi_free(opener->mem, words);
    return r;
}

/* ---- an entry of $BROWSER --------------------------------------------------------------- */

/* One word, and the page where it is to be. True: it was. */
static bool
word_expand(struct mcpi_buf *into, const char *word, size_t len, const char *url)
{
    bool has_page = false;

    for (size_t i = 0; i < len; i++) {
        char next = word[i] == '%' && i + 1 < len ? word[i + 1] : '\0';

        if (next == 's') {
            mcpi_buf_text(into, url);
            has_page = true;
        } else {
            mcpi_buf_char(into, word[i]);
        }
        i += next == 's' || next == '%';
    }
    mcpi_buf_char(into, '\0');
    return has_page;
}

/* All words, each terminated. Returns how many. */
static size_t
entry_expand(struct mcpi_buf *into, const char *entry, size_t len, const char *url)
{
    bool has_page = false;
    size_t count = 0;
    const char *end = entry + len, *word;

    while (entry < end) {
        word = entry;
        while (entry < end && *entry != ' ')
            entry++;
        if (entry > word) {
            has_page |= word_expand(into, word, (size_t)(entry - word), url);
            count++;
        }
        entry++;
    }
    if (count > 0 && !has_page) {
        mcpi_buf_append(into, url, strlen(url) + 1);
        count++;
    }
    return count;
}

static int
entry_open(const struct mcpi_opener *opener, const char *entry, size_t len,
           const char *url)
{
    const char *words[WORDS_MAX + 1] = {NULL}, *at;
    struct mcpi_buf text;
    size_t count;
    int r;

    mcpi_buf_init(&text, opener->mem, BYTES_MAX);
    count = entry_expand(&text, entry, len, url);
    r = text.status;
    if (r == 0 && (count == 0 || count > WORDS_MAX))
        r = MCP_E_INVAL;
    if (r == 0) {
        at = text.data;
        for (size_t i = 0; i < count; i++) {
            words[i] = at;
            at += strlen(at) + 1;
        }
        r = words_start(opener->mem, words);
    }
    mcpi_buf_done(&text);
    return r;
}

static int
list_open(const struct mcpi_opener *opener, const char *list, const char *url)
{
    int r = MCP_E_INVAL;
    size_t len;

    while (*list && r < 0 && r != MCP_E_NOMEM) {
        len = strcspn(list, ":");
        if (len > 0)
            r = entry_open(opener, list, len, url);
        list += len;
        list += *list == ':';
    }
    return r;
}

/* ---- the opener --------------------------------------------------------------------------- */

int
mcpi_opener_init(struct mcpi_opener *opener, const mcp_allocator *mem,
                 const char *const *command, const char *list)
{
    *opener = (struct mcpi_opener){.mem = mem};
    if (command) {
        opener->command = words_copy(mem, command);
        return opener->command ? 0 : MCP_E_NOMEM;
    }
    if (!list)
        return 0;
    opener->list = mcpi_alloc(mem, strlen(list) + 1);
    if (!opener->list)
        return MCP_E_NOMEM;
    memcpy(opener->list, list, strlen(list) + 1);
    return 0;
}

void
mcpi_opener_done(struct mcpi_opener *opener)
{
    mcpi_free(opener->mem, opener->command);
    mcpi_free(opener->mem, opener->list);
}

bool
mcpi_opener_may(const char *url)
{
    size_t len = strnlen(url, MCPI_OPENER_URL_MAX + 1), base = strcspn(url, "?");
    char place[MCPI_PLACE_MAX + 1];

    if (len > MCPI_OPENER_URL_MAX || base >= sizeof(place))
        return false;
    for (size_t i = 0; i < len; i++) {
        if (url[i] <= ' ' || url[i] > '~' || strchr("#\"<>\\^`{|}", url[i]))
            return false;
    }
    memcpy(place, url, base);
    place[base] = '\0';
    return mcpi_place_is_safe(place);
}

int
mcpi_opener_open(const struct mcpi_opener *opener, const char *url)
{
    int r = MCP_E_INVAL;

    if (!mcpi_opener_may(url))
        return MCP_E_INVAL;
    if (opener->command)
        return command_open(opener, url);
    if (opener->list)
        r = list_open(opener, opener->list, url);
    if (r < 0 && r != MCP_E_NOMEM)
        r = list_open(opener, "xdg-open:open", url);
    return r;
}
