/* target.c - which server a word on the command line means */
#include "cli/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/config.h"
#include "cli/error.h"
#include "cli/near.h"
#include "cli/secret.h"
#include "cli/text.h"

/* ---- copies -------------------------------------------------------------------- */

/* NULL stays NULL; false: no memory. */
static bool
copy_text(const char *text, char **ret_copy)
{
    *ret_copy = text ? strdup(text) : NULL;
    return *ret_copy || !text;
}

static bool
copy_list(char *const *list, char ***ret_copy)
{
    size_t count = 0, i;
    char **copy;

    *ret_copy = NULL;
    if (!list)
        return true;
    while (list[count])
        count++;
    copy = calloc(count + 1, sizeof *copy);
    if (!copy)
        return false;
    for (i = 0; i < count; i++) {
        copy[i] = strdup(list[i]);
        if (!copy[i]) {
            cli_words_free(copy);
            return false;
        }
    }
    *ret_copy = copy;
    return true;
}

static int
target_copy(const struct cli_target *from, struct cli_target *ret_target,
            mcp_error *err)
{
    struct cli_target copy = {.kind = from->kind};

    if (copy_text(from->name, &copy.name) && copy_text(from->url, &copy.url) &&
        copy_text(from->path, &copy.path) && copy_text(from->cwd, &copy.cwd) &&
        copy_text(from->inputs, &copy.inputs) &&
        copy_text(from->folder, &copy.folder) && copy_list(from->argv, &copy.argv) &&
        copy_list(from->env, &copy.env) && copy_list(from->headers, &copy.headers)) {
        *ret_target = copy;
        return 0;
    }
    cli_target_done(&copy);
    return cli_error_of(err, MCP_E_NOMEM);
}

/* ---- command lines ------------------------------------------------------------- */

static bool
is_program(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

/* Would it be found in PATH? An empty folder there is the one we are in. */
static bool
is_in_path(const char *name)
{
    const char *path = getenv("PATH");
    bool found = false;

    if (!path)
        path = "/bin:/usr/bin";
    while (!found) {
        size_t length = strcspn(path, ":");
        struct cli_text file = {0};

        cli_text_add(&file, path, length);
        cli_text_puts(&file, length > 0 ? "/" : "./");
        cli_text_puts(&file, name);
        found = !file.failed && is_program(cli_text_string(&file));
        cli_text_done(&file);
        if (!path[length])
            break;
        path += length + 1;
    }
    return found;
}

/* NAME=value before a command is for a shell. */
static bool
is_assignment(const char *word)
{
    size_t n = strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
                            "0123456789");

    return n > 0 && word[n] == '=';
}

static int
read_command(const char *word, struct cli_target *ret_target, mcp_error *err)
{
    char **argv = NULL;
    int r;

    r = cli_words_split(word, &argv, err);
    if (r < 0)
        return r;
    if (!*argv[0])
        r = cli_error(err, MCP_E_INVAL, "the command line begins with an empty word");
    else if (is_assignment(argv[0]))
        r = cli_error(
            err, MCP_E_INVAL,
            "the command line is run without a shell, so \"%s\" sets no variable; "
            "use --env for that",
            argv[0]);
    if (r < 0) {
        cli_words_free(argv);
        return r;
    }
    *ret_target = (struct cli_target){.kind = CLI_TARGET_COMMAND, .argv = argv};
    return 0;
}

/* ---- names --------------------------------------------------------------------- */

/* The first thing that went wrong while reading the files: if a name is not found, that
 * may be why. */
struct warned {
    char line[sizeof((mcp_error *)NULL)->message];
};

static void
on_warning(void *user, const char *line)
{
    struct warned *warned = user;

    if (!*warned->line)
        snprintf(warned->line, sizeof warned->line, "%s", line);
}

static int
fail_unknown(const struct cli_config *config, const char *name,
             const struct warned *warned, mcp_error *err)
{
    struct cli_near near = cli_near_begin(name, strlen(name));
    size_t i;

    for (i = 0; i < cli_config_count(config); i++)
        cli_near_offer(&near, cli_config_at(config, i)->name);
    if (*warned->line)
        return cli_error(err, MCP_E_INVAL,
                         "there is no server \"%.64s\", and no such program; note: %s",
                         name, warned->line);
    if (near.best)
        return cli_error(
            err, MCP_E_INVAL,
            "there is no server \"%.64s\", and no such program; did you mean "
            "\"%.64s\"?",
            name, near.best);
    return cli_error(
        err, MCP_E_INVAL,
        "there is no server \"%.64s\" in any configuration file, and no such "
        "program; \"mcpctl servers\" lists those there are",
        name);
}

/* Notes that a project's server hides the user's own, or a program. */
static int
note_hidden(const struct cli_config *config, const struct cli_config_entry *entry,
            struct cli_target *target, mcp_error *err)
{
    const struct cli_config_entry *hidden = cli_config_hidden(config, entry);
    struct cli_text text = {0};

    if (!hidden && !(entry->is_project && is_in_path(entry->name)))
        return 0;
    cli_text_printf(&text, "using \"%s\" from %s; it hides ", entry->name, entry->file);
    if (hidden)
        cli_text_printf(&text, "your own in %s", hidden->file);
    else
        cli_text_puts(&text, "the program of that name");
    target->note = text.failed ? NULL : strdup(cli_text_string(&text));
    cli_text_done(&text);
    return target->note ? 0 : cli_error_of(err, MCP_E_NOMEM);
}

static int
take_entry(const struct cli_config *config, const struct cli_config_entry *entry,
           struct cli_target *ret_target, mcp_error *err)
{
    int r = target_copy(&entry->target, ret_target, err);

    ret_target->is_project = entry->is_project;
    return r < 0 ? r : note_hidden(config, entry, ret_target, err);
}

/* must: nothing but a name will do. */
static int
read_name(const char *name, bool must, struct cli_target *ret_target, mcp_error *err)
{
    const struct cli_config_entry *entry;
    struct warned warned = {""};
    struct cli_config *config;
    struct cli_target target = {0};
    int r;

    if (cli_config_read(on_warning, &warned, &config) < 0)
        return cli_error_of(err, MCP_E_NOMEM);
    entry = cli_config_find(config, name);
    if (entry && entry->fault)
        r = cli_error(err, MCP_E_INVAL, "the server \"%.64s\" of %.100s %s", name,
                      entry->file, entry->fault);
    else if (entry)
        r = take_entry(config, entry, &target, err);
    else if (must)
        r = fail_unknown(config, name, &warned, err);
    else
        r = read_command(name, &target, err);
    if (r == 0 && !entry && !(target.argv && is_in_path(target.argv[0])))
        r = fail_unknown(config, name, &warned, err);
    cli_config_free(config);
    if (r < 0)
        cli_target_done(&target);
    else
        *ret_target = target;
    return r;
}

/* ---- words --------------------------------------------------------------------- */

bool
cli_url_is_good(const char *text)
{
    const char *at = text;

    if (strncasecmp(text, "http://", 7) != 0 && strncasecmp(text, "https://", 8) != 0)
        return false;
    while ((unsigned char)*at >= 0x20 && *at != 0x7F)
        at++;
    return *at == '\0';
}

static int
read_url(const char *word, struct cli_target *ret_target, mcp_error *err)
{
    char *url;

    if (strlen(word) == strcspn(word, ":") + 3)
        return cli_error(err, MCP_E_INVAL, "there is no host in \"%s\"", word);
    url = strdup(word);
    if (!url)
        return cli_error_of(err, MCP_E_NOMEM);
    *ret_target = (struct cli_target){.kind = CLI_TARGET_URL, .url = url};
    return 0;
}

static int
read_socket(const char *path, struct cli_target *ret_target, mcp_error *err)
{
    char *copy;

    if (!*path || strcmp(path, "@") == 0)
        return cli_error(err, MCP_E_INVAL, "there is no path behind unix:");
    copy = strdup(path);
    if (!copy)
        return cli_error_of(err, MCP_E_NOMEM);
    *ret_target = (struct cli_target){.kind = CLI_TARGET_UNIX, .path = copy};
    return 0;
}

/* "ws://..." is no path that anybody has. */
static bool
is_other_url(const char *word)
{
    size_t n = strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+-."
                            "0123456789");

    return n > 0 && strncmp(word + n, "://", 3) == 0;
}

int
cli_target_read(const char *word, struct cli_target *ret_target, mcp_error *err)
{
    if (!*word)
        return cli_error(err, MCP_E_INVAL, "the target is empty");
    if (strncasecmp(word, "http://", 7) == 0 || strncasecmp(word, "https://", 8) == 0)
        return read_url(word, ret_target, err);
    if (strncmp(word, "unix:", 5) == 0)
        return read_socket(word + 5, ret_target, err);
    if (strncmp(word, "name:", 5) == 0)
        return read_name(word + 5, true, ret_target, err);
    if (is_other_url(word))
        return cli_error(err, MCP_E_INVAL,
                         "mcpctl speaks http:, https: and unix:, not \"%s\"", word);
    /* never a name: a project's file must not change what a path means */
    if (strpbrk(word, " \t\n/"))
        return read_command(word, ret_target, err);
    return read_name(word, false, ret_target, err);
}

char *
cli_path_resolve(char *take_text, const char *folder)
{
    const char *home = getenv("HOME");
    struct cli_text text = {0};
    char *path;

    if (!take_text)
        return NULL;
    if (strncmp(take_text, "~/", 2) == 0 && home && *home) {
        cli_text_puts(&text, home);
        cli_text_puts(&text, take_text + 1);
    } else if (folder && *take_text != '/') {
        cli_text_puts(&text, folder);
        cli_text_puts(&text, "/");
        cli_text_puts(&text, take_text);
    } else {
        return take_text;
    }
    free(take_text);
    path = text.failed ? NULL : strdup(cli_text_string(&text));
    cli_text_done(&text);
    return path;
}

void
cli_target_done(struct cli_target *target)
{
    free(target->name);
    free(target->url);
    free(target->path);
    cli_words_free(target->argv);
    cli_words_free(target->env);
    cli_words_free(target->headers);
    free(target->cwd);
    free(target->inputs);
    free(target->folder);
    free(target->note);
    *target = (struct cli_target){0};
}

/* Without what may be a secret: user and password, query and fragment. */
static char *
describe_url(const char *url)
{
    const char *rest = strstr(url, "://");
    size_t host = rest ? (size_t)(rest - url) + 3 : 0;
    size_t end = host + strcspn(url + host, "?#");
    size_t authority = host + strcspn(url + host, "/?#");
    struct cli_text text = {0};
    size_t from = host, i;
    char *described;

    for (i = host; i < authority; i++) {
        if (url[i] == '@')
            from = i + 1;
    }
    cli_text_add(&text, url, host);
    cli_secret_add(&text, url + from, end - from);
    described = text.failed ? NULL : strdup(cli_text_string(&text));
    cli_text_done(&text);
    return described;
}

/* Word by word, since a short secret is known as a whole word only. */
static char *
describe_command(char *const *argv)
{
    char **words, *described = NULL;
    bool ok = true;

    if (!copy_list(argv, &words) || !words)
        return NULL;
    for (size_t i = 0; ok && words[i]; i++) {
        struct cli_text text = {0};
        char *shown;

        cli_secret_add(&text, words[i], strlen(words[i]));
        shown = text.failed ? NULL : strdup(cli_text_string(&text));
        cli_text_done(&text);
        ok = shown != NULL;
        if (ok) {
            free(words[i]);
            words[i] = shown;
        }
    }
    if (ok)
        described = cli_words_join((const char *const *)words);
    cli_words_free(words);
    return described;
}

char *
cli_target_describe(const struct cli_target *target)
{
    size_t size;
    char *text;

    if (target->kind == CLI_TARGET_COMMAND)
        return describe_command(target->argv);
    if (target->kind == CLI_TARGET_URL)
        return describe_url(target->url);
    size = strlen(target->path) + sizeof "unix:";
    text = malloc(size);
    if (text)
        snprintf(text, size, "unix:%s", target->path);
    return text;
}
