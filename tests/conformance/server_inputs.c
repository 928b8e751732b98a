/*
 * server_inputs.c - everything-server: tools that ask the client something first
 *
 * The same handlers serve both eras. A question comes to 0 once it is answered, and to
 * something negative before that: so a handler asks, returns that, and is called again.
 */
#include <mcp/ask.h>
#include <string.h>

#include "everything.h"

#define SAMPLE_TOKENS 100

/* ---- arguments ------------------------------------------------------------------ */

struct prompt_args {
    const char *prompt;
};

static const mcp_field prompt_fields[] = {
    MCP_FIELD(struct prompt_args, prompt, MCP_STRING, MCP_REQUIRED, "for the model"),
    {0},
};

struct message_args {
    const char *message;
};

static const mcp_field message_fields[] = {
    MCP_FIELD(struct message_args, message, MCP_STRING, MCP_REQUIRED, "for the user"),
    {0},
};

/* ---- what is asked -------------------------------------------------------------- */

struct person {
    const char *name;
};

static const mcp_field name_fields[] = {
    MCP_FIELD(struct person, name, MCP_STRING, MCP_REQUIRED, "how to call you"),
    {0},
};

struct taste {
    const char *color;
};

static const mcp_field color_fields[] = {
    MCP_FIELD(struct taste, color, MCP_STRING, MCP_REQUIRED, "which one you like"),
    {0},
};

struct consent {
    bool ok;
};

static const mcp_field consent_fields[] = {
    MCP_FIELD(struct consent, ok, MCP_BOOL, MCP_REQUIRED, "may it go on?"),
    {0},
};

struct account {
    const char *username, *email;
};

static const mcp_field account_fields[] = {
    MCP_FIELD(struct account, username, MCP_STRING, MCP_REQUIRED, "the user's name"),
    MCP_FIELD(struct account, email, MCP_STRING, MCP_REQUIRED, "the user's address"),
    {0},
};

/* A form with a default of each type. */
struct profile {
    const char *name;
    int64_t age;
    double score;
    int status;
    bool verified;
};

static const mcp_enum_name statuses[] = {
    {"active", 0}, {"inactive", 1}, {"pending", 2}, {0}};

static const mcp_field profile_fields[] = {
    MCP_FIELD_WITH(struct profile, name, MCP_STRING, 0, "a text",
                   MCP_DEFAULT_STRING("John Doe")),
    MCP_FIELD_WITH(struct profile, age, MCP_INT, 0, "an integer", MCP_DEFAULT_INT(30)),
    MCP_FIELD_WITH(struct profile, score, MCP_NUMBER, 0, "a number",
                   MCP_DEFAULT_NUMBER(95.5)),
    MCP_FIELD_WITH(struct profile, status, MCP_ENUM, 0, "a choice", .names = statuses,
                   MCP_DEFAULT_STRING("active")),
    MCP_FIELD_WITH(struct profile, verified, MCP_BOOL, 0, "yes or no",
                   MCP_DEFAULT_BOOL(true)),
    {0},
};

/* Every way in which a choice can be written (SEP-1330). */
static const char choices_schema[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"untitledSingle\":{\"type\":\"string\","
    "\"enum\":[\"option1\",\"option2\",\"option3\"]},"
    "\"titledSingle\":{\"type\":\"string\",\"oneOf\":["
    "{\"const\":\"value1\",\"title\":\"First Option\"},"
    "{\"const\":\"value2\",\"title\":\"Second Option\"},"
    "{\"const\":\"value3\",\"title\":\"Third Option\"}]},"
    "\"legacyEnum\":{\"type\":\"string\",\"enum\":[\"opt1\",\"opt2\",\"opt3\"],"
    "\"enumNames\":[\"Option One\",\"Option Two\",\"Option Three\"]},"
    "\"untitledMulti\":{\"type\":\"array\",\"items\":{\"type\":\"string\","
    "\"enum\":[\"option1\",\"option2\",\"option3\"]}},"
    "\"titledMulti\":{\"type\":\"array\",\"items\":{\"anyOf\":["
    "{\"const\":\"value1\",\"title\":\"First Choice\"},"
    "{\"const\":\"value2\",\"title\":\"Second Choice\"},"
    "{\"const\":\"value3\",\"title\":\"Third Choice\"}]}}}}";

/* ---- asking --------------------------------------------------------------------- */

static int
ask_form(mcp_request *req, const char *key, const char *message,
         const mcp_field *fields)
{
    return mcp_request_elicit(req, key,
                              &MCP_ELICIT(.message = message, .fields = fields));
}

static int
ask_model(mcp_request *req, const char *key, const char *text)
{
    return mcp_request_sample(req, key,
                              &MCP_SAMPLE(.text = text, .max_tokens = SAMPLE_TOKENS));
}

/* What the model has said. */
static const char *
said(const mcp_request *req, const char *key)
{
    const mcp_json *content = mcp_json_get(mcp_request_answer(req, key), "content");

    return mcp_json_string(mcp_json_get(content, "text"), "(not a text)");
}

/* What the user has done with a form: "accept", say. */
static const char *
done(const mcp_request *req, const char *key)
{
    return mcp_json_string(mcp_json_get(mcp_request_answer(req, key), "action"), "");
}

/* ---- one question --------------------------------------------------------------- */

static int
sampling(mcp_request *req, mcp_result *out, void *user)
{
    struct prompt_args args;
    int r = mcp_request_bind(req, &args);

    (void)user;
    if (r == 0)
        r = ask_model(req, "prompt", args.prompt);
    return r < 0 ? r : mcp_result_textf(out, "LLM response: %s", said(req, "prompt"));
}

static int
elicitation(mcp_request *req, mcp_result *out, void *user)
{
    struct message_args args;
    int r = mcp_request_bind(req, &args);

    (void)user;
    if (r == 0)
        r = ask_form(req, "account", args.message, account_fields);
    return r < 0 ? r : mcp_result_textf(out, "User response: %s", done(req, "account"));
}

static int
elicit_defaults(mcp_request *req, mcp_result *out, void *user)
{
    int r = ask_form(req, "profile", "Please review your profile", profile_fields);

    (void)user;
    return r < 0 ? r : mcp_result_textf(out, "User response: %s", done(req, "profile"));
}

static int
elicit_choices(mcp_request *req, mcp_result *out, void *user)
{
    const mcp_elicit question = MCP_ELICIT(.message = "Please choose",
                                           .schema = choices_schema);
    int r = mcp_request_elicit(req, "choices", &question);

    (void)user;
    return r < 0 ? r : mcp_result_textf(out, "User response: %s", done(req, "choices"));
}

static int
input_elicitation(mcp_request *req, mcp_result *out, void *user)
{
    struct person person = {"stranger"};
    int r = ask_form(req, "user_name", "What is your name?", name_fields);

    (void)user;
    if (r == 0 && mcp_request_action(req, "user_name") == MCP_ACCEPTED)
        r = mcp_request_bind_answer(req, "user_name", name_fields, &person);
    return r < 0 ? r : mcp_result_textf(out, "Hello, %s!", person.name);
}

static int
input_sampling(mcp_request *req, mcp_result *out, void *user)
{
    int r = ask_model(req, "capital_question", "What is the capital of France?");

    (void)user;
    return r < 0 ? r : mcp_result_text(out, said(req, "capital_question"));
}

static int
input_list_roots(mcp_request *req, mcp_result *out, void *user)
{
    const mcp_json *roots;
    int r = mcp_request_roots(req, "client_roots");

    (void)user;
    if (r < 0)
        return r;
    roots = mcp_json_get(mcp_request_answer(req, "client_roots"), "roots");
    return mcp_result_textf(out, "The client has %zu roots", mcp_json_count(roots));
}

/* What a handler keeps between its runs travels with the client, which can neither read
 * nor change it. */
static int
input_request_state(mcp_request *req, mcp_result *out, void *user)
{
    bool is_kept = strcmp(mcp_request_state(req), "asked") == 0;
    int r = mcp_request_set_state(req, "asked");

    (void)user;
    if (r == 0)
        r = ask_form(req, "confirm", "Please confirm", consent_fields);
    return r < 0 ? r : mcp_result_text(out, is_kept ? "state-ok" : "state-lost");
}

/* ---- several questions ---------------------------------------------------------- */

/* At once: the last one tells whether all of them are answered. */
static int
input_several(mcp_request *req, mcp_result *out, void *user)
{
    int r;

    (void)user;
    ask_form(req, "user_name", "What is your name?", name_fields);
    ask_model(req, "greeting", "Generate a greeting");
    r = mcp_request_roots(req, "client_roots");
    return r < 0 ? r : mcp_result_text(out, said(req, "greeting"));
}

/* One after the other. */
static int
input_rounds(mcp_request *req, mcp_result *out, void *user)
{
    int r = ask_form(req, "step1", "What is your name?", name_fields);

    (void)user;
    if (r == 0)
        r = ask_form(req, "step2", "What is your favorite color?", color_fields);
    return r < 0 ? r
                 : mcp_result_textf(out, "Name: %s, color: %s", done(req, "step1"),
                                    done(req, "step2"));
}

/* Only what this client can be asked. */
static int
input_capabilities(mcp_request *req, mcp_result *out, void *user)
{
    int r = 0;

    (void)user;
    if (mcp_request_can_ask(req, MCP_ASK_SAMPLE))
        r = ask_model(req, "greeting", "Generate a greeting");
    if (mcp_request_can_ask(req, MCP_ASK_FORM))
        r = ask_form(req, "user_name", "What is your name?", name_fields);
    return r < 0 ? r : mcp_result_text(out, "All that can be asked was answered");
}

/* ---- all of them ---------------------------------------------------------------- */

int
add_asking_tools(mcp_server *server, mcp_error *err)
{
    const mcp_tool tools[] = {
        MCP_TOOL(.name = "test_sampling", .description = "Asks the model",
                 .fields = prompt_fields, .reply = sampling),
        MCP_TOOL(.name = "test_elicitation", .description = "Asks the user",
                 .fields = message_fields, .reply = elicitation),
        MCP_TOOL(.name = "test_elicitation_sep1034_defaults",
                 .description = "Asks the user, with defaults",
                 .reply = elicit_defaults),
        MCP_TOOL(.name = "test_elicitation_sep1330_enums",
                 .description = "Asks the user to choose", .reply = elicit_choices),
        MCP_TOOL(.name = "test_missing_capability",
                 .description = "Cannot do without a model", .reply = input_sampling),
        MCP_TOOL(.name = "test_streaming_elicitation",
                 .description = "Asks the user by a result",
                 .reply = input_elicitation),
        MCP_TOOL(.name = "test_input_required_result_elicitation",
                 .description = "Asks the user", .reply = input_elicitation),
        MCP_TOOL(.name = "test_input_required_result_sampling",
                 .description = "Asks the model", .reply = input_sampling),
        MCP_TOOL(.name = "test_input_required_result_list_roots",
                 .description = "Asks for the roots", .reply = input_list_roots),
        MCP_TOOL(.name = "test_input_required_result_request_state",
                 .description = "Keeps something between two rounds",
                 .reply = input_request_state),
        MCP_TOOL(.name = "test_input_required_result_tampered_state",
                 .description = "Keeps something that nobody can change",
                 .reply = input_request_state),
        MCP_TOOL(.name = "test_input_required_result_multiple_inputs",
                 .description = "Asks several things at once", .reply = input_several),
        MCP_TOOL(.name = "test_input_required_result_multi_round",
                 .description = "Asks one thing after the other",
                 .reply = input_rounds),
        MCP_TOOL(.name = "test_input_required_result_capabilities",
                 .description = "Asks what can be asked", .reply = input_capabilities),
    };
    int r = 0;

    for (size_t i = 0; r == 0 && i < sizeof(tools) / sizeof(tools[0]); i++)
        r = mcp_server_add_tool(server, &tools[i], err);
    return r;
}
