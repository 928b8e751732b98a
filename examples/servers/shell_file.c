/*
 * shell_file.c - the file of the tools, read and checked before anything is served
 *
 * What is wrong is said with its place, as JSON Pointer: "/tools/0/command/3: {patern}
 * is not among the arguments". Tables of fields do most of it, and refuse what they do
 * not know.
 */
#include "shell_tools.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#define FILE_BYTES (1 << 20) /* of the longest file that is read */

/* ---- what may stand there ------------------------------------------------------- */

static const mcp_enum_name hint_names[] = {
    {"read_only", MCP_READ_ONLY},
    {"not_destructive", MCP_NOT_DESTRUCTIVE},
    {"idempotent", MCP_IDEMPOTENT},
    {"closed_world", MCP_CLOSED_WORLD},
    {0},
};

#define TOOL struct shell_tool

static const mcp_field tool_fields[] = {
    MCP_FIELD(TOOL, name, MCP_STRING, MCP_REQUIRED, NULL),
    MCP_FIELD(TOOL, title, MCP_STRING, 0, NULL),
    MCP_FIELD(TOOL, description, MCP_STRING, 0, NULL),
    MCP_FIELD(TOOL, command, MCP_JSON, MCP_REQUIRED, NULL),
    MCP_FIELD(TOOL, arguments, MCP_JSON, 0, NULL),
    MCP_FIELD(TOOL, schema, MCP_JSON, 0, NULL),
    MCP_FIELD(TOOL, input, MCP_STRING, 0, NULL),
    MCP_FIELD(TOOL, cwd, MCP_STRING, 0, NULL),
    MCP_FIELD(TOOL, env, MCP_JSON, 0, NULL),
    MCP_FIELD_WITH(TOOL, timeout_ms, MCP_INT, 0, NULL, MCP_MINIMUM(1),
                   MCP_MAXIMUM(86400000), MCP_DEFAULT_INT(60000)),
    MCP_FIELD_WITH(TOOL, grace_ms, MCP_INT, 0, NULL, MCP_MINIMUM(1), MCP_MAXIMUM(60000),
                   MCP_DEFAULT_INT(2000)),
    MCP_FIELD_WITH(TOOL, max_input, MCP_INT, 0, NULL, MCP_MINIMUM(1),
                   MCP_MAXIMUM(67108864), MCP_DEFAULT_INT(1048576)),
    MCP_FIELD_WITH(TOOL, max_output, MCP_INT, 0, NULL, MCP_MINIMUM(1),
                   MCP_MAXIMUM(16777216), MCP_DEFAULT_INT(65536)),
    MCP_FIELD_ARRAY_WITH(TOOL, success, success_count, MCP_INT, 0, NULL, MCP_MINIMUM(0),
                         MCP_MAXIMUM(255), .min_items = 1),
    MCP_FIELD_ARRAY_WITH(TOOL, hints, hint_count, MCP_ENUM, 0, NULL,
                         .names = hint_names),
    {0},
};

static const mcp_field file_fields[] = {
    MCP_FIELD_ARRAY_WITH(struct shell_file, tools, count, MCP_STRUCT, MCP_REQUIRED,
                         NULL, .fields = tool_fields, .min_items = 1),
    {0},
};

/* An argument, which is only checked: calls look it up in the document. */
struct argument {
    int type;
    const char *title, *description, *pattern, *format, *when_true;
    const mcp_json *default_, *enum_, *items;
    double minimum, maximum;
    uint64_t minLength, maxLength, minItems, maxItems; /* as JSON Schema spells them */
    bool optional, dash;
};

enum { SOME_STRING, SOME_INTEGER, SOME_NUMBER, SOME_BOOLEAN, SOME_ARRAY };

static const mcp_enum_name type_names[] = {
    {"string", SOME_STRING},   {"integer", SOME_INTEGER}, {"number", SOME_NUMBER},
    {"boolean", SOME_BOOLEAN}, {"array", SOME_ARRAY},     {0},
};

static const mcp_field argument_fields[] = {
    MCP_FIELD_WITH(struct argument, type, MCP_ENUM, MCP_REQUIRED, NULL,
                   .names = type_names),
    MCP_FIELD(struct argument, title, MCP_STRING, 0, NULL),
    MCP_FIELD(struct argument, description, MCP_STRING, 0, NULL),
    MCP_FIELD(struct argument, pattern, MCP_STRING, 0, NULL),
    MCP_FIELD(struct argument, format, MCP_STRING, 0, NULL),
    MCP_FIELD(struct argument, when_true, MCP_STRING, 0, NULL),
    MCP_FIELD_WITH(struct argument, default_, MCP_JSON, 0, NULL, .as = "default"),
    MCP_FIELD_WITH(struct argument, enum_, MCP_JSON, 0, NULL, .as = "enum"),
    MCP_FIELD(struct argument, items, MCP_JSON, 0, NULL),
    MCP_FIELD(struct argument, minimum, MCP_NUMBER, 0, NULL),
    MCP_FIELD(struct argument, maximum, MCP_NUMBER, 0, NULL),
    MCP_FIELD(struct argument, minLength, MCP_UINT, 0, NULL),
    MCP_FIELD(struct argument, maxLength, MCP_UINT, 0, NULL),
    MCP_FIELD(struct argument, minItems, MCP_UINT, 0, NULL),
    MCP_FIELD(struct argument, maxItems, MCP_UINT, 0, NULL),
    MCP_FIELD(struct argument, optional, MCP_BOOL, 0, NULL),
    MCP_FIELD(struct argument, dash, MCP_BOOL, 0, NULL),
    {0},
};

/* ---- arguments ------------------------------------------------------------------ */

static bool
is_type(const mcp_json *schema, const char *type)
{
    return mcp_json_is_string(mcp_json_get(schema, "type"), type);
}

static bool
is_scalar(const mcp_json *schema)
{
    return is_type(schema, "string") || is_type(schema, "integer") ||
           is_type(schema, "number");
}

/* Can words be made of it? */
static int
argument_check_words(const mcp_json *argument, mcp_error *err)
{
    const mcp_json *items = mcp_json_get(argument, "items");
    bool is_boolean = is_type(argument, "boolean");

    if (is_type(argument, "array") && !is_scalar(items))
        return shell_fault(err, "/items: needs the type string, integer or number");
    if (!is_scalar(argument) && !is_boolean && !is_type(argument, "array"))
        return shell_fault(err, "/type: is none that words can be made of");
    if (mcp_json_get(argument, "when_true") && !is_boolean)
        return shell_fault(err, "/when_true: is for booleans");
    return 0;
}

/* It is a schema of one value, and its default is such a value. */
static int
argument_check_schema(const mcp_json *argument, mcp_error *err)
{
    const mcp_json *otherwise = mcp_json_get(argument, "default");
    mcp_schema *schema;
    mcp_error why;
    int r;

    r = mcp_schema_compile(argument, NULL, &schema, err);
    if (r < 0)
        return r;
    if (otherwise && mcp_schema_check(schema, otherwise, NULL, &why) < 0)
        r = shell_fault(err, "/default: %s", why.message);
    mcp_schema_free(schema);
    return r;
}

static int
arguments_check(const struct shell_tool *tool, const mcp_fields *fields, mcp_error *err)
{
    const mcp_json *all = tool->arguments;
    const char *place = "/arguments";
    mcp_json_iterator it;
    mcp_error why;
    int r = 0;

    if (tool->schema) {
        place = "/schema/properties";
        all = mcp_json_get(tool->schema, "properties");
    }
    if (tool->schema && tool->arguments)
        return shell_fault(err, "/schema: stands there instead of arguments");
    if (all && mcp_json_get_type(all) != MCP_JSON_OBJECT)
        return shell_fault(err, "%s: is an object", place);
    for (it = mcp_json_each(all); mcp_json_next(&it);) {
        if (tool->arguments)
            r = mcp_fields_check(fields, it.value, &why);
        if (r == 0)
            r = argument_check_words(it.value, &why);
        if (r == 0)
            r = argument_check_schema(it.value, &why);
        if (r < 0)
            return shell_fault(err, "%s/%s%s%s", place, mcp_json_string(it.key, ""),
                               why.message[0] == '/' ? "" : ": ", why.message);
    }
    return 0;
}

/* ---- tools ---------------------------------------------------------------------- */

/* Do the loader, shells, interpreters or what many commands start take programs, options
 * or the places of both from it? */
static bool
decides_what_runs(const char *name)
{
    /* clang-format off */
    static const char *const names[] = {
        "BASH*", "BROWSER", "CDPATH", "CLASSPATH", "CURL_HOME", "EDITOR", "ENV",
        "FPATH", "GCONV_PATH", "GIT_ASKPASS", "GIT_COMMON_DIR", "GIT_CONFIG*",
        "GIT_DIR", "GIT_*EDITOR", "GIT_EXEC_PATH", "GIT_EXTERNAL_DIFF",
        "GIT_PROXY_COMMAND", "GIT_SSH*", "GIT_TEMPLATE_DIR", "GLIBC_TUNABLES", "HOME",
        "IFS", "JAVA_*", "JDK_*", "LD_*", "LESS*", "LOCPATH", "LUA_*", "MAKEFILES",
        "*MAKEFLAGS", "NODE_*", "OPENSSL_*", "*PAGER", "PATH", "PERL*", "PHP*",
        "PROMPT_COMMAND", "PS4", "PYTHON*", "RSYNC_RSH", "RUBY*", "SHELL", "SHELLOPTS",
        "SSH_ASKPASS", "TAR_OPTIONS", "TERMCAP", "TERMINFO*", "VISUAL", "WGETRC",
        "XDG_*", "ZDOTDIR", "_JAVA_OPTIONS",
    };
    /* clang-format on */

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (fnmatch(names[i], name, 0) == 0)
            return true;
    return false;
}

static bool
is_plain(const mcp_json *text)
{
    return text && strlen(mcp_json_string(text, "")) == mcp_json_string_length(text);
}

static int
variable_check(const struct shell_tool *tool, const char *name, const mcp_json *value,
               mcp_error *err)
{
    const char *text = mcp_json_string(value, NULL);

    if (!text || !is_plain(value))
        return shell_fault(err, "is a string without U+0000");
    if (decides_what_runs(name) && shell_has_argument(text))
        return shell_fault(err, "decides what runs, so no argument may stand in it");
    return shell_template_check(tool, text, NULL, err);
}

static int
env_check(const struct shell_tool *tool, mcp_error *err)
{
    mcp_json_iterator it;
    mcp_error why;

    if (tool->env && mcp_json_get_type(tool->env) != MCP_JSON_OBJECT)
        return shell_fault(err, "/env: is an object");
    for (it = mcp_json_each(tool->env); mcp_json_next(&it);) {
        const char *name = mcp_json_string(it.key, "");

        if (!*name || strchr(name, '=') || !is_plain(it.key))
            return shell_fault(err, "/env: \"%s\" is not a name", name);
        if (variable_check(tool, name, it.value, &why) < 0)
            return shell_fault(err, "/env/%s: %s", name, why.message);
    }
    return 0;
}

static int
texts_check(const struct shell_tool *tool, mcp_error *err)
{
    mcp_error why;

    if (shell_input_check(tool, &why) < 0)
        return shell_fault(err, "/input: %s", why.message);
    if (tool->cwd && shell_template_check(tool, tool->cwd, NULL, &why) < 0)
        return shell_fault(err, "/cwd: %s", why.message);
    return env_check(tool, err);
}

static int
tool_check(const struct shell_tool *tool, const mcp_fields *argument, mcp_error *err)
{
    int r;

    r = arguments_check(tool, argument, err);
    if (r == 0)
        r = shell_words_check(tool, err);
    if (r == 0)
        r = texts_check(tool, err);
    return r;
}

/* ---- the file ------------------------------------------------------------------- */

static int
file_parse(const char *path, mcp_doc **ret_doc, mcp_error *err)
{
    static char text[FILE_BYTES];
    FILE *from = fopen(path, "re");
    size_t length;

    if (!from)
        return shell_fault(err, "%s", strerror(errno));
    length = fread(text, 1, sizeof(text), from);
    if (ferror(from)) {
        shell_fault(err, "%s", strerror(errno));
        fclose(from);
        return MCP_E_INVAL;
    }
    fclose(from);
    if (length == sizeof(text))
        return shell_fault(err, "longer than %d bytes", FILE_BYTES - 1);
    return mcp_doc_parse(text, length, &MCP_JSON_OPTIONS(.unique_keys = true), ret_doc,
                         err);
}

static int
file_decode(mcp_doc *doc, struct shell_file *file, mcp_error *err)
{
    mcp_fields *fields;
    int r;

    r = mcp_fields_new(file_fields, &MCP_FIELDS_OPTIONS(.closed = true), &fields, err);
    if (r < 0)
        return r;
    r = mcp_fields_decode(fields, doc, mcp_doc_root(doc), file, &file->decoded, err);
    mcp_fields_free(fields);
    return r;
}

static int
file_check(const struct shell_file *file, mcp_error *err)
{
    mcp_fields *argument = NULL;
    mcp_error why;
    int r;

    r = mcp_fields_new(argument_fields, &MCP_FIELDS_OPTIONS(.closed = true), &argument,
                       err);
    for (size_t i = 0; r == 0 && i < file->count; i++) {
        r = tool_check(&file->tools[i], argument, &why);
        if (r < 0)
            shell_fault(err, "/tools/%zu%s", i, why.message);
    }
    mcp_fields_free(argument);
    return r;
}

int
shell_file_read(const char *path, struct shell_file *ret_file, mcp_error *err)
{
    struct shell_file file = {0};
    mcp_doc *doc = NULL;
    int r;

    r = file_parse(path, &doc, err);
    if (r < 0)
        return r;
    r = file_decode(doc, &file, err);
    mcp_doc_free(doc); /* what was decoded keeps it */
    if (r == 0)
        r = file_check(&file, err);
    if (r == 0)
        *ret_file = file;
    else
        shell_file_done(&file);
    return r;
}

void
shell_file_done(struct shell_file *file)
{
    mcp_decoded_free(file->decoded);
}

/* ---- the schema of a tool, for clients ------------------------------------------ */

static bool
is_ours(const mcp_json *key)
{
    return mcp_json_is_string(key, "optional") || mcp_json_is_string(key, "dash") ||
           mcp_json_is_string(key, "when_true");
}

void
shell_schema_write(const struct shell_tool *tool, mcp_builder *b)
{
    mcp_json_iterator it, member;

    if (tool->schema) {
        mcp_builder_value(b, NULL, tool->schema);
        return;
    }
    mcp_builder_begin_object(b, NULL);
    mcp_builder_string(b, "type", "object");
    mcp_builder_begin_object(b, "properties");
    for (it = mcp_json_each(tool->arguments); mcp_json_next(&it);) {
        mcp_builder_begin_object(b, mcp_json_string(it.key, ""));
        for (member = mcp_json_each(it.value); mcp_json_next(&member);)
            if (!is_ours(member.key))
                mcp_builder_value(b, mcp_json_string(member.key, ""), member.value);
        mcp_builder_end(b);
    }
    mcp_builder_end(b);
    mcp_builder_begin_array(b, "required");
    for (it = mcp_json_each(tool->arguments); mcp_json_next(&it);)
        if (!mcp_json_bool(mcp_json_get(it.value, "optional"), false) &&
            !mcp_json_get(it.value, "default"))
            mcp_builder_string(b, NULL, mcp_json_string(it.key, ""));
    mcp_builder_end(b);
    mcp_builder_bool(b, "additionalProperties", false);
    mcp_builder_end(b);
}
