/*
 * offers_test.c - what a server offers, as a client of ours sees it, in both eras:
 * lists, schemas, content of every kind
 */
#include "end/offers.h"

/* ---- content ---------------------------------------------------------------- */

static int
say_text(mcp_request *req, mcp_result *out, void *user)
{
    const mcp_json *n = mcp_json_get(mcp_request_arguments(req), "n");

    (void)user;
    return mcp_result_textf(out, "n is %d", (int)mcp_json_int(n, 0));
}

static int
say_all(mcp_request *req, mcp_result *out, void *user)
{
    (void)req, (void)user;
    mcp_result_text(out, "t");
    mcp_result_image(out, "i", 1, "image/png");
    mcp_result_audio(out, "a", 1, "audio/wav");
    mcp_result_resource_text(out, "u:t", "text/plain", "T");
    mcp_result_resource_bytes(out, "u:b", "x/y", "b", 1);
    mcp_result_resource_link(out, "u:l", "l", "L", "linked", "text/css");
    return mcp_result_annotate(out, MCP_FOR_USER, 1, NULL);
}

static int
say_no(mcp_request *req, mcp_result *out, void *user)
{
    (void)req, (void)user;
    return mcp_result_fail(out, "out of %s", "tea");
}

static void
content_of_every_kind_arrives_in_its_order(void **state)
{
    mcp_reply *reply;
    struct both b;

    both_make(&b);
    raw_tool(&b.raw, MCP_TOOL(.name = "all", .run = say_all));
    raw_tool(&b.raw, MCP_TOOL(.name = "text", .run = say_text));
    raw_tool(&b.raw, MCP_TOOL(.name = "no", .run = say_no));
    both_open(&b, RAW_MODERN, NULL);
    reply = called(&b, "text", "{\"n\":5}");
    assert_string_equal(mcp_reply_text(reply), "n is 5");
    assert_false(mcp_reply_is_error(reply));
    mcp_reply_free(reply);
    content_is(&b, "all",
               "[{'type':'text','text':'t'},"
               "{'type':'image','data':'aQ==','mimeType':'image/png'},"
               "{'type':'audio','data':'YQ==','mimeType':'audio/wav'},"
               "{'type':'resource','resource':{'uri':'u:t','mimeType':'text/plain',"
               "'text':'T'}},"
               "{'type':'resource','resource':{'uri':'u:b','mimeType':'x/y',"
               "'blob':'Yg=='}},"
               "{'type':'resource_link','uri':'u:l','name':'l','title':'L',"
               "'description':'linked','mimeType':'text/css',"
               "'annotations':{'audience':['user'],'priority':1.0}}]");
    reply = called(&b, "no", NULL);
    assert_true(mcp_reply_is_error(reply));
    assert_string_equal(mcp_reply_text(reply), "out of tea");
    mcp_reply_free(reply);
    both_close(&b);
}

struct weather {
    const char *city;
    double degrees;
};

static const mcp_field weather_fields[] = {
    MCP_FIELD(struct weather, city, MCP_STRING, MCP_REQUIRED, NULL),
    MCP_FIELD(struct weather, degrees, MCP_NUMBER, MCP_REQUIRED, NULL),
    {0},
};

static int
say_weather(mcp_request *req, mcp_result *out, void *user)
{
    const struct weather rome = {"Rome", 21.5};

    (void)req;
    if (user)
        mcp_result_text(out, "warm");
    return mcp_result_struct(out, &rome);
}

static void
a_struct_is_structured_output_its_text_and_its_schema(void **state)
{
    mcp_reply *reply;
    struct both b;

    both_make(&b);
    raw_tool(&b.raw, MCP_TOOL(.name = "a", .run = say_weather,
                              .output_fields = weather_fields));
    raw_tool(&b.raw, MCP_TOOL(.name = "b", .run = say_weather, .user = &b,
                              .output_fields = weather_fields));
    both_open(&b, RAW_MODERN, NULL);
    first_is(&b, MCP_LIST_TOOLS,
             "{'name':'a','inputSchema':{'type':'object'},'outputSchema':{'type':"
             "'object','properties':{'city':{'type':'string'},'degrees':{'type':"
             "'number'}},'required':['city','degrees']}}");
    reply = called(&b, "a", NULL);
    assert_string_equal(shown(mcp_reply_structured(reply)),
                        "{'city':'Rome','degrees':21.5}");
    assert_string_equal(mcp_reply_text(reply), "{\"city\":\"Rome\",\"degrees\":21.5}");
    mcp_reply_free(reply);
    reply = called(&b, "b", NULL);
    assert_string_equal(shown(mcp_reply_structured(reply)),
                        "{'city':'Rome','degrees':21.5}");
    assert_string_equal(shown(mcp_reply_content(reply)),
                        "[{'type':'text','text':'warm'}]");
    mcp_reply_free(reply);
    both_close(&b);
}

static int
say_json(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    return mcp_result_json(out, user, strlen(user));
}

static void
output_of_any_type_reaches_each_era_in_its_way(void **state)
{
    static char values[4][8] = {"\"one\"", "7.5", "true", "null"};
    static const char *const wanted[] = {"'one'", "7.5", "true", "null"};
    mcp_reply *reply;
    struct both b;
    char name[2] = "a";

    both_make(&b);
    for (int i = 0; i < 4; i++) {
        name[0] = (char)('a' + i);
        raw_tool(&b.raw, MCP_TOOL(.name = name, .run = say_json, .user = values[i]));
    }
    both_open(&b, RAW_MODERN, NULL);
    for (int i = 0; i < 4; i++) {
        name[0] = (char)('a' + i);
        reply = called(&b, name, NULL);
        assert_string_equal(mcp_reply_text(reply), values[i]);
        assert_int_equal(mcp_json_get(mcp_reply_result(reply), "structuredContent") !=
                             NULL,
                         RAW_MODERN);
        if (RAW_MODERN)
            assert_string_equal(shown(mcp_reply_structured(reply)), wanted[i]);
        mcp_reply_free(reply);
    }
    both_close(&b);
}

/* ---- schemas ---------------------------------------------------------------- */

#define NESTED                                                                    \
    "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\","              \
    "\"type\":\"object\",\"properties\":{\"to\":{\"$ref\":\"#/$defs/place\"}},"   \
    "\"required\":[\"to\"],\"additionalProperties\":false,\"$defs\":{\"place\":{" \
    "\"type\":\"object\",\"properties\":{\"city\":{\"type\":\"string\"},\"at\":"  \
    "{\"prefixItems\":[{\"type\":\"number\"},{\"type\":\"number\"}]}},"           \
    "\"required\":[\"city\"]}}}"

static void
a_schema_arrives_as_it_is_and_is_kept(void **state)
{
    static const char *const bad[] = {"{}", "{\"to\":{}}", "{\"to\":{\"city\":1}}",
                                      "{\"to\":{\"city\":\"x\",\"at\":[1,\"2\"]}}",
                                      "{\"to\":{\"city\":\"x\"},\"more\":1}"};
    char whole[1024];
    mcp_reply *reply;
    struct both b;

    both_make(&b);
    raw_tool(&b.raw, MCP_TOOL(.name = "go", .run = say_text, .input_schema = NESTED));
    both_open(&b, RAW_MODERN, NULL);
    snprintf(whole, sizeof(whole), "{'name':'go','inputSchema':%s}", NESTED);
    for (char *at = whole; *at; at++)
        *at = *at == '"' ? '\'' : *at;
    first_is(&b, MCP_LIST_TOOLS, whole);
    reply = called(&b, "go", "{\"to\":{\"city\":\"Rome\",\"at\":[1,2.5]}}");
    assert_false(mcp_reply_is_error(reply));
    mcp_reply_free(reply);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        reply = called(&b, "go", bad[i]);
        assert_true(mcp_reply_is_error(reply));
        assert_int_equal(strncmp(mcp_reply_text(reply), "Invalid arguments: ", 19), 0);
        mcp_reply_free(reply);
    }
    both_close(&b);
}

/* ---- what lists say ---------------------------------------------------------- */

static const mcp_icon icons[] = {{.src = "https://a.example/i.png"}, {0}};

static void
what_is_said_of_an_offer_arrives_unchanged(void **state)
{
    static const mcp_prompt_argument arguments[] = {
        {.name = "code", .description = "what", .required = true},
        {.name = "style"},
        {0}};
    struct both b;

    both_make(&b);
    raw_tool(&b.raw, MCP_TOOL(.name = "t", .title = "T", .description = "does",
                              .hints = MCP_READ_ONLY | MCP_IDEMPOTENT, .icons = icons,
                              .meta = "{\"a/b\":1}", .run = say_text));
    assert_int_equal(
        mcp_server_add_resource(
            b.raw.server,
            &MCP_RESOURCE(.uri = "u:r", .name = "r", .title = "R", .description = "d",
                          .mime_type = "x/y", .bytes = 3, .audience = MCP_FOR_USER,
                          .priority = 0.5, .last_modified = "2025-01-12T15:00:58Z",
                          .icons = icons, .meta = "{\"a/b\":1}", .run = say_text),
            NULL),
        0);
    assert_int_equal(
        mcp_server_add_template(
            b.raw.server,
            &MCP_TEMPLATE(.uri_template = "v:{x}", .name = "v", .title = "V",
                          .description = "d", .mime_type = "x/y",
                          .audience = MCP_FOR_ASSISTANT, .priority = 1,
                          .last_modified = "2025-01-12T15:00:58Z", .run = say_text),
            NULL),
        0);
    assert_int_equal(mcp_server_add_prompt(
                         b.raw.server,
                         &MCP_PROMPT(.name = "p", .title = "P", .description = "asks",
                                     .arguments = arguments, .run = say_text),
                         NULL),
                     0);
    both_open(&b, RAW_MODERN, NULL);
    first_is(&b, MCP_LIST_TOOLS,
             "{'name':'t','title':'T','description':'does','icons':[{'src':"
             "'https://a.example/i.png'}],'inputSchema':{'type':'object'},"
             "'annotations':{'title':'T','readOnlyHint':true,'idempotentHint':true},"
             "'_meta':{'a/b':1}}");
    first_is(&b, MCP_LIST_RESOURCES,
             "{'uri':'u:r','name':'r','title':'R','description':'d','mimeType':'x/y',"
             "'annotations':{'audience':['user'],'priority':0.5,'lastModified':"
             "'2025-01-12T15:00:58Z'},'size':3,'icons':[{'src':"
             "'https://a.example/i.png'}],'_meta':{'a/b':1}}");
    first_is(&b, MCP_LIST_TEMPLATES,
             "{'uriTemplate':'v:{x}','name':'v','title':'V','description':'d',"
             "'mimeType':'x/y','annotations':{'audience':['assistant'],'priority':1.0,"
             "'lastModified':'2025-01-12T15:00:58Z'}}");
    first_is(&b, MCP_LIST_PROMPTS,
             "{'name':'p','title':'P','description':'asks','arguments':[{'name':"
             "'code','description':'what','required':true},{'name':'style'}]}");
    both_close(&b);
}

/* ---- resources and prompts --------------------------------------------------- */

static int
read_card(mcp_request *req, mcp_result *out, void *user)
{
    (void)user;
    return mcp_result_textf(out, "card of %s", mcp_request_argument(req, "who"));
}

static void
read_gives(struct both *b, const char *uri, const char *contents)
{
    mcp_reply *reply = NULL;
    mcp_error err = {0};

    if (mcp_client_read(b->client, uri, NULL, &reply, &err) < 0)
        fail_msg("%s: %s", uri, err.message);
    assert_string_equal(shown(mcp_reply_items(reply)), contents);
    mcp_reply_free(reply);
}

static void
resources_are_read_as_text_bytes_and_by_template(void **state)
{
    mcp_error err = {0};
    struct both b;

    both_make(&b);
    assert_int_equal(
        mcp_server_add_resource(b.raw.server,
                                &MCP_RESOURCE(.uri = "u:t", .name = "t", .text = "hi",
                                              .mime_type = "text/plain"),
                                NULL),
        0);
    assert_int_equal(
        mcp_server_add_resource(b.raw.server,
                                &MCP_RESOURCE(.uri = "u:b", .name = "b", .data = "\xff",
                                              .data_length = 1, .mime_type = "x/y"),
                                NULL),
        0);
    assert_int_equal(
        mcp_server_add_template(b.raw.server,
                                &MCP_TEMPLATE(.uri_template = "c://{who}/card",
                                              .name = "c", .run = read_card),
                                NULL),
        0);
    both_open(&b, RAW_MODERN, NULL);
    read_gives(&b, "u:t", "[{'uri':'u:t','mimeType':'text/plain','text':'hi'}]");
    read_gives(&b, "u:b", "[{'uri':'u:b','mimeType':'x/y','blob':'/w=='}]");
    read_gives(&b, "c://ada/card", "[{'uri':'c://ada/card','text':'card of ada'}]");
    assert_int_equal(mcp_client_read(b.client, "u:none", NULL, NULL, &err), MCP_E_PEER);
    assert_int_equal(err.rpc_code, RAW_MODERN ? -32602 : -32002);
    both_close(&b);
}

static int
write_dialogue(mcp_request *req, mcp_result *out, void *user)
{
    const char *style = mcp_request_argument(req, "style");

    (void)user;
    mcp_result_textf(out, "style %s", style ? style : "any");
    mcp_result_role(out, MCP_ROLE_ASSISTANT);
    mcp_result_image(out, "i", 1, "image/png");
    mcp_result_role(out, MCP_ROLE_USER);
    mcp_result_audio(out, "a", 1, "audio/wav");
    return mcp_result_resource_text(out, "u:t", "text/plain", "T");
}

#define DIALOGUE(style)                                                               \
    "[{'role':'user','content':{'type':'text','text':'style " style "'}},"            \
    "{'role':'assistant','content':{'type':'image','data':'aQ==','mimeType':"         \
    "'image/png'}},{'role':'user','content':{'type':'audio','data':'YQ==',"           \
    "'mimeType':'audio/wav'}},{'role':'user','content':{'type':'resource','resource'" \
    ":{'uri':'u:t','mimeType':'text/plain','text':'T'}}}]"

static void
prompt_gives(struct both *b, const char *arguments, const char *messages)
{
    mcp_reply *reply = NULL;
    mcp_error err = {0};

    if (mcp_client_get_prompt(b->client, "p", arguments, NULL, &reply, &err) < 0)
        fail_msg("%s", err.message);
    assert_string_equal(shown(mcp_reply_items(reply)), messages);
    mcp_reply_free(reply);
}

static void
a_prompt_is_messages_of_both_roles_and_every_kind(void **state)
{
    static const mcp_prompt_argument arguments[] = {{.name = "style"}, {0}};
    struct both b;

    both_make(&b);
    assert_int_equal(
        mcp_server_add_prompt(
            b.raw.server,
            &MCP_PROMPT(.name = "p", .arguments = arguments, .run = write_dialogue),
            NULL),
        0);
    both_open(&b, RAW_MODERN, NULL);
    prompt_gives(&b, NULL, DIALOGUE("any"));
    prompt_gives(&b, "{\"style\":\"K&R\"}", DIALOGUE("K&R"));
    both_close(&b);
}

TEST_MAIN(TEST_ERAS(content_of_every_kind_arrives_in_its_order),
          TEST_ERAS(a_struct_is_structured_output_its_text_and_its_schema),
          TEST_ERAS(output_of_any_type_reaches_each_era_in_its_way),
          TEST_ERAS(a_schema_arrives_as_it_is_and_is_kept),
          TEST_ERAS(what_is_said_of_an_offer_arrives_unchanged),
          TEST_ERAS(resources_are_read_as_text_bytes_and_by_template),
          TEST_ERAS(a_prompt_is_messages_of_both_roles_and_every_kind))
