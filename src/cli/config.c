/* config.c - servers configured for other programs: where they stand, which wins */
#include "cli/config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/config_entry.h"
#include "cli/config_file.h"

#define ENTRIES_MAX 1000   /* each is compared with each; people have ten or twenty */
#define NAME_BYTES_MAX 256 /* a name is typed */

struct source {
    const char *base; /* "~", or "@" for XDG_CONFIG_HOME; of a project: "" */
    const char *path; /* below that */
    const char *name; /* for people */
    const char *key;  /* the member that has the servers */
    enum cli_config_variables variables;
};

/* In a project's folder. */
static const struct source project_sources[] = {
    {"", ".mcp.json", "Claude Code (project)", "mcpServers", CLI_VARIABLES_BRACES},
    {"", ".cursor/mcp.json", "Cursor (project)", "mcpServers", CLI_VARIABLES_BRACES},
    {"", ".vscode/mcp.json", "VS Code (project)", "servers", CLI_VARIABLES_BRACES},
    {"", ".gemini/settings.json", "Gemini (project)", "mcpServers", CLI_VARIABLES_ALL},
    {"", ".roo/mcp.json", "Roo Code (project)", "mcpServers", CLI_VARIABLES_BRACES},
    {"", ".kiro/settings/mcp.json", "Kiro (project)", "mcpServers",
     CLI_VARIABLES_BRACES},
};

/* What Claude Code keeps for one folder stands in the same file as the user's own. */
#define CLAUDE_FILE ".claude.json"
static const struct source claude_local = {"~", CLAUDE_FILE, "Claude Code (local)",
                                           "mcpServers", CLI_VARIABLES_BRACES};

static const struct source user_sources[] = {
    {"~", CLAUDE_FILE, "Claude Code (user)", "mcpServers", CLI_VARIABLES_BRACES},
    {"@", "Claude/claude_desktop_config.json", "Claude Desktop", "mcpServers",
     CLI_VARIABLES_NONE},
    {"~", "Library/Application Support/Claude/claude_desktop_config.json",
     "Claude Desktop", "mcpServers", CLI_VARIABLES_NONE},
    {"~", ".cursor/mcp.json", "Cursor (user)", "mcpServers", CLI_VARIABLES_BRACES},
    {"@", "Code/User/mcp.json", "VS Code (user)", "servers", CLI_VARIABLES_BRACES},
    {"~", "Library/Application Support/Code/User/mcp.json", "VS Code (user)", "servers",
     CLI_VARIABLES_BRACES},
    {"~", ".gemini/settings.json", "Gemini (user)", "mcpServers", CLI_VARIABLES_ALL},
    {"~", ".codeium/windsurf/mcp_config.json", "Windsurf", "mcpServers",
     CLI_VARIABLES_BRACES},
    {"~", ".kiro/settings/mcp.json", "Kiro (user)", "mcpServers", CLI_VARIABLES_BRACES},
    {"~", ".copilot/mcp-config.json", "Copilot", "mcpServers", CLI_VARIABLES_BRACES},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* What the public part points to. */
struct owned {
    struct cli_config_entry entry;
    char *name, *file, *shown, *fault;
};

struct cli_config {
    struct owned *entries;
    size_t count, room;
};

/* One look through all files. */
struct reading {
    struct cli_config *config;
    void (*warn)(void *user, const char *line);
    void *user;
    const char *home; /* absolute; NULL: none */
    const char *cwd;  /* absolute; NULL: it is gone */
    mcp_doc *claude;  /* ~/.claude.json, which is looked into for each folder */
    bool said_limit;
};

static void warn(const struct reading *reading, const char *format, ...)
    MCP_PRINTF(2, 3);

static void
warn(const struct reading *reading, const char *format, ...)
{
    char line[512];
    va_list list;

    if (!reading->warn)
        return;
    va_start(list, format);
    vsnprintf(line, sizeof line, format, list);
    va_end(list);
    reading->warn(reading->user, line);
}

/* base/path; freed with free(). NULL: no memory. */
static char *
join(const char *base, const char *path)
{
    struct cli_text text = {0};
    char *joined;

    cli_text_puts(&text, base);
    if (text.length > 0 && text.data[text.length - 1] != '/')
        cli_text_puts(&text, "/");
    cli_text_puts(&text, path);
    joined = text.failed ? NULL : strdup(cli_text_string(&text));
    cli_text_done(&text);
    return joined;
}

static char *
text_copy(const struct cli_text *text)
{
    return strdup(cli_text_string(text));
}

static void
entry_done(struct owned *owned)
{
    free(owned->name);
    free(owned->file);
    free(owned->shown);
    free(owned->fault);
    cli_target_done(&owned->entry.target);
}

static struct owned *
entry_add(struct cli_config *config)
{
    if (config->count == config->room) {
        size_t room = config->room ? config->room * 2 : 16;
        struct owned *entries = realloc(config->entries, room * sizeof *entries);

        if (!entries)
            return NULL;
        config->entries = entries;
        config->room = room;
    }
    config->entries[config->count] = (struct owned){0};
    return &config->entries[config->count++];
}

/* A name that can be typed and shown. */
static bool
is_name(const mcp_json *key)
{
    size_t length = mcp_json_string_length(key), i;
    const char *name = mcp_json_string(key, "");

    if (length == 0 || length > NAME_BYTES_MAX)
        return false;
    for (i = 0; i < length; i++) {
        if ((unsigned char)name[i] < 0x20 || name[i] == 0x7F)
            return false;
    }
    return true;
}

/* Gemini has a list of its own for that. */
static bool
is_excluded(const mcp_json *root, const char *name)
{
    const mcp_json *list = mcp_json_get(mcp_json_get(root, "mcp"), "excluded");
    mcp_json_iterator it;

    for (it = mcp_json_each(list); mcp_json_next(&it) && it.index <= ENTRIES_MAX;) {
        if (mcp_json_is_string(it.value, name))
            return true;
    }
    return false;
}

static int
read_entry(struct reading *reading, const struct source *source, const char *file,
           const char *folder, const mcp_json *root, const mcp_json_iterator *at)
{
    const struct cli_config_place place = {
        folder, *source->base == '\0' || source == &claude_local, source->variables,
        mcp_json_get(root, "inputs")};
    struct owned *owned = entry_add(reading->config);
    struct cli_text shown = {0}, fault = {0};
    int r;

    if (!owned)
        return MCP_E_NOMEM;
    r = cli_config_entry_read(at->value, &place, &owned->entry.target, &shown, &fault);
    owned->name = strdup(mcp_json_string(at->key, ""));
    owned->file = strdup(file);
    owned->shown = text_copy(&shown);
    if (fault.length > 0)
        owned->fault = text_copy(&fault);
    else
        owned->entry.target.name = strdup(mcp_json_string(at->key, ""));
    if (!owned->name || !owned->file || !owned->shown ||
        (!owned->fault && !owned->entry.target.name))
        r = MCP_E_NOMEM;
    owned->entry.source = source->name;
    owned->entry.is_project = *source->base == '\0';
    owned->entry.name = owned->name;
    owned->entry.file = owned->file;
    owned->entry.shown = owned->shown;
    owned->entry.fault = owned->fault;
    owned->entry.is_disabled = cli_config_entry_is_disabled(at->value);
    cli_text_done(&shown);
    cli_text_done(&fault);
    return r;
}

/* The servers of an object; root: of the whole file. */
static int
read_servers(struct reading *reading, const struct source *source, const char *file,
             const char *folder, const mcp_json *root, const mcp_json *object)
{
    const mcp_json *servers = mcp_json_get(object, source->key);
    enum mcp_json_type type = mcp_json_get_type(servers);
    mcp_json_iterator it;
    int r = 0;

    if (type != MCP_JSON_OBJECT) {
        if (type > MCP_JSON_NULL)
            warn(reading, "%s is passed over: \"%s\" is no object", file, source->key);
        return 0;
    }
    for (it = mcp_json_each(servers); r == 0 && mcp_json_next(&it);) {
        if (reading->config->count >= ENTRIES_MAX) {
            if (!reading->said_limit)
                warn(reading, "%s has more servers than mcpctl looks at (%d)", file,
                     ENTRIES_MAX);
            reading->said_limit = true;
            return 0;
        }
        if (!is_name(it.key)) {
            warn(reading, "%s has a server whose name cannot be used", file);
            continue;
        }
        r = read_entry(reading, source, file, folder, root, &it);
        if (r == 0 && is_excluded(root, mcp_json_string(it.key, "")))
            reading->config->entries[reading->config->count - 1]
                .entry.is_disabled = true;
    }
    return r;
}

/* A file that cannot be used is a warning. Then, and without a file, *ret_doc is NULL.
 * trusted: the folder of cli_config_file_read. */
static int
read_file(const struct reading *reading, const char *file, const char *trusted,
          mcp_doc **ret_doc)
{
    mcp_error err;
    int r;

    *ret_doc = NULL;
    r = cli_config_file_read(file, trusted, ret_doc, &err);
    if (r == MCP_E_NOMEM)
        return r;
    if (r < 0) {
        *ret_doc = NULL;
        warn(reading, "%s", err.message);
    } else if (*ret_doc &&
               mcp_json_get_type(mcp_doc_root(*ret_doc)) != MCP_JSON_OBJECT) {
        warn(reading, "%s is passed over: it is no object", file);
    }
    return 0;
}

static int
read_source(struct reading *reading, const struct source *source, const char *base,
            const char *folder)
{
    const char *trusted = *source->base == '\0' ? folder : NULL;
    char *file = join(base, source->path);
    mcp_doc *doc = NULL;
    int r;

    if (!file)
        return MCP_E_NOMEM;
    r = read_file(reading, file, trusted, &doc);
    if (r == 0 && doc)
        r = read_servers(reading, source, file, folder, mcp_doc_root(doc),
                         mcp_doc_root(doc));
    mcp_doc_free(doc);
    free(file);
    return r;
}

/* Of Claude Code's file, read already: the user's part, or that of a folder. */
static int
read_claude(struct reading *reading, const struct source *source, const char *folder)
{
    const mcp_json *root = mcp_doc_root(reading->claude);
    const mcp_json *object = root;
    char *file;
    int r;

    if (source == &claude_local)
        object = mcp_json_get(mcp_json_get(root, "projects"), folder);
    if (!object)
        return 0;
    file = join(reading->home, CLAUDE_FILE);
    if (!file)
        return MCP_E_NOMEM;
    r = read_servers(reading, source, file, folder, root, object);
    free(file);
    return r;
}

/* Some programs keep the user's file below the home as they do in a project. */
static bool
is_user_file(const struct source *project)
{
    size_t i;

    for (i = 0; i < COUNT(user_sources); i++) {
        if (*user_sources[i].base == '~' &&
            strcmp(user_sources[i].path, project->path) == 0)
            return true;
    }
    return false;
}

static bool
is_same_folder(const char *a, const char *b)
{
    struct stat left, right;

    return a && b && stat(a, &left) == 0 && stat(b, &right) == 0 &&
           left.st_dev == right.st_dev && left.st_ino == right.st_ino;
}

static int
read_folder(struct reading *reading, const char *folder)
{
    bool is_home = is_same_folder(folder, reading->home);
    size_t i;
    int r;

    r = read_claude(reading, &claude_local, folder);
    for (i = 0; r == 0 && i < COUNT(project_sources); i++) {
        if (is_home && is_user_file(&project_sources[i]))
            continue;
        r = read_source(reading, &project_sources[i], folder, folder);
    }
    return r;
}

/* This folder and all above it. */
static int
read_projects(struct reading *reading)
{
    char *folder = reading->cwd ? strdup(reading->cwd) : NULL;
    int r;

    if (!folder)
        return reading->cwd ? MCP_E_NOMEM : 0;
    r = read_folder(reading, folder);
    while (r == 0 && folder[1]) {
        char *slash = strrchr(folder, '/');

        /* the first one is the root's own name */
        slash[slash == folder] = '\0';
        r = read_folder(reading, folder);
    }
    free(folder);
    return r;
}

static int
read_users(struct reading *reading, const char *config_home)
{
    const char *folder = reading->cwd ? reading->cwd : "/";
    size_t i;
    int r = 0;

    for (i = 0; r == 0 && i < COUNT(user_sources); i++) {
        const struct source *source = &user_sources[i];

        if (strcmp(source->path, CLAUDE_FILE) == 0)
            r = read_claude(reading, source, folder);
        else
            r = read_source(reading, source,
                            *source->base == '@' ? config_home : reading->home, folder);
    }
    return r;
}

/* The user's files, and Claude Code's, which the projects need before. */
static int
read_all(struct reading *reading)
{
    const char *xdg = getenv("XDG_CONFIG_HOME");
    char *claude = NULL, *config_home = NULL;
    int r = 0;

    if (reading->home) {
        claude = join(reading->home, CLAUDE_FILE);
        config_home = xdg && *xdg == '/' ? strdup(xdg) : join(reading->home, ".config");
        if (!claude || !config_home)
            r = MCP_E_NOMEM;
        if (r == 0)
            r = read_file(reading, claude, NULL, &reading->claude);
    }
    if (r == 0)
        r = read_projects(reading);
    if (r == 0 && reading->home)
        r = read_users(reading, config_home);
    free(claude);
    free(config_home);
    return r;
}

static void
mark_shadowed(struct cli_config *config)
{
    size_t i;

    for (i = 0; i < config->count; i++) {
        struct cli_config_entry *entry = &config->entries[i].entry;

        entry->is_shadowed = cli_config_find(config, entry->name) != entry;
    }
}

const struct cli_config_entry *
cli_config_hidden(const struct cli_config *config, const struct cli_config_entry *entry)
{
    size_t i;

    for (i = 0; entry->is_project && i < config->count; i++) {
        const struct cli_config_entry *other = &config->entries[i].entry;

        if (!other->is_project && !other->is_disabled &&
            strcmp(other->name, entry->name) == 0)
            return other;
    }
    return NULL;
}

int
cli_config_read(void (*on_warning)(void *user, const char *line), void *user,
                struct cli_config **ret_config)
{
    struct cli_config *config = calloc(1, sizeof *config);
    struct reading reading = {.config = config, .warn = on_warning, .user = user};
    char *cwd = getcwd(NULL, 0);
    int r = config ? 0 : MCP_E_NOMEM;

    reading.home = getenv("HOME");
    if (reading.home && *reading.home != '/')
        reading.home = NULL;
    /* Linux says "(unreachable)/..." for a folder that is nowhere */
    reading.cwd = cwd && *cwd == '/' ? cwd : NULL;
    if (r == 0)
        r = read_all(&reading);
    mcp_doc_free(reading.claude);
    free(cwd);
    if (r < 0) {
        cli_config_free(config);
        return r;
    }
    mark_shadowed(config);
    *ret_config = config;
    return 0;
}

void
cli_config_free(struct cli_config *config)
{
    size_t i;

    if (!config)
        return;
    for (i = 0; i < config->count; i++)
        entry_done(&config->entries[i]);
    free(config->entries);
    free(config);
}

size_t
cli_config_count(const struct cli_config *config)
{
    return config->count;
}

const struct cli_config_entry *
cli_config_at(const struct cli_config *config, size_t index)
{
    return &config->entries[index].entry;
}

const struct cli_config_entry *
cli_config_find(const struct cli_config *config, const char *name)
{
    const struct cli_config_entry *disabled = NULL;
    size_t i;

    for (i = 0; i < config->count; i++) {
        const struct cli_config_entry *entry = &config->entries[i].entry;

        if (strcmp(entry->name, name) != 0)
            continue;
        if (!entry->is_disabled)
            return entry;
        if (!disabled)
            disabled = entry;
    }
    return disabled;
}
