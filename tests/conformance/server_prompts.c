/* server_prompts.c - everything-server: what it proposes to say */
#include <mcp/ask.h>

#include "everything.h"

static int
simple_prompt(mcp_request *req, mcp_result *out, void *user)
{
    (void)req, (void)user;
    return mcp_result_text(out, "This is a simple prompt for testing.");
}

static const char *const proposals[] = {"test", "testing", "testament", NULL};

static const mcp_prompt_argument two_arguments[] = {
    {.name = "arg1",
     .description = "The first one",
     .required = true,
     .values = proposals},
    {.name = "arg2", .description = "The second one", .required = true},
    {0},
};

static int
prompt_with_arguments(mcp_request *req, mcp_result *out, void *user)
{
    (void)user;
    return mcp_result_textf(out, "Prompt with arguments: arg1='%s', arg2='%s'",
                            mcp_request_argument(req, "arg1"),
                            mcp_request_argument(req, "arg2"));
}

static const mcp_prompt_argument resource_argument[] = {
    {.name = "resourceUri", .description = "What to embed", .required = true},
    {0},
};

static int
prompt_with_resource(mcp_request *req, mcp_result *out, void *user)
{
    (void)user;
    mcp_result_resource_text(out, mcp_request_argument(req, "resourceUri"),
                             "text/plain", "Embedded resource content for testing.");
    return mcp_result_text(out, "Please process the embedded resource above.");
}

static int
prompt_with_image(mcp_request *req, mcp_result *out, void *user)
{
    (void)req, (void)user;
    mcp_result_image(out, pixel_png, sizeof(pixel_png), "image/png");
    return mcp_result_text(out, "Please analyze the image above.");
}

struct context {
    const char *context;
};

static const mcp_field context_fields[] = {
    MCP_FIELD(struct context, context, MCP_STRING, MCP_REQUIRED, "what it is about"),
    {0},
};

/* A prompt may ask the user just as a tool does. */
static int
prompt_that_asks(mcp_request *req, mcp_result *out, void *user)
{
    const mcp_elicit question = MCP_ELICIT(.message = "What is the context?",
                                           .fields = context_fields);
    struct context answer = {NULL};
    int r;

    (void)user;
    r = mcp_request_elicit(req, "user_context", &question);
    if (r == 0)
        r = mcp_request_bind_answer(req, "user_context", context_fields, &answer);
    if (r == MCP_E_STATE)
        return mcp_result_text(out, "The user has given no context.");
    return r < 0 ? r : mcp_result_textf(out, "The context is: %s", answer.context);
}

int
add_prompts(mcp_server *server, mcp_error *err)
{
    const mcp_prompt prompts[] = {
        MCP_PROMPT(.name = "test_simple_prompt", .description = "A prompt of one text",
                   .reply = simple_prompt),
        MCP_PROMPT(.name = "test_prompt_with_arguments",
                   .description = "A prompt that is filled in",
                   .arguments = two_arguments, .reply = prompt_with_arguments),
        MCP_PROMPT(.name = "test_prompt_with_embedded_resource",
                   .description = "A prompt with a resource in it",
                   .arguments = resource_argument, .reply = prompt_with_resource),
        MCP_PROMPT(.name = "test_prompt_with_image",
                   .description = "A prompt with a picture in it",
                   .reply = prompt_with_image),
        MCP_PROMPT(.name = "test_input_required_result_prompt",
                   .description = "A prompt that asks the user first",
                   .reply = prompt_that_asks),
    };
    int r = 0;

    for (size_t i = 0; r == 0 && i < sizeof(prompts) / sizeof(prompts[0]); i++)
        r = mcp_server_add_prompt(server, &prompts[i], err);
    return r;
}
